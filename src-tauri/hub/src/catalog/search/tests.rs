use std::path::PathBuf;

use drawbridge_model::{capability::CapabilityKind, ids::ServerId, spec::RegisteredServer};
use serde_json::json;

use super::*;
use crate::catalog::Definition;

fn tool(server: &str, name: &str, description: &str, parameter: &str) -> Arc<CatalogEntry> {
    let spec = serde_json::from_str(r#"{"command":"x"}"#).expect("a spec");
    let definition = json!({ "name": name, "description": description,
        "inputSchema": { "type": "object", "properties": { parameter: { "type": "string" } } } });
    Arc::new(CatalogEntry {
        exposed_name: format!("{server}__{name}"),
        server: Arc::new(RegisteredServer::new(
            ServerId::new(server),
            spec,
            PathBuf::new(),
        )),
        definition: Arc::new(
            Definition::parse(CapabilityKind::Tools, definition.to_string()).expect("a definition"),
        ),
    })
}

fn sample_index() -> Index {
    Index::new(vec![
        tool("fs", "read_text_file", "Reads a file as text.", "path"),
        tool(
            "fs",
            "write_file",
            "Makes a file, or overwrites one.",
            "path",
        ),
        tool("git", "gitCommit", "Records the staged changes.", "message"),
        tool("git", "git_log", "Shows the history of commits.", "branch"),
        tool("web", "fetch", "Gets a page of the web as text.", "url"),
        tool("mail", "send_message", "Sends a mail.", "recipients"),
    ])
}

fn names(found: Vec<&Arc<CatalogEntry>>) -> Vec<&str> {
    found
        .into_iter()
        .map(|tool| tool.definition.name.as_str())
        .collect()
}

#[test]
fn the_best_match_ranks_first() {
    for (query, first) in [
        ("read text file", "read_text_file"),
        ("commit", "gitCommit"),
        ("commits history", "git_log"),
        ("fetch a web page", "fetch"),
        ("url", "fetch"),
        ("recipient", "send_message"),
        ("GIT COMMIT", "gitCommit"),
        ("overwrit", "write_file"),
    ] {
        assert_eq!(
            names(sample_index().search(query, |_| true)).first(),
            Some(&first),
            "{query}"
        );
    }
}

#[test]
fn a_search_can_be_limited_to_a_server_and_an_unknown_word_finds_nothing() {
    let is_git_tool = |tool: &CatalogEntry| tool.server.id.as_str() == "git";
    assert!(sample_index().search("file text", is_git_tool).is_empty());
    assert_eq!(
        names(sample_index().search("", is_git_tool)),
        ["gitCommit", "git_log"]
    );
    assert!(sample_index().search("quantum", |_| true).is_empty());
}

#[test]
fn words_are_split_at_case_and_punctuation_and_lose_their_plural_endings() {
    assert_eq!(
        split_words("readTextFile read_text-files HTTP2Server"),
        [
            "read", "text", "file", "read", "text", "file", "http2", "server"
        ]
    );
    assert_eq!(
        split_words("queries class status"),
        ["query", "class", "status"]
    );
    assert!(split_words(" -_. ").is_empty());
}

/// `cargo xtask bench catalog` measures how long a search takes.
#[test]
fn a_tool_is_found_by_its_number_among_five_thousand_similar_tools() {
    let tools = (0..5_000).map(|n| {
        tool(
            "many",
            &format!("tool_{n}"),
            "Does one of a great many things with files.",
            "path",
        )
    });
    let index = Index::new(tools.collect());
    let found = index.search("do things with tool 4711", |_| true);
    assert_eq!(found[0].definition.name, "tool_4711");
}
