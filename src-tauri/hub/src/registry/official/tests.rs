//! Tests how answers of the registry become entries of the copy, which addresses are read, and when
//! the copy is refreshed.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn parse(servers: &Value) -> Page {
    let answer = json!({"servers": servers, "metadata": {"nextCursor": "c", "count": 1}});
    Page::parse(answer.to_string().as_bytes()).expect("a page")
}

fn row(server: Value) -> PublishedRow {
    let mut page = parse(&json!([server]));
    match page.entries.pop() {
        Some(Entry::Published(row)) => *row,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_is_stored_with_its_search_text_and_kinds() {
    let server = json!({
        "server": {
            "name": "io.github.ada/Notes", "title": "Ada's Notes", "description": "Keeps NOTES.",
            "version": "1.0.0", "_meta": {"x": 1},
            "packages": [
                {"registryType": "npm", "identifier": "@ada/notes", "version": "1.0.0",
                 "environmentVariables": [{"name": "KEY", "isRequired": true, "isSecret": true}]},
                {"registryType": "mcpb", "identifier": "https://x.example/notes.mcpb"},
            ],
            "remotes": [{"type": "sse", "url": "https://x.example/sse"}],
        },
        "_meta": {"io.modelcontextprotocol.registry/official": {
            "status": "deprecated", "isLatest": true, "updatedAt": "2026-01-02T03:04:05.678Z",
        }},
    });
    let row = row(server);
    assert_eq!(row.name, "io.github.ada/Notes");
    assert_eq!(row.title, "Ada's Notes");
    assert_eq!(
        row.search_text,
        "io.github.ada/notes ada's notes keeps notes."
    );
    assert_eq!(row.kinds, ["npm", "mcpb", "remote"]);
    assert!(row.needs_secret && row.deprecated);
    assert_eq!(row.updated_at, Some(Timestamp(1_767_323_045_678)));
    assert!(!row.document.contains("_meta"), "{}", row.document);
}

#[test]
fn outdated_versions_and_deleted_servers_are_recognized() {
    let meta = |meta: Value| {
        let server = json!({"name": "a/b", "remotes": [{"url": "https://x.example"}]});
        let official = json!({"io.modelcontextprotocol.registry/official": meta});
        parse(&json!([{"server": server, "_meta": official}])).entries
    };
    assert_eq!(meta(json!({"isLatest": false})), [Entry::Outdated]);
    assert_eq!(
        meta(json!({"status": "deleted"})),
        [Entry::Deleted("a/b".into())]
    );
}

#[test]
fn an_entry_that_cannot_be_used_is_counted_and_skipped() {
    let remote = json!([{"url": "https://x.example"}]);
    let page = parse(&json!([
        {"server": {"name": "a/good", "remotes": remote}},
        {"server": {"name": "a b/bad", "remotes": remote}},
        {"server": {"name": "a/b/c", "remotes": remote}},
        {"server": {"name": "a/none"}},
        {"server": {"name": "a/wrong", "remotes": "x"}},
        {"name": "a/unwrapped", "remotes": remote},
        [],
    ]));
    assert_eq!((page.entries.len(), page.skipped), (1, 6));
    assert_eq!(page.next.as_deref(), Some("c"));
}

#[test]
fn a_page_address_keeps_the_path_and_escapes_the_cursor() {
    let address = |base: &str, cursor: Option<&str>, since: Option<i64>| {
        let url = page_address(base, cursor, since.map(Timestamp)).expect("a URL");
        url.to_string()
    };
    assert_eq!(
        address("https://r.example/api", Some("a&b=c#d"), None),
        "https://r.example/api/v0.1/servers?limit=100&version=latest&cursor=a%26b%3Dc%23d"
    );
    assert_eq!(
        address("https://r.example", None, Some(1_767_323_045_678)),
        "https://r.example/v0.1/servers?limit=100&version=latest&updated_since=2026-01-02T03%3A04%3A05.678Z"
    );
}

#[test]
fn a_copy_is_refreshed_daily_and_read_as_a_whole_weekly() {
    let now = clock::now();
    let mut state = CopyState {
        refreshed_at: Some(now),
        complete_at: Some(now),
        changes_since: Some(now),
        ..CopyState::default()
    };
    assert!(state.is_fresh() && !state.must_read_all(now));
    state.refreshed_at = Some(before(now, FRESH_FOR));
    assert!(!state.is_fresh() && !state.must_read_all(now));
    state.complete_at = Some(before(now, COMPLETE_READ_EVERY));
    assert!(state.must_read_all(now));
    // A clock that was ahead must not prevent complete reads.
    state.complete_at = Some(Timestamp(now.0 + 1_000));
    assert!(state.must_read_all(now));
}

proptest! {
    #[test]
    fn any_answer_is_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        properties::a_page_has_only_manifests(&bytes);
        let value = arbitrary_json::Choices::new(&bytes).value();
        properties::a_page_has_only_manifests(value.as_bytes());
        let member = format!(r#"{{"name":"a/b","remotes":{value},"packages":{value}}}"#);
        let page = format!(r#"{{"servers":[{{"server":{member},"_meta":{value}}}]}}"#);
        properties::a_page_has_only_manifests(page.as_bytes());
    }
}
