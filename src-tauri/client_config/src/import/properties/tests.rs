//! Property tests of reading pasted texts.

use proptest::prelude::*;

use super::{super::containers, a_text_is_read_or_rejected};
use crate::{clients::CLIENTS, format::Format};

/// Parts of texts that lead into each of the parsers.
const PARTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ",",
    ":",
    "\n",
    " ",
    "  ",
    "- ",
    "\\",
    "=",
    "--",
    "//",
    "/*",
    "#",
    "&a",
    "*a",
    "\"mcpServers\": {",
    "\"command\":",
    "\"url\":",
    "\"args\":",
    "mcpServers:",
    "[mcp_servers.x]\n",
    "command = ",
    "extensions:\n",
    "claude mcp add ",
    "add-json ",
    "code --add-mcp ",
    "-e ",
    "A=1",
    "${input:a}",
    "${",
    "$X",
    "{env:",
    "https://x.test/",
    "npx -y ",
    "docker run -e ",
    "drawbridge",
    "ünï",
    "\u{feff}",
    "\r\n",
    "null",
    "1",
];

fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(PARTS).prop_map(str::to_owned),
        1 => ".{0,6}",
    ]
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "\\$\\{[a-z:]{0,8}\\}",
        "[A-Z_]{1,8}=[a-z<>]{0,8}"
    ]
}

fn entry() -> impl Strategy<Value = serde_json::Value> {
    (word(), prop::collection::vec(word(), 0..4), word(), word(), any::<bool>()).prop_map(
        |(command, args, name, value, is_remote)| {
            if is_remote {
                serde_json::json!({ "url": format!("https://x.test/{command}"), "headers": { name: value } })
            } else {
                serde_json::json!({ "command": command, "args": args, "env": { name: value } })
            }
        },
    )
}

proptest! {
    #[test]
    fn any_combination_of_parts_is_read_or_rejected(parts in prop::collection::vec(part(), 0..40)) {
        a_text_is_read_or_rejected(&parts.concat());
    }

    #[test]
    fn any_characters_are_read_or_rejected(text in "\\PC{0,80}") {
        a_text_is_read_or_rejected(&text);
    }

    #[test]
    fn any_entries_are_read_or_rejected(entries in prop::collection::vec(entry(), 1..5)) {
        let servers: serde_json::Map<_, _> = entries.iter().enumerate()
            .map(|(index, entry)| (format!("server {index}"), entry.clone()))
            .collect();
        a_text_is_read_or_rejected(&serde_json::json!({ "mcpServers": servers }).to_string());
    }

    /// The entries of a JSON text are found with their names, in the container of each client with
    /// a JSON file. Without a container, only the number of the entries is compared.
    #[test]
    fn all_entries_are_found(entries in prop::collection::vec(entry(), 1..5)) {
        let servers: serde_json::Map<_, _> = entries.into_iter().enumerate()
            .map(|(index, entry)| (format!("s{index}"), entry))
            .collect();
        for client in CLIENTS.iter().filter(|client| client.format == Format::Jsonc) {
            let root = client.container().path.iter().rev().fold(
                serde_json::Value::Object(servers.clone()),
                |inner, key| serde_json::json!({ key.as_str(): inner }),
            );
            let document = containers::read_as(Format::Jsonc, &root.to_string()).expect("JSON");
            let found: serde_json::Map<_, _> = document.entries.into_iter()
                .map(|raw| (raw.name, raw.entry))
                .collect();
            prop_assert_eq!(&found, &servers, "{}", client.id);
        }
        prop_assert_eq!(containers::read(serde_json::Value::Object(servers.clone())).entries.len(), servers.len());
    }
}
