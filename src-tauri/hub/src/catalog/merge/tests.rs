use std::path::PathBuf;

use super::*;
use crate::model::ids::ServerId;

fn server(id: &str) -> Arc<Registered> {
    let spec = serde_json::from_str(r#"{"command":"x"}"#).expect("a spec");
    Arc::new(Registered::new(ServerId::new(id), spec, PathBuf::new()))
}

fn tools(tools: &[Arc<Definition>]) -> Offered {
    Offered::from([(Kind::Tools, tools.to_vec())])
}

fn tool(text: &str) -> Arc<Definition> {
    Arc::new(Definition::read(Kind::Tools, text.into()).expect("a definition"))
}

#[test]
fn a_listed_tool_differs_from_the_servers_in_its_name_only() {
    let tools = [tool(r#"{"x":1.0,"name":"read","inputSchema":{"type":"object"},"_meta":{"a":12345678901234567890}}"#)];
    let snapshot = Snapshot::merge(&[(server("fs"), &self::tools(&tools))]);
    assert_eq!(
        snapshot.all().listed(Kind::Tools).get(),
        r#"{"tools":[{"x":1.0,"name":"fs__read","inputSchema":{"type":"object"},"_meta":{"a":12345678901234567890}}]}"#
    );
}

#[test]
fn tools_of_one_name_are_told_apart_and_each_leads_to_its_own() {
    let tools = [tool(r#"{"name":"a.b"}"#), tool(r#"{"name":"a/b"}"#), tool(r#"{"name":"a_b"}"#)];
    let snapshot = Snapshot::merge(&[(server("one"), &self::tools(&tools)), (server("two"), &self::tools(&tools))]);
    assert_eq!(snapshot.all().entries(Kind::Tools).len(), 6);
    for tool in snapshot.all().entries(Kind::Tools) {
        let found = snapshot.all().find(Kind::Tools, &tool.exposed_name).expect("found");
        assert_eq!((&found.server.id, &found.definition.name), (&tool.server.id, &tool.definition.name));
    }
}

#[test]
fn a_tool_that_a_server_lists_twice_is_listed_once() {
    let tools = [tool(r#"{"name":"a"}"#), tool(r#"{"name":"a","description":"other"}"#)];
    let snapshot = Snapshot::merge(&[(server("s"), &self::tools(&tools))]);
    // The second gets a hashed name, a third would be left out.
    assert!(snapshot.all().find(Kind::Tools, "s__a").is_some_and(|tool| tool.definition.description.is_empty()));
}

#[test]
fn no_tools_are_an_empty_list() {
    assert_eq!(Snapshot::default().all().listed(Kind::Tools).get(), r#"{"tools":[]}"#);
}

#[test]
fn a_resource_keeps_its_uri_and_the_first_server_has_a_contested_one() {
    let resource = |text: &str| Arc::new(Definition::read(Kind::Resources, text.into()).expect("a definition"));
    let offered = Offered::from([(Kind::Resources, vec![resource(r#"{"uri":"file:///a","name":"x"}"#)])]);
    let snapshot = Snapshot::merge(&[(server("one"), &offered), (server("two"), &offered)]);
    assert_eq!(snapshot.all().listed(Kind::Resources).get(), r#"{"resources":[{"uri":"file:///a","name":"x"}]}"#);
    assert_eq!(snapshot.all().find_resource("file:///a").expect("found").server.id.as_str(), "one");
}

#[test]
fn a_uri_is_found_by_the_template_that_it_fits() {
    for (uri, template, fits) in [
        ("demo://x/1", "demo://x/{id}", true),
        ("demo://x/1/y", "demo://x/{id}/y", true),
        ("demo://x/1/z", "demo://x/{id}/y", false),
        ("demo://y/1", "demo://x/{id}", false),
        ("demo://x", "demo://x", true),
        ("demo://x/", "demo://x", false),
        ("file:///any/where", "file:///{+path}", true),
    ] {
        assert_eq!(fits_template(uri, template), fits, "{uri} in {template}");
    }
}

#[test]
fn a_server_alone_has_its_own_names() {
    let tools = [tool(r#"{"name":"a.b","x":1.0}"#)];
    let snapshot = Snapshot::merge(&[(server("one"), &self::tools(&tools)), (server("two"), &self::tools(&tools))]);
    let alone = snapshot.of(&Reach::One(ServerId::new("two")));
    assert_eq!(alone.listed(Kind::Tools).get(), r#"{"tools":[{"name":"a.b","x":1.0}]}"#);
    assert_eq!(alone.find(Kind::Tools, "a.b").expect("found").server.id.as_str(), "two");
    assert!(snapshot.of(&Reach::One(ServerId::new("three"))).entries(Kind::Tools).is_empty());
}
