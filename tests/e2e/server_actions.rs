//! The Servers screen in a browser: a person changes several servers at once, and restarts, edits,
//! syncs, disables, removes, pins, signs in to or signs out of a single server. The hub and its
//! servers are real.

use std::fs;

use drawbridge_tests::{
    DesktopSession, Hub,
    hub::{received_lines, spec_file},
    paths,
    protected_server::{ProtectedServer, sign_in_as_browser},
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, fill, select, take_steps, wait_for, wait_for_text, wait_until_enabled,
    wait_until_gone,
};

/// Returns the command of another probe server, without a record of its input.
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

#[test]
fn all_servers_are_selected_and_restarted_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.add_server("second", &[], &[&probe_program()]);
    hub.wait_until_synced("second");
    let count_starts = || {
        let lines = received_lines(&desktop);
        lines.iter().filter(|line| line.contains("\"pid\"")).count()
    };
    let starts = count_starts();
    let mut steps = vec![
        click("nav-servers"),
        click("servers-select"),
        click("servers-select-all"),
        // The other three servers are built-in servers, which are disabled.
        wait_for_text("bulk-panel", "5 servers selected"),
        wait_for_text("bulk-restart", "2 servers"),
        click("bulk-restart"),
        wait_for_text("bulk-done", "Done for 2 servers"),
    ];
    steps.extend(check_screen("servers-restarted"));
    steps.extend([
        click("bulk-clear"),
        wait_until_gone("bulk-panel"),
        click("servers-select"),
        click("servers-select-end"),
        wait_until_gone("server-select"),
        wait_for("server-detail"),
    ]);
    take_steps(&desktop, steps);
    wait_until("the server was started again", || {
        some_if(count_starts() > starts)
    });
}

#[test]
fn a_server_is_synced_disabled_and_removed_and_its_removal_undone_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let description = desktop.file("description");
    fs::write(&description, "Says what it was told").expect("write the description");
    hub.add_probe(&["--describe-from", &paths::path_text(&description)]);
    let client = hub.connect_client("claude-code");
    fs::write(&description, "Says it twice").expect("change the description");
    let broken = spec_file(&desktop.data_dir(), "typo");
    fs::write(&broken, "{\n  \"command\": \"node\"\n  \"args\": []\n}\n").expect("write the spec");

    let mut steps = vec![
        click("nav-servers"),
        wait_for_text("broken-spec", "typo.json:3"),
        click("server-row[data-server=probe]"),
        wait_until_enabled("server-sync"),
        click("server-sync"),
        wait_for_text("server-detail", "Says it twice"),
        click("server-enable"),
        wait_for_text("server-state", "Disabled"),
        wait_for("server-sync[aria-disabled=true]"),
    ];
    steps.extend(check_screen("server-disabled"));
    take_steps(&desktop, steps);
    assert!(client.list_tools().is_empty(), "the server is disabled");

    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=probe]"),
        click("server-enable"),
        wait_until_gone("server-row[data-server=probe][data-state=disabled]"),
        click("server-tab-details"),
        wait_for_text("server-transitions", "the server was disabled"),
        click("server-tab-log"),
        wait_for_text("server-detail", "the server was disabled"),
    ];
    steps.extend(check_screen("server-log"));
    steps.extend([
        click("server-tab-tools"),
        select("tool-row[data-tool=now] tool-policy", "deny"),
        wait_for("tool-row[data-tool=now] tool-policy.deny"),
        click("server-remove"),
        wait_until_gone("server-row[data-server=probe]"),
        click("removal-undo"),
        wait_for("server-row[data-server=probe]"),
        wait_until_gone("removal-pending"),
    ]);
    take_steps(&desktop, steps);
    assert!(
        client.call("probe__now", "{}").text().contains("denied"),
        "the tool has its own rule"
    );

    take_steps(
        &desktop,
        vec![
            click("nav-servers"),
            click("server-row[data-server=probe]"),
            click("server-remove"),
            click("removal-now"),
            wait_until_gone("removal-pending"),
        ],
    );
    let probe = spec_file(&desktop.data_dir(), "probe");
    assert!(!fs::exists(probe).expect("look for the spec"));
}

#[test]
fn a_floating_version_is_pinned_in_a_browser() {
    const PACKAGE: &str = "@modelcontextprotocol/server-everything";
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let folder = paths::path_text(paths::pinned_packages_dir());
    let command = ["npx", "-y", PACKAGE, "stdio"];
    hub.add_server("everything", &["--cwd", &folder], &command);
    hub.wait_until_synced("everything");
    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=everything]"),
        wait_for("server-pin"),
    ];
    steps.extend(check_screen("server-floating"));
    steps.extend([click("server-pin"), wait_until_gone("server-pin")]);
    take_steps(&desktop, steps);
    let pinned = format!("{PACKAGE}@{}", paths::npm_version(PACKAGE));
    let shown = hub.show_server("everything");
    assert_eq!(shown["spec"]["args"], json!(["-y", pinned, "stdio"]));
    assert_eq!(shown["acceptance"], "accepted");
}

#[test]
fn a_person_cancels_a_sign_in_signs_in_and_signs_out_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let remote = ProtectedServer::start(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=protected]"),
        click("sign-in"),
        wait_for("sign-in-link"),
    ];
    steps.extend(check_screen("server-sign-in"));
    steps.extend([
        click("sign-in-cancel"),
        wait_until_gone("sign-in-link"),
        wait_until_enabled("sign-in"),
        click("sign-in"),
        wait_for("sign-in-link"),
        json!({"do": "evaluate", "script":
            "document.querySelector('[data-testid=sign-in-url]').textContent"}),
    ]);
    let report = take_steps(&desktop, steps);
    let url = report.values()[0].as_str().expect("the shown URL");
    sign_in_as_browser(&desktop, url);
    hub.wait_until_synced("protected");

    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=protected]"),
        wait_for("tool-row[data-tool=whoami]"),
        click("server-tab-details"),
        wait_for_text("signed-in", &remote.issuer),
    ];
    steps.extend(check_screen("server-signed-in"));
    steps.extend([click("sign-out"), wait_until_enabled("sign-in")]);
    take_steps(&desktop, steps);
    assert_eq!(hub.show_server("protected")["state"], "needs_sign_in");
}
