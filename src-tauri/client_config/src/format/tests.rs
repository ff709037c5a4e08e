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

#[test]
fn show() {
    for (format, texts) in [
        (
            Format::Jsonc,
            &[
                "",
                "{}",
                "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
                "// top\n{\n    // servers\n    \"mcpServers\": {\n        \"a\": {\"command\": \"x\"}, // why\n        // \"b\": 1\n    },\n    \"z\": [1,2]\n}\n",
                "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"} // why\n\t}\n}",
                "{\n  \"mcpServers\": {\n    \"drawbridge\": {\"command\": \"old\"},\n    \"b\": {}\n  }\n}\n",
                "{\n  \"mcpServers\": null\n}\n",
                "{\n  \"mcpServers\": {}\n}\n",
            ][..],
        ),
        (
            Format::Toml,
            &[
                "",
                "model = \"x\" # m\n\n[mcp_servers.a] # a\ncommand = \"x\"\n# tail\n\n[other]\nb = 1\n",
                "mcp_servers = { a = { command = \"x\" } }\n",
                "[mcp_servers.drawbridge]\n# mine\ncommand = \"old\"\nurl = \"x\"\n\n[z]\na=1\n",
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
                "a: 1\nextensions:\n    dev:\n        enabled: true\n        args: [\n          a,\n          b\n        ]\n    # tail\n\n# next\nb: |\n  x\n  # y\n",
                "extensions:\n  dev:\n    text: |\n      a\n      # b\n\nb: 2\n",
                "extensions:\n  drawbridge:\n    cmd: old # c\n  # about dev\n  dev: {a: 1}\n",
                "extensions: {dev: {a: 1}}\n",
                "extensions:\n  dev: &d\n    a: 1\nother: *d\n",
                "x: 1",
                "---\nextensions:\n  a:\n    b: 1\n...\n",
            ],
        ),
    ] {
        for text in texts {
            println!("=== {format:?} {text:?}");
            match set(format, text) {
                Ok(edited) => {
                    println!("{edited}<<<");
                    match remove(format, &edited) {
                        Ok(removed) if removed == *text => println!("--- removed: same"),
                        Ok(removed) => println!("--- removed:\n{removed}<<<"),
                        Err(e) => println!("--- remove error {e}"),
                    }
                }
                Err(error) => println!("ERROR {error}"),
            }
            println!(
                "{:?}",
                format.scalars(text).map(|s| s
                    .iter()
                    .map(|s| format!("{:?} {:?}", s.path, &text[s.range.clone()]))
                    .collect::<Vec<_>>())
            );
        }
    }
}
