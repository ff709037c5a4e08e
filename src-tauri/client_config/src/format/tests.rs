//! Edits of single entries in JSON, TOML and YAML.

use serde_json::json;

use super::*;
use crate::edit::{Container, Entry};

fn container(format: Format) -> Container {
    let key = match format {
        Format::Jsonc => "mcpServers",
        Format::Toml => "mcp_servers",
        Format::Yaml => "extensions",
    };
    Container {
        path: vec![key.to_owned()],
        is_list: false,
    }
}

fn entry() -> Entry {
    Entry::default()
        .with("command", "/opt/drawbridge")
        .with("args", json!(["stdio", "--client", "x"]))
        .with("env", json!({}))
}

fn set(format: Format, text: &str) -> Result<String, EditError> {
    let edit = Edit::SetEntry {
        container: container(format),
        name: "drawbridge".to_owned(),
        entry: entry(),
    };
    format.edit(text, &[edit])
}

fn remove(format: Format, text: &str) -> Result<String, EditError> {
    let edit = Edit::RemoveEntry {
        container: container(format),
        name: "drawbridge".to_owned(),
    };
    format.edit(text, &[edit])
}

/// Files of clients: empty files, and files with comments, other entries and unusual layouts.
const TEXTS: [(Format, &[&str]); 3] = [
    (
        Format::Jsonc,
        &[
            "",
            "{}",
            "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
            "// top\n{\n    // servers\n    \"mcpServers\": {\n        \"a\": {\"command\": \"x\"}, // why\n        // \"b\": 1\n    },\n    \"z\": [1,2]\n}\n",
            "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"} // why\n\t}\n}",
            "{\n  \"mcpServers\": {}\n}\n",
        ],
    ),
    (
        Format::Toml,
        &[
            "",
            "model = \"x\" # m\n\n[mcp_servers.a] # a\ncommand = \"x\"\n# tail\n\n[other]\nb = 1\n",
            "mcp_servers = { a = { command = \"x\" } }\n",
            "[mcp_servers]\n",
            "mcp_servers.a.command = \"x\"\n",
        ],
    ),
    (
        Format::Yaml,
        &[
            "",
            "# only a comment\n",
            "extensions: {} # none\nother: 1\n",
            "extensions:\nother: 1\n",
            "extensions:\n  dev: &d\n    a: 1\nother: *d\n",
            "---\nextensions:\n  a:\n    b: 1\n...\n",
            "a: 1\nextensions:\n    dev:\n        enabled: true\n        args: [\n          a,\n          b\n        ]\n    # tail\n\n# next\nb: |\n  x\n  # y\n",
            "extensions:\n  dev:\n    text: |\n      a\n      # b\n\nb: 2\n",
            "x: 1",
        ],
    ),
];

#[test]
fn adding_and_removing_an_entry_keeps_the_other_entries_and_comments() {
    for (format, texts) in TEXTS {
        for text in texts {
            let edited = set(format, text).expect("the entry is added");
            assert!(edited.contains("/opt/drawbridge"), "{edited}");
            let removed = remove(format, &edited).expect("the entry is removed");
            assert!(!removed.contains("drawbridge"), "{removed}");
            let words = text.split(|c: char| !c.is_alphanumeric());
            for word in words.filter(|word| !word.is_empty()) {
                assert!(edited.contains(word), "{word:?} is missing in {edited:?}");
                assert!(removed.contains(word), "{word:?} is missing in {removed:?}");
            }
        }
    }
}

#[test]
fn an_entry_replaces_the_entry_of_the_same_name() {
    let texts = [
        (
            Format::Jsonc,
            "{\n  \"mcpServers\": {\n    \"drawbridge\": {\"command\": \"old\"},\n    \"b\": {}\n  }\n}\n",
        ),
        (
            Format::Toml,
            "[mcp_servers.drawbridge]\n# mine\ncommand = \"old\"\nurl = \"x\"\n\n[z]\na=1\n",
        ),
        (
            Format::Yaml,
            "extensions:\n  drawbridge:\n    cmd: old # c\n  # about dev\n  dev: {a: 1}\n",
        ),
    ];
    for (format, text) in texts {
        let edited = set(format, text).expect("the entry is replaced");
        assert!(edited.contains("/opt/drawbridge"), "{edited}");
        assert!(!edited.contains("old"), "{edited}");
        assert_eq!(edited.matches("drawbridge").count(), 2, "{edited}");
    }
}

#[test]
fn null_is_replaced_and_a_value_that_cannot_be_extended_is_refused() {
    let edited = set(Format::Jsonc, "{\n  \"mcpServers\": null\n}\n").expect("null is replaced");
    assert!(edited.contains("/opt/drawbridge") && !edited.contains("null"));
    let flow = set(Format::Yaml, "extensions: {dev: {a: 1}}\n");
    assert!(matches!(flow, Err(EditError::UnsafeLayout(_))), "{flow:?}");
    let array = set(Format::Toml, "mcp_servers = []\n");
    assert!(matches!(array, Err(EditError::WrongType(_))), "{array:?}");
}
