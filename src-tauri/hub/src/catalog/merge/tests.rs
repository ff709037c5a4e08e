use std::path::PathBuf;

use drawbridge_jsonrpc::json;
use drawbridge_model::{ids::ServerId, names::MAX_TOOL_NAME, profile::Profile};

use super::*;

fn server(id: &str) -> Arc<RegisteredServer> {
    server_with(id, "{}")
}

fn server_with(id: &str, members: &str) -> Arc<RegisteredServer> {
    let mut spec: serde_json::Value = serde_json::from_str(members).expect("json");
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
fn a_listed_tool_differs_from_the_tool_of_its_server_only_in_the_name() {
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
    for (difference, servers) in [
        ("order", vec![(server("two"), &b), (server("one"), &a)]),
        ("definition", vec![(server("one"), &b), (server("two"), &b)]),
        (
            "spec",
            vec![
                (server_with("one", r#"{"prefix":"x"}"#), &a),
                (server("two"), &b),
            ],
        ),
        ("fewer servers", vec![(server("one"), &a)]),
        (
            "more servers",
            vec![(server("one"), &a), (server("two"), &b), (server("z"), &a)],
        ),
    ] {
        assert!(!snapshot.is_merged_from(&servers), "{difference}");
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
    // The second definition gets a hashed name. A third definition would be excluded.
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
fn a_single_server_view_uses_bare_names() {
    let tools = [tool(r#"{"name":"a.b","x":1.0}"#)];
    let snapshot = Snapshot::merge(&[
        (server("one"), &self::tools(&tools)),
        (server("two"), &self::tools(&tools)),
    ]);
    let server_view = snapshot.client_view(
        &ServerScope::One(ServerId::new("two")),
        MAX_TOOL_NAME,
        &AppliedProfiles::default(),
    );
    assert_eq!(
        server_view.list_result(CapabilityKind::Tools).get(),
        r#"{"tools":[{"name":"a.b","x":1.0}]}"#
    );
    assert_eq!(
        server_view
            .find(CapabilityKind::Tools, "a.b")
            .expect("find the entry")
            .server
            .id
            .as_str(),
        "two"
    );
    assert!(
        snapshot
            .client_view(
                &ServerScope::One(ServerId::new("three")),
                MAX_TOOL_NAME,
                &AppliedProfiles::default()
            )
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
fn the_first_server_wins_a_bare_name_and_the_other_tool_is_excluded_with_a_reason() {
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
        excluded[0]
            .entry
            .reason
            .contains("'z' already uses this name"),
        "{}",
        excluded[0].entry.reason
    );
}

#[test]
fn a_bare_name_that_equals_or_resembles_a_reserved_name_is_excluded() {
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
fn the_tools_of_a_deferred_server_are_found_but_listed_only_at_its_own_endpoint() {
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
    let found = deferred::search(snapshot.all(), &query).expect("a search result");
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
    let server_view = snapshot
        .server_view(&deferred.id)
        .expect("the snapshot contains the server");
    assert!(
        server_view
            .list_result(CapabilityKind::Tools)
            .get()
            .contains(r#""name":"read""#),
        "a client with the scope of this server sees its deferred tools"
    );
}

#[test]
fn a_profile_shows_only_its_servers_and_tools() {
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
        folder: None,
    });
    let view = snapshot.client_view(
        &ServerScope::All,
        MAX_TOOL_NAME,
        &AppliedProfiles::of(&profile),
    );
    assert_eq!(names(&view), ["a__read", "a__write", "b__read"]);
    assert!(
        view.find(CapabilityKind::Tools, "c__read").is_none()
            && view.find(CapabilityKind::Tools, "b__write").is_none()
    );
    assert!(
        snapshot
            .client_view(
                &ServerScope::One(ServerId::new("c")),
                MAX_TOOL_NAME,
                &AppliedProfiles::of(&profile)
            )
            .entries(CapabilityKind::Tools)
            .is_empty()
    );
    let empty = Arc::new(Profile {
        name: "work".into(),
        servers: Default::default(),
        folder: None,
    });
    assert!(
        snapshot
            .client_view(
                &ServerScope::All,
                MAX_TOOL_NAME,
                &AppliedProfiles::of(&empty)
            )
            .entries(CapabilityKind::Tools)
            .is_empty(),
        "a changed profile applies at once"
    );
}

#[test]
fn a_client_that_adds_a_prefix_gets_shorter_names_that_lead_to_the_tools() {
    let long = "search_the_issues_and_pull_requests_of_a_repository";
    let offered = tools(&[
        tool(&format!(r#"{{"name":"{long}"}}"#)),
        tool(r#"{"name":"read"}"#),
    ]);
    let snapshot = Snapshot::merge(&[(server("github"), &offered)]);
    let view = snapshot.client_view(&ServerScope::All, 47, &AppliedProfiles::default());
    let [short, read] = names(&view)[..] else {
        panic!("{:?}", names(&view));
    };
    assert_eq!(read, "github__read");
    assert!(
        short.len() == 47 && short.starts_with("github__search_the_issues"),
        "{short}"
    );
    let called = view.find(CapabilityKind::Tools, short).expect("the tool");
    assert_eq!(called.definition.name, long);
    let by_long_name = view.find(CapabilityKind::Tools, &format!("github__{long}"));
    assert!(
        by_long_name.is_some_and(|found| Arc::ptr_eq(found, called)),
        "the name that people see works too"
    );
    assert!(
        view.list_result(CapabilityKind::Tools)
            .get()
            .contains(short),
        "the list has the short name"
    );
    let again = Snapshot::merge(&[(server("github"), &offered)]);
    assert_eq!(
        names(&again.client_view(&ServerScope::All, 47, &AppliedProfiles::default())),
        names(&view)
    );
}

#[test]
fn a_profile_keeps_the_long_names_of_its_tools_and_hides_other_tools() {
    let long = "search_the_issues_and_pull_requests_of_a_repository";
    let offered = tools(&[tool(&format!(r#"{{"name":"{long}"}}"#))]);
    let snapshot = Snapshot::merge(&[(server("github"), &offered), (server("gitlab"), &offered)]);
    let profile = Arc::new(Profile {
        name: "work".into(),
        servers: serde_json::from_str(r#"{"github":null}"#).expect("servers"),
        folder: None,
    });
    let view = snapshot.client_view(&ServerScope::All, 47, &AppliedProfiles::of(&profile));
    let find = |name: &str| view.find(CapabilityKind::Tools, &format!("{name}__{long}"));
    let found = find("github").expect("the tool is found by its long name");
    assert_eq!(names(&view), [found.exposed_name.as_str()]);
    assert!(find("gitlab").is_none());
}

mod resources {
    //! A URI leads to the server that was accepted first among the servers that answer it, whatever
    //! the other servers offer.

    use proptest::prelude::*;

    use super::*;

    fn definition(kind: CapabilityKind, uri: &str) -> Arc<Definition> {
        let text = serde_json::json!({ kind.key_member(): uri, "name": "x" }).to_string();
        Arc::new(Definition::parse(kind, text).expect("a definition"))
    }

    fn offer(resources: &[&str], templates: &[&str]) -> Offered {
        let all = |kind, uris: &[&str]| {
            let definitions = uris.iter().map(|uri| definition(kind, uri));
            (kind, definitions.collect())
        };
        Offered::from([
            all(CapabilityKind::Resources, resources),
            all(CapabilityKind::Templates, templates),
        ])
    }

    /// Returns the id of the server that answers a URI, and the URI or URI template that matches.
    fn answer<'a>(view: &'a CatalogView, uri: &str) -> Option<(&'a str, &'a str)> {
        let found = view.find_resource(uri)?;
        Some((found.server.id.as_str(), found.definition.name.as_str()))
    }

    #[test]
    fn a_template_takes_no_uri_of_a_server_that_was_accepted_earlier() {
        let files = offer(&["file:///listed"], &["file:///{path}"]);
        let evil = offer(
            &[],
            &["file:///{+anything}", "file:///etc/{x}", "other:{x}"],
        );
        let snapshot = Snapshot::merge(&[(server("files"), &files), (server("evil"), &evil)]);
        for (uri, expected) in [
            ("file:///etc/hosts", ("files", "file:///{path}")),
            ("file:///listed", ("files", "file:///listed")),
            ("other:1", ("evil", "other:{x}")),
        ] {
            assert_eq!(answer(snapshot.all(), uri), Some(expected), "{uri}");
        }
    }

    #[test]
    fn the_most_literal_template_of_a_server_answers() {
        let offered = offer(&["a://b/c"], &["a://{+x}", "a://b/{x}", "a://{y}"]);
        let snapshot = Snapshot::merge(&[(server("s"), &offered)]);
        for (uri, expected) in [
            ("a://b/c", "a://b/c"),
            ("a://b/d", "a://b/{x}"),
            ("a://c/d", "a://{+x}"),
        ] {
            assert_eq!(answer(snapshot.all(), uri), Some(("s", expected)), "{uri}");
        }
    }

    #[test]
    fn a_resource_that_an_earlier_server_answers_is_excluded_with_the_reason() {
        let old = offer(&["a://same"], &["a://t/{x}"]);
        let new = offer(&["a://same", "a://t/1", "a://own"], &["a://t/{x}"]);
        let snapshot = Snapshot::merge(&[(server("old"), &old), (server("new"), &new)]);
        assert_eq!(
            snapshot.all().list_result(CapabilityKind::Resources).get(),
            r#"{"resources":[{"name":"x","uri":"a://own"},{"name":"x","uri":"a://same"}]}"#
        );
        let excluded: Vec<_> = snapshot.all().excluded().iter().collect();
        let reasons: Vec<_> = excluded
            .iter()
            .map(|exclusion| {
                (
                    exclusion.server.as_str(),
                    exclusion.entry.name.as_str(),
                    exclusion.entry.reason.as_str(),
                )
            })
            .collect();
        let same = |noun: &str| {
            format!(
                "'old', which you accepted earlier, offers the same {noun}; clients of the endpoint /mcp/new see it"
            )
        };
        let (same_resource, same_template) = (same("resource"), same("resource template"));
        let covered = "the template 'a://t/{x}' of 'old', which you accepted earlier, covers this URI; clients of the endpoint /mcp/new see it";
        assert_eq!(
            reasons,
            [
                ("new", "a://same", same_resource.as_str()),
                ("new", "a://t/1", covered),
                ("new", "a://t/{x}", same_template.as_str())
            ]
        );
        let server_view = snapshot.server_view(&ServerId::new("new")).expect("a view");
        assert_eq!(server_view.entries(CapabilityKind::Resources).len(), 3);
    }

    #[test]
    fn a_uri_matches_a_template_with_the_same_literal_texts() {
        for (uri, template, fits) in [
            ("demo://x/1", "demo://x/{id}", true),
            ("demo://x/1/y", "demo://x/{id}/y", true),
            ("demo://x/1/z", "demo://x/{id}/y", false),
            ("demo://y/1", "demo://x/{id}", false),
            ("demo://x", "demo://x", true),
            ("demo://x/", "demo://x", false),
            ("file:///any/where", "file:///{+path}", true),
        ] {
            assert_eq!(
                templates::matches(uri, template),
                fits,
                "{uri} in {template}"
            );
        }
    }

    #[test]
    fn a_template_without_a_literal_scheme_is_refused() {
        for (template, is_valid) in [
            ("file:///{path}", true),
            ("git+ssh:{x}", true),
            ("demo://x", true),
            ("{+anything}", false),
            ("{scheme}://x", false),
            ("http{s}://x", false),
            ("users/{id}", false),
            (":{x}", false),
            ("/a:b/{x}", false),
        ] {
            let text = serde_json::json!({ "uriTemplate": template, "name": "x" }).to_string();
            let read = Definition::parse(CapabilityKind::Templates, text);
            assert_eq!(read.is_ok(), is_valid, "{template}");
        }
    }

    fn uri() -> impl Strategy<Value = String> {
        "a:[ab/]{0,4}"
    }

    fn template() -> impl Strategy<Value = String> {
        ("a:[ab/]{0,3}", "[ab/]{0,2}").prop_map(|(begin, end)| format!("{begin}{{x}}{end}"))
    }

    proptest! {
        #[test]
        fn the_order_of_acceptance_decides_which_server_answers(
            ids in Just(vec!["a", "b", "c", "d"]).prop_shuffle(),
            offers in prop::collection::vec(
                (prop::collection::btree_set(uri(), 0..4), prop::collection::btree_set(template(), 0..4)),
                4,
            ),
            requested in prop::collection::vec(uri(), 1..10),
        ) {
            let offered: Vec<_> = offers.iter().map(|(resources, templates)| {
                let (resources, templates): (Vec<_>, Vec<_>) =
                    (resources.iter().map(String::as_str).collect(), templates.iter().map(String::as_str).collect());
                offer(&resources, &templates)
            }).collect();
            let servers: Vec<_> = ids.iter().map(|id| server(id)).zip(&offered).collect();
            let snapshot = Snapshot::merge(&servers);
            for uri in requested.iter().chain(offers.iter().flat_map(|(resources, _)| resources)) {
                let first = ids.iter().zip(&offers).find(|(_, (resources, templates))| {
                    resources.contains(uri) || templates.iter().any(|template| templates::matches(uri, template))
                });
                let found = snapshot.all().find_resource(uri);
                prop_assert_eq!(found.map(|entry| entry.server.id.as_str()), first.map(|(id, _)| *id), "{}", uri);
                let Some((found, (_, (resources, templates)))) = found.zip(first) else { continue };
                if resources.contains(uri) {
                    prop_assert_eq!(&found.definition.name, uri);
                } else {
                    let matching = templates.iter().filter(|template| templates::matches(uri, template));
                    let longest = matching.map(|template| templates::literal_length(template)).max();
                    prop_assert_eq!(Some(templates::literal_length(&found.definition.name)), longest);
                }
            }
        }
    }
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
            let (mut exposed_names, mut tool_ids) = (BTreeSet::new(), BTreeSet::new());
            for entry in entries {
                let name = &entry.exposed_name;
                prop_assert!(names::is_valid_exposed_name(name) && !names::is_reserved(name), "{}", name);
                prop_assert!(exposed_names.insert(name.clone()));
                prop_assert!(tool_ids.insert((entry.server.id.clone(), entry.definition.name.clone())));
                let found = snapshot.all().find(CapabilityKind::Tools, name).expect("find the entry");
                prop_assert!(Arc::ptr_eq(found, entry));
            }
            for max in [40, 47, MAX_TOOL_NAME] {
                let view = snapshot.client_view(&ServerScope::All, max, &AppliedProfiles::default());
                let found: BTreeSet<_> = names(&view).into_iter().collect();
                let tools = view.entries(CapabilityKind::Tools).len();
                prop_assert_eq!(found.len(), tools, "each name leads to one tool");
                prop_assert!(found.iter().all(|name| name.len() <= max && view.find(CapabilityKind::Tools, name).is_some()));
                prop_assert_eq!(tools + view.excluded().len(), entries.len() + snapshot.all().excluded().len());
            }
            let all: usize = offered.iter().map(|(_, offered)| offered[&CapabilityKind::Tools].len()).sum();
            prop_assert_eq!(entries.len() + snapshot.all().excluded().len(), all, "each tool is listed or excluded");
            let merged_again = Snapshot::merge(&servers);
            prop_assert_eq!(names(snapshot.all()), names(merged_again.all()), "the same servers get the same names");
        }
    }
}
