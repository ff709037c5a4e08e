//! The table of clients in docs/clients.md, and the ids of the clients.

use std::{collections::BTreeSet, env, fmt::Write as _, fs};

use super::*;

/// The environment variable that makes the test write the table instead of comparing it.
const WRITE: &str = "DRAWBRIDGE_WRITE_DOCS";
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clients.md");
const BEGIN: &str = "<!-- generated from src-tauri/client_config/src/clients.rs -->\n";
const END: &str = "<!-- end of the generated part -->";

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn global_files(client: &Client) -> String {
    let overrides = client.overrides.iter().map(|template| code(template));
    let files = client
        .files
        .iter()
        .map(|(systems, template)| match systems {
            Any => code(template),
            Linux => format!("Linux: `{template}`"),
            MacOs => format!("macOS: `{template}`"),
            Windows => format!("Windows: `{template}`"),
            Unix => format!("Linux, macOS: `{template}`"),
        });
    let profiles = client
        .profiles
        .iter()
        .map(|template| format!("profiles: `{template}`"));
    let all: Vec<String> = overrides.chain(files).chain(profiles).collect();
    if all.is_empty() {
        "paste it".to_owned()
    } else {
        all.join("<br>")
    }
}

fn ask_once(client: &Client) -> String {
    let changes = client.ask_once_changes();
    if changes.is_empty() {
        "–".to_owned()
    } else {
        changes.join("<br>")
    }
}

fn table() -> String {
    let mut table = "| client | id | global file | project file | key | “ask once” writes | what you should know |\n|---|---|---|---|---|---|---|\n".to_owned();
    for client in CLIENTS {
        let project: Vec<String> = client.project.iter().map(|place| code(place)).collect();
        let key = client.container.join(".");
        let _ = writeln!(
            table,
            "| {} | `{}` | {} | {} | `{key}`{} | {} | {} |",
            client.name,
            client.id,
            global_files(client),
            if project.is_empty() {
                "–".to_owned()
            } else {
                project.join("<br>")
            },
            if client.is_list { " (a list)" } else { "" },
            ask_once(client),
            client.notes.join(" "),
        );
    }
    table
}

#[test]
fn the_document_has_the_table_of_clients() {
    let text = fs::read_to_string(DOCUMENT).expect("docs/clients.md");
    let (start, rest) = text.split_once(BEGIN).expect("the beginning of the table");
    let (found, end) = rest.split_once(END).expect("the end of the table");
    if env::var_os(WRITE).is_some() {
        let whole = format!("{start}{BEGIN}\n{}\n{END}{end}", table());
        fs::write(DOCUMENT, whole).expect("write docs/clients.md");
        return;
    }
    assert_eq!(
        found.trim(),
        table().trim(),
        "run this test with {WRITE}=1 to write the table"
    );
}

#[test]
fn each_id_occurs_once() {
    let ids: BTreeSet<&str> = CLIENTS.iter().map(|client| client.id).collect();
    assert_eq!(ids.len(), CLIENTS.len());
}
