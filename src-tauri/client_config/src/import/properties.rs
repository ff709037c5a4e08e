//! Properties that hold for every text.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use serde_json::Value;

use super::Importer;
use crate::machine::{Machine, Os};

/// Checks that every text is read or rejected. A server that is read must have a name of its own,
/// and, unless its entry is invalid, a valid spec whose inputs are all listed.
pub(crate) fn a_text_is_read_or_rejected(text: &str) {
    let machine = Machine {
        os: Os::Linux,
        home: PathBuf::from("/home/ada"),
        env: BTreeMap::new(),
    };
    let importer = Importer {
        machine: &machine,
        endpoint_url: "http://127.0.0.1:8765/mcp",
        registered: &BTreeMap::new(),
    };
    let Ok(found) = importer.read_text(text) else {
        return;
    };
    let mut ids = BTreeSet::new();
    for mut server in found.servers {
        let id = drawbridge_model::names::server_id_from_name(&server.name);
        assert!(
            ids.insert(id.expect("an id")),
            "two servers are named {}",
            server.name
        );
        server.move_secrets();
        for input in server.inputs.clone() {
            server.fill_input(&input.id, "1");
        }
        if let Ok(spec) = &server.spec {
            assert_eq!(spec.name, server.name);
            let unnamed = drawbridge_model::spec::ServerSpec {
                name: String::new(),
                ..spec.clone()
            };
            let unnamed = serde_json::to_value(&unnamed).expect("a spec can be written");
            for text in list_texts(&unnamed) {
                // A reference that is not closed before the next reference begins is plain text.
                let unfilled = text.split("${input:").skip(1).filter(|rest| {
                    rest.split("${")
                        .next()
                        .is_some_and(|inner| inner.contains('}'))
                });
                assert_eq!(unfilled.count(), 0, "{text}");
            }
            drawbridge_model::protocol::check_spec(spec).expect("a valid spec");
        }
    }
}

/// Returns all strings in a JSON value, the names of members included.
fn list_texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(list_texts).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| [vec![name.as_str()], list_texts(value)].concat())
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
