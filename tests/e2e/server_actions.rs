//! The Servers screen in a browser: a person changes several servers at once, and restarts and edits
//! one of them. The hub and its servers are real.

use drawbridge_tests::{
    DesktopSession, Hub, hub::received_lines, paths, wait::some_if, wait_until,
};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, fill, select, take_steps, wait_for, wait_for_text, wait_until_enabled,
    wait_until_gone,
};

/// Returns the command of a second probe server, without a record of its input.
fn probe_program() -> String {
    paths::path_text(paths::built_binary("upstream-probe"))
}

/// Returns the steps that select two servers.
fn select_two_servers() -> Vec<Value> {
    vec![
        click("nav-servers"),
        click("servers-select"),
        click("server-row[data-server=probe] server-select"),
        click("server-row[data-server=second] server-select"),
        wait_for_text("bulk-panel", "2 servers selected"),
    ]
}

#[test]
fn several_servers_are_changed_and_removed_at_once_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.add_server("second", &[], &[&probe_program()]);
    hub.wait_until_synced("second");
    hub.add_server("third", &[], &[&probe_program()]);
    hub.wait_until_synced("third");
    let client = hub.connect_client("claude-code");

    let mut steps = select_two_servers();
    steps.push(select("bulk-policy", "allow"));
    steps.push(wait_for_text("bulk-done", "Done for 2 servers"));
    steps.extend(check_screen("several-servers"));
    take_steps(&desktop, steps);
    for tool in ["probe__echo", "second__echo"] {
        assert!(!client.call(tool, "{}").is_error(), "{tool} is allowed");
    }
    let policy = hub.run_verb("policy.list", &json!({}));
    assert_eq!(policy["rules"].as_array().map(Vec::len), Some(2));

    let mut steps = select_two_servers();
    steps.extend([
        click("bulk-disable"),
        wait_for_text("bulk-done", "Done for 2 servers"),
        wait_for("server-row[data-server=probe][data-state=disabled]"),
        wait_for("server-row[data-server=second][data-state=disabled]"),
    ]);
    take_steps(&desktop, steps);
    let tools = client.list_tools();
    assert!(
        tools.iter().all(|tool| tool.starts_with("third__")),
        "only the server that was not selected is enabled: {tools:?}"
    );

    let mut steps = select_two_servers();
    steps.extend([
        click("bulk-enable"),
        wait_for_text("bulk-done", "Done for 2 servers"),
        wait_until_gone("server-row[data-server=probe][data-state=disabled]"),
        wait_until_gone("server-row[data-server=second][data-state=disabled]"),
    ]);
    take_steps(&desktop, steps);
    wait_until("the tools of both servers are listed", || {
        let tools = client.list_tools();
        some_if(
            ["probe__echo", "second__echo"]
                .iter()
                .all(|tool| tools.iter().any(|listed| listed == tool)),
        )
    });

    let mut steps = select_two_servers();
    steps.extend([
        click("bulk-remove"),
        wait_until_gone("server-row[data-server=probe]"),
        click("removal-now"),
        wait_until_gone("removal-pending"),
        wait_for("server-row[data-server=third]"),
    ]);
    take_steps(&desktop, steps);
    let listed = desktop.cli(&["servers", "list", "--json"]).expect_json();
    let ids: Vec<&str> = listed["servers"]
        .as_array()
        .expect("a list of servers")
        .iter()
        .filter_map(|server| server["id"].as_str())
        .filter(|id| ["probe", "second", "third"].contains(id))
        .collect();
    assert_eq!(ids, ["third"]);
}

#[test]
fn a_server_is_restarted_and_its_spec_edited_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("claude-code");
    assert!(!client.call("probe__echo", "{}").is_error());
    let count_starts = || {
        let lines = received_lines(&desktop);
        lines
            .iter()
            .filter(|line| line.contains("\"initialize\""))
            .count()
    };
    let starts = count_starts();

    take_steps(
        &desktop,
        vec![
            click("nav-servers"),
            click("server-row[data-server=probe]"),
            wait_until_enabled("server-restart"),
            click("server-restart"),
            wait_until_enabled("server-restart"),
        ],
    );
    assert!(!client.call("probe__echo", "{}").is_error());
    assert!(count_starts() > starts, "the server was started once more");

    let mut spec = hub.show_server("probe")["spec"].clone();
    spec["name"] = json!("Probe of the tests");
    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=probe]"),
        click("server-tab-spec"),
        fill("spec-text", "{\n  \"command\" 1\n}"),
        wait_for_text("spec-fault", "Line 2"),
        wait_for("spec-save[aria-disabled=true]"),
        fill("spec-text", &spec.to_string()),
        wait_until_gone("spec-fault"),
        wait_until_enabled("spec-save"),
        click("spec-save"),
        wait_for_text("spec-saved", "saved and accepted"),
        wait_for_text("server-row[data-server=probe]", "Probe of the tests"),
    ];
    steps.extend(check_screen("spec-saved"));
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("probe")["spec"]["name"],
        "Probe of the tests"
    );
    assert!(
        !client.call("probe__echo", "{}").is_error(),
        "the edited server answers"
    );
}
