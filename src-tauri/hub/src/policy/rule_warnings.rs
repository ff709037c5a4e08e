//! The warnings before a rule is saved: the rule allows the calls of all tools, or names a server
//! or a tool that does not exist.

use drawbridge_model::{
    acceptance::DefinitionKind,
    ids::ServerId,
    policy::{Effect, RequestKind, RuleSpec},
};
use serde::{Deserialize, Serialize};

use super::editor::PolicyEditor;

/// The least similarity of a known name that is offered in place of an unknown name, from 0 to 1
/// (Jaro-Winkler).
const MIN_SIMILARITY: f64 = 0.8;

/// A reason to ask again before a rule is saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum RuleWarning {
    /// The rule allows the calls of all tools of all servers, without a condition.
    AllowsAllTools,
    /// No server has this id.
    UnknownServer {
        server: ServerId,
        /// The id of the server whose id or name is most similar.
        similar: Option<ServerId>,
    },
    /// The server has listed its tools, and has none with this name.
    UnknownTool {
        server: ServerId,
        tool: String,
        /// The most similar name.
        similar: Option<String>,
    },
}

impl PolicyEditor {
    /// Returns the reasons to ask again before this rule is saved.
    pub fn warnings(&self, spec: &RuleSpec) -> Vec<RuleWarning> {
        let mut warnings = Vec::new();
        if allows_all_tools(spec) {
            warnings.push(RuleWarning::AllowsAllTools);
        }
        let Some(server) = &spec.scope.server else {
            return warnings;
        };
        if self.registry.get(server).is_err() {
            let specs = self.registry.specs();
            let names = specs.servers.values().flat_map(|other| {
                [
                    (other.id.as_str(), &other.id),
                    (other.spec.name.as_str(), &other.id),
                ]
            });
            warnings.push(RuleWarning::UnknownServer {
                server: server.clone(),
                similar: find_similar(server.as_str(), names).cloned(),
            });
        } else if let Some(tool) = &spec.scope.tool {
            let definitions = self.catalog.definitions(server).into_iter();
            let tools: Vec<_> = definitions
                .filter(|(kind, _)| *kind == DefinitionKind::Tool)
                .map(|(_, tool)| tool.name.clone())
                .collect();
            if !tools.is_empty() && !tools.contains(tool) {
                let names = tools.iter().map(|name| (name.as_str(), name));
                warnings.push(RuleWarning::UnknownTool {
                    server: server.clone(),
                    tool: tool.clone(),
                    similar: find_similar(tool, names).cloned(),
                });
            }
        }
        warnings
    }
}

/// Returns whether the rule allows the calls of all tools of all servers, without a condition and
/// not only of read-only tools.
fn allows_all_tools(spec: &RuleSpec) -> bool {
    spec.effect == Some(Effect::Allow)
        && spec.covers(RequestKind::Tools)
        && spec.scope.server.is_none()
        && spec.conditions.is_empty()
        && !spec.read_only
}

/// Returns the value whose name is most similar to `unknown`, if any name is similar.
fn find_similar<'a, T: ?Sized>(
    unknown: &str,
    names: impl Iterator<Item = (&'a str, &'a T)>,
) -> Option<&'a T> {
    let unknown = unknown.to_lowercase();
    names
        .map(|(name, value)| (strsim::jaro_winkler(&unknown, &name.to_lowercase()), value))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use drawbridge_model::{ids::ClientName, policy::Scope};

    use super::*;

    #[test]
    fn only_an_unconditional_allow_of_all_tools_counts_as_allowing_everything() {
        let all = RuleSpec {
            effect: Some(Effect::Allow),
            ..RuleSpec::default()
        };
        assert!(allows_all_tools(&all));
        let for_a_client = RuleSpec {
            scope: Scope {
                client: Some(ClientName::new("desk")),
                ..Scope::default()
            },
            ..all.clone()
        };
        assert!(allows_all_tools(&for_a_client));
        let condition = r#"{"pointer":"/path","is":{"equals":"a"}}"#;
        let condition = serde_json::from_str(condition).expect("a condition");
        let narrower = [
            RuleSpec {
                effect: Some(Effect::Deny),
                ..RuleSpec::default()
            },
            RuleSpec {
                read_only: true,
                ..all.clone()
            },
            RuleSpec {
                conditions: vec![condition],
                ..all.clone()
            },
            RuleSpec {
                scope: Scope {
                    kind: Some(RequestKind::Prompts),
                    ..Scope::default()
                },
                ..all.clone()
            },
            RuleSpec {
                scope: Scope {
                    server: Some(ServerId::new("files")),
                    ..Scope::default()
                },
                ..all
            },
        ];
        for spec in narrower {
            assert!(!allows_all_tools(&spec), "{spec}");
        }
    }

    #[test]
    fn a_misspelled_name_finds_the_most_similar_name() {
        let names = ["everything", "filesystem", "fetch"];
        let find = |unknown| find_similar(unknown, names.iter().map(|name| (*name, *name)));
        assert_eq!(find("everthing"), Some("everything"));
        assert_eq!(find("Filesytem"), Some("filesystem"));
        assert_eq!(find("github"), None);
    }
}
