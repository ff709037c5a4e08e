//! Checks the JSON of a spec that a person edits.

use drawbridge_model::{protocol, spec::ServerSpec};
use serde::{Deserialize, Serialize};

use crate::{
    api::{ApiError, Verb},
    hub::Hub,
};

/// `servers.check_spec`: reads the JSON of a spec, and checks the spec. Saves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckSpec {
    pub text: String,
}

/// The spec that a text contains, or its fault.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckedSpec {
    /// The spec; null if the text has a fault.
    pub spec: Option<ServerSpec>,
    pub fault: Option<SpecFault>,
    /// The members that Drawbridge does not know, which are kept and have no effect.
    pub unknown_fields: Vec<String>,
}

/// A fault of a spec's text, and its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SpecFault {
    /// The line of the fault, counted from 1; 0 if the fault has no position.
    pub line: u32,
    pub column: u32,
    pub message: String,
}

impl Verb for CheckSpec {
    type Answer = CheckedSpec;

    async fn run(self, _: &Hub) -> Result<CheckedSpec, ApiError> {
        Ok(check_text(&self.text))
    }
}

fn check_text(text: &str) -> CheckedSpec {
    let fault = |fault| CheckedSpec {
        spec: None,
        fault: Some(fault),
        unknown_fields: Vec::new(),
    };
    let spec: ServerSpec = match serde_json::from_str(text) {
        Ok(spec) => spec,
        Err(error) => {
            let message = error.to_string();
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            return fault(SpecFault {
                line: number(error.line()),
                column: number(error.column()),
                // Serde ends its message with the position, which has its own fields here.
                message: message
                    .rsplit_once(" at line ")
                    .map_or(message.as_str(), |(reason, _)| reason)
                    .to_owned(),
            });
        }
    };
    if let Err(error) = protocol::check_spec(&spec) {
        let message = error.to_string();
        let (line, column) = find_member(text, &message).unwrap_or_default();
        return fault(SpecFault {
            line,
            column,
            message,
        });
    }
    CheckedSpec {
        unknown_fields: spec.other.keys().cloned().collect(),
        spec: Some(spec),
        fault: None,
    }
}

/// Returns the position of the first member that a message quotes, as in `'sandbox.read' must …`.
fn find_member(text: &str, message: &str) -> Option<(u32, u32)> {
    let quoted = message.split('\'').skip(1).step_by(2);
    quoted
        .filter_map(|name| name.rsplit('.').next())
        .filter(|name| !name.is_empty())
        .find_map(|name| {
            let at = text.find(&format!("\"{name}\""))?;
            let before = &text[..at];
            let line = before.matches('\n').count() + 1;
            let column = before
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .chars()
                .count()
                + 1;
            Some((u32::try_from(line).ok()?, u32::try_from(column).ok()?))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_its_position() {
        let checked = check_text("{\n  \"command\": \"npx\",\n  \"args\": [\"-y\",]\n}");
        let fault = checked.fault.expect("the text has a fault");
        assert_eq!((fault.line, fault.column), (3, 17));
        assert!(!fault.message.contains("at line"), "{}", fault.message);
    }

    #[test]
    fn a_contradiction_is_found_at_its_member() {
        let checked =
            check_text("{\n  \"command\": \"npx\",\n  \"url\": \"https://example.com\"\n}");
        let fault = checked.fault.expect("the URL is not on this computer");
        assert!(fault.line >= 2, "{fault:?}");
    }

    #[test]
    fn unknown_members_are_named() {
        let checked =
            check_text(r#"{"command": "npx", "enabled": true, "comand": 1, "type": "stdio"}"#);
        assert_eq!(checked.unknown_fields, ["comand"]);
        assert_eq!(checked.fault, None);
    }
}
