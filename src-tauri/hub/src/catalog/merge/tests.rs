use std::path::PathBuf;

use super::*;
use crate::model::ids::ServerId;

fn server(id: &str) -> Arc<Registered> {
    let spec = serde_json::from_str(r#"{"command":"x"}"#).expect("a spec");
    Arc::new(Registered::new(ServerId::new(id), spec, PathBuf::new()))
}

fn tool(text: &str) -> Arc<Definition> {
    Arc::new(Definition::read(text.into()).expect("a definition"))
}

#[test]
fn a_listed_tool_differs_from_the_servers_in_its_name_only() {
    let tools = [tool(r#"{"x":1.0,"name":"read","inputSchema":{"type":"object"},"_meta":{"a":12345678901234567890}}"#)];
    let snapshot = Snapshot::merge([(server("fs"), tools.as_slice())].into_iter());
    assert_eq!(
        snapshot.listed.get(),
        r#"{"tools":[{"x":1.0,"name":"fs__read","inputSchema":{"type":"object"},"_meta":{"a":12345678901234567890}}]}"#
    );
}

#[test]
fn tools_of_one_name_are_told_apart_and_each_leads_to_its_own() {
    let tools = [tool(r#"{"name":"a.b"}"#), tool(r#"{"name":"a/b"}"#), tool(r#"{"name":"a_b"}"#)];
    let snapshot = Snapshot::merge([(server("one"), tools.as_slice()), (server("two"), tools.as_slice())].into_iter());
    assert_eq!(snapshot.tools.len(), 6);
    for tool in &snapshot.tools {
        let found = snapshot.find(&tool.exposed_name).expect("found");
        assert_eq!((&found.server.id, &found.definition.name), (&tool.server.id, &tool.definition.name));
    }
}

#[test]
fn a_tool_that_a_server_lists_twice_is_listed_once() {
    let tools = [tool(r#"{"name":"a"}"#), tool(r#"{"name":"a","description":"other"}"#)];
    let snapshot = Snapshot::merge([(server("s"), tools.as_slice())].into_iter());
    // The second gets a hashed name, a third would be left out.
    assert!(snapshot.find("s__a").is_some_and(|tool| tool.definition.description.is_empty()));
}

#[test]
fn no_tools_are_an_empty_list() {
    assert_eq!(Snapshot::default().listed.get(), r#"{"tools":[]}"#);
}
