use std::path::PathBuf;

use drawbridge_jsonrpc::json;
use drawbridge_model::ids::ServerId;

use super::*;

fn server(id: &str) -> Arc<RegisteredServer> {
    server_with(id, "{}")
}

fn server_with(id: &str, more: &str) -> Arc<RegisteredServer> {
    let mut spec: serde_json::Value = serde_json::from_str(more).expect("json");
    spec["command"] = "x".into();
    let spec = serde_json::from_value(spec).expect("a spec");
    Arc::new(RegisteredServer::new(
        ServerId::new(id),
        spec,
        PathBuf::new(),
    ))
}

fn names(view: &CatalogView) -> Vec<&str> {
    view.entries(CapabilityKind::Tools)
        .iter()
        .map(|tool| tool.exposed_name.as_str())
        .collect()
}

fn tools(tools: &[Arc<Definition>]) -> Offered {
    Offered::from([(CapabilityKind::Tools, tools.to_vec())])
}

fn tool(text: &str) -> Arc<Definition> {
    Arc::new(Definition::parse(CapabilityKind::Tools, text.into()).expect("a definition"))
}

#[test]
fn a_listed_tool_differs_from_the_servers_in_its_name_only() {
    let tools = [tool(
        r#"{"x":1.0,"name":"read","inputSchema":{"type":"object"},"_meta":{"a":12345678901234567890}}"#,
    )];
    let snapshot = Snapshot::merge(&[(server("fs"), &self::tools(&tools))]);
    assert_eq!(
        snapshot.all().list_result(CapabilityKind::Tools).get(),
        r#"{"tools":[{"x":1.0,"name":"fs__read","inputSchema":{"type":"object"},"_meta":{"a":12345678901234567890}}]}"#
    );
}

#[test]
fn an_escaped_name_is_replaced_and_all_other_bytes_stay() {
    let tools = [tool(
        r#"{ "title":"name", "\u006eame" : "a\u0062" ,"x":{"name":"ab"} }"#,
    )];
    let snapshot = Snapshot::merge(&[(server("s"), &self::tools(&tools))]);
    let expected = r#"{"tools":[{ "title":"name", "\u006eame" : "s__ab" ,"x":{"name":"ab"} }]}"#;
    assert_eq!(
        snapshot.all().list_result(CapabilityKind::Tools).get(),
        expected
    );
}

#[test]
fn a_snapshot_recognizes_its_servers_and_definitions() {
    let (a, b) = (
        tools(&[tool(r#"{"name":"a"}"#)]),
        tools(&[tool(r#"{"name":"b"}"#)]),
    );
    let snapshot = Snapshot::merge(&[(server("one"), &a), (server("two"), &b)]);
    let read_again = tools(&[tool(r#"{"name":"a"}"#)]);
    assert!(
        snapshot.is_merged_from(&[(server("one"), &read_again), (server("two"), &b)]),
        "definitions that were read again are recognized"
    );
    for (what, servers) in [
        ("order", vec![(server("two"), &b), (server("one"), &a)]),
        ("definition", vec![(server("one"), &b), (server("two"), &b)]),
        (
            "spec",
            vec![
                (server_with("one", r#"{"prefix":"x"}"#), &a),
                (server("two"), &b),
            ],
        ),
        ("one less", vec![(server("one"), &a)]),
        (
            "one more",
            vec![(server("one"), &a), (server("two"), &b), (server("z"), &a)],
        ),
    ] {
        assert!(!snapshot.is_merged_from(&servers), "{what}");
    }
}

#[test]
fn tools_with_equal_or_similar_names_get_distinct_exposed_names() {
    let tools = [
        tool(r#"{"name":"a.b"}"#),
        tool(r#"{"name":"a/b"}"#),
        tool(r#"{"name":"a_b"}"#),
    ];
    let snapshot = Snapshot::merge(&[
        (server("one"), &self::tools(&tools)),
        (server("two"), &self::tools(&tools)),
    ]);
    assert_eq!(snapshot.all().entries(CapabilityKind::Tools).len(), 6);
    for tool in snapshot.all().entries(CapabilityKind::Tools) {
        let found = snapshot
            .all()
            .find(CapabilityKind::Tools, &tool.exposed_name)
            .expect("find the entry");
        assert_eq!(
            (&found.server.id, &found.definition.name),
            (&tool.server.id, &tool.definition.name)
        );
    }
}

#[test]
fn the_first_of_two_tools_with_the_same_name_keeps_the_plain_name() {
    let tools = [
        tool(r#"{"name":"a"}"#),
        tool(r#"{"name":"a","description":"other"}"#),
    ];
    let snapshot = Snapshot::merge(&[(server("s"), &self::tools(&tools))]);
    // The second definition gets a hashed name. A third one would be excluded.
    assert!(
        snapshot
            .all()
            .find(CapabilityKind::Tools, "s__a")
            .is_some_and(|tool| tool.definition.description.is_empty())
    );
}

#[test]
fn no_tools_are_an_empty_list() {
    assert_eq!(
        Snapshot::default()
            .all()
            .list_result(CapabilityKind::Tools)
            .get(),
        r#"{"tools":[]}"#
    );
}

#[test]
fn a_resource_keeps_its_uri_and_the_first_server_wins_a_conflict() {
    let resource = |text: &str| {
        Arc::new(Definition::parse(CapabilityKind::Resources, text.into()).expect("a definition"))
    };
    let offered = Offered::from([(
        CapabilityKind::Resources,
        vec![resource(r#"{"uri":"file:///a","name":"x"}"#)],
    )]);
    let snapshot = Snapshot::merge(&[(server("one"), &offered), (server("two"), &offered)]);
    assert_eq!(
        snapshot.all().list_result(CapabilityKind::Resources).get(),
        r#"{"resources":[{"uri":"file:///a","name":"x"}]}"#
    );
    assert_eq!(
        snapshot
            .all()
            .find_resource("file:///a")
            .expect("find the entry")
            .server
            .id
            .as_str(),
        "one"
    );
}

#[test]
fn a_uri_is_found_by_its_template() {
    for (uri, template, fits) in [
        ("demo://x/1", "demo://x/{id}", true),
        ("demo://x/1/y", "demo://x/{id}/y", true),
        ("demo://x/1/z", "demo://x/{id}/y", false),
        ("demo://y/1", "demo://x/{id}", false),
        ("demo://x", "demo://x", true),
        ("demo://x/", "demo://x", false),
        ("file:///any/where", "file:///{+path}", true),
    ] {
        assert_eq!(matches_template(uri, template), fits, "{uri} in {template}");
    }
}

#[test]
fn a_single_server_view_uses_bare_names() {
    let tools = [tool(r#"{"name":"a.b","x":1.0}"#)];
    let snapshot = Snapshot::merge(&[
        (server("one"), &self::tools(&tools)),
        (server("two"), &self::tools(&tools)),
    ]);
    let alone = snapshot.client_view(&ClientScope::One(ServerId::new("two")), None);
    assert_eq!(
        alone.list_result(CapabilityKind::Tools).get(),
        r#"{"tools":[{"name":"a.b","x":1.0}]}"#
    );
    assert_eq!(
        alone
            .find(CapabilityKind::Tools, "a.b")
            .expect("find the entry")
            .server
            .id
            .as_str(),
        "two"
    );
    assert!(
        snapshot
            .client_view(&ClientScope::One(ServerId::new("three")), None)
            .entries(CapabilityKind::Tools)
            .is_empty()
    );
}

#[test]
fn a_spec_sets_the_prefix_of_its_server() {
    let tools = tools(&[tool(r#"{"name":"read"}"#)]);
    let (files, bare) = (
        server_with("fs", r#"{"prefix":"files"}"#),
        server_with("b", r#"{"prefix":""}"#),
    );
    let snapshot = Snapshot::merge(&[(files, &tools), (bare, &tools)]);
    assert_eq!(names(snapshot.all()), ["read", "files__read"]);
}

#[test]
fn the_first_server_wins_a_bare_name_and_the_other_is_excluded_with_a_reason() {
    let tools = tools(&[tool(r#"{"name":"read"}"#)]);
    let (old, new) = (
        server_with("z", r#"{"prefix":""}"#),
        server_with("a", r#"{"prefix":""}"#),
    );
    let snapshot = Snapshot::merge(&[(old, &tools), (new, &tools)]);
    assert_eq!(
        snapshot
            .all()
            .find(CapabilityKind::Tools, "read")
            .expect("find the entry")
            .server
            .id
            .as_str(),
        "z"
    );
    let excluded = snapshot.all().excluded();
    assert_eq!((excluded[0].server.as_str(), excluded.len()), ("a", 1));
    assert!(
        excluded[0].entry.why.contains("'z' already uses this name"),
        "{}",
        excluded[0].entry.why
    );
}

#[test]
fn a_reserved_or_similar_bare_name_is_excluded() {
    let tools = tools(&[
        tool(r#"{"name":"tool_search"}"#),
        tool(r#"{"name":"Tool-Call"}"#),
        tool(r#"{"name":"x.y"}"#),
    ]);
    let snapshot = Snapshot::merge(&[(server_with("s", r#"{"prefix":""}"#), &tools)]);
    assert_eq!(
        names(snapshot.all()).len(),
        1,
        "only the third tool is listed, under a name that all clients accept"
    );
    assert_eq!(snapshot.all().excluded().len(), 2);
}

#[test]
fn only_allowed_tools_are_listed() {
    let tools = tools(&[tool(r#"{"name":"read"}"#), tool(r#"{"name":"delete"}"#)]);
    let fs = server_with("fs", r#"{"allowed_tools":["read"]}"#);
    let snapshot = Snapshot::merge(&[(fs.clone(), &tools)]);
    assert_eq!(names(snapshot.all()), ["fs__read"]);
    assert_eq!(
        names(
            snapshot
                .server_view(&fs.id)
                .expect("the snapshot contains the server")
        ),
        ["read"]
    );
}

#[test]
fn the_tools_of_a_deferred_server_are_found_and_called_but_not_listed() {
    let read = tools(&[tool(r#"{"name":"read","description":"Reads a file"}"#)]);
    let (deferred, visible) = (
        server_with("d", r#"{"visibility":"deferred"}"#),
        server("v"),
    );
    let snapshot = Snapshot::merge(&[(deferred.clone(), &read), (visible, &read)]);
    let listed: serde_json::Value =
        serde_json::from_str(snapshot.all().list_result(CapabilityKind::Tools).get())
            .expect("json");
    let listed: Vec<_> = listed["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(listed, ["tool_search", "tool_call", "v__read"]);
    assert!(
        snapshot
            .all()
            .find(CapabilityKind::Tools, "d__read")
            .is_some()
    );
    let query = json::raw(r#"{"query":"read files"}"#.into());
    let found = deferred::search(snapshot.all(), &query).expect("find the entry");
    assert!(
        found.get().contains(r#""name":"d__read""#) && !found.get().contains("v__read"),
        "{}",
        found.get()
    );
    assert!(
        deferred::search(snapshot.all(), &json::raw("{}".into()))
            .expect_err("no query")
            .to_string()
            .contains("query")
    );
    let alone = snapshot
        .server_view(&deferred.id)
        .expect("the snapshot contains the server");
    assert!(
        alone
            .list_result(CapabilityKind::Tools)
            .get()
            .contains(r#""name":"read""#),
        "a client with the scope of this server sees its deferred tools"
    );
}

#[test]
fn a_profile_shows_its_servers_and_tools_and_no_others() {
    let both = tools(&[tool(r#"{"name":"read"}"#), tool(r#"{"name":"write"}"#)]);
    let snapshot = Snapshot::merge(&[
        (server("a"), &both),
        (server("b"), &both),
        (server("c"), &both),
    ]);
    let servers = serde_json::from_str(r#"{"a":null,"b":["read"]}"#).expect("servers");
    let profile = Arc::new(Profile {
        name: "work".into(),
        servers,
    });
    let view = snapshot.client_view(&ClientScope::All, Some(&profile));
    assert_eq!(names(&view), ["a__read", "a__write", "b__read"]);
    assert!(
        view.find(CapabilityKind::Tools, "c__read").is_none()
            && view.find(CapabilityKind::Tools, "b__write").is_none()
    );
    assert!(
        snapshot
            .client_view(&ClientScope::One(ServerId::new("c")), Some(&profile))
            .entries(CapabilityKind::Tools)
            .is_empty()
    );
    let empty = Arc::new(Profile {
        name: "work".into(),
        servers: Default::default(),
    });
    assert!(
        snapshot
            .client_view(&ClientScope::All, Some(&empty))
            .entries(CapabilityKind::Tools)
            .is_empty(),
        "a changed profile applies at once"
    );
}

mod exposed_names {
    //! Exposed names map one to one to (server, tool), have at most 64 characters of
    //! `[A-Za-z0-9_-]`, and are never reserved.

    use std::collections::BTreeSet;

    use drawbridge_model::names;
    use proptest::prelude::*;

    use super::*;

    fn tool_name() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z_]{1,8}",
            "[ab._/]{1,4}",
            "[a-z]{60,90}",
            Just("tool_search".to_owned()),
            Just("TOOL-CALL".to_owned()),
            Just("store_memory".to_owned()),
            "\\PC{1,12}",
        ]
    }

    fn prefix() -> impl Strategy<Value = Option<String>> {
        prop_oneof![
            Just(None),
            Just(Some(String::new())),
            Just(Some("a".to_owned())),
            Just(Some("same".to_owned()))
        ]
    }

    proptest! {
        #[test]
        fn every_exposed_name_leads_to_one_tool(
            servers in prop::collection::btree_map("[a-c]{1,2}", (prefix(), prop::collection::btree_set(tool_name(), 0..6)), 1..5)
        ) {
            let offered: Vec<_> = servers.into_iter().map(|(id, (prefix, names))| {
                let server = server_with(&id, &serde_json::json!({ "prefix": prefix }).to_string());
                let tools = names.iter().map(|name| tool(&serde_json::json!({ "name": name }).to_string()));
                (server, Offered::from([(CapabilityKind::Tools, tools.collect())]))
            }).collect();
            let servers: Vec<_> = offered.iter().map(|(server, offered)| (server.clone(), offered)).collect();
            let snapshot = Snapshot::merge(&servers);
            let entries = snapshot.all().entries(CapabilityKind::Tools);
            let mut seen = (BTreeSet::new(), BTreeSet::new());
            for entry in entries {
                let name = &entry.exposed_name;
                prop_assert!(names::is_valid_exposed_name(name) && !names::is_reserved(name), "{}", name);
                prop_assert!(seen.0.insert(name.clone()));
                prop_assert!(seen.1.insert((entry.server.id.clone(), entry.definition.name.clone())));
                let found = snapshot.all().find(CapabilityKind::Tools, name).expect("find the entry");
                prop_assert!(Arc::ptr_eq(found, entry));
            }
            let all: usize = offered.iter().map(|(_, offered)| offered[&CapabilityKind::Tools].len()).sum();
            prop_assert_eq!(entries.len() + snapshot.all().excluded().len(), all, "each tool is listed or excluded");
            let merged_again = Snapshot::merge(&servers);
            prop_assert_eq!(names(snapshot.all()), names(merged_again.all()), "the same servers get the same names");
        }
    }
}
