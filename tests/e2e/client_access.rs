//! The Clients screen in a browser: a person adds, limits, unmutes and revokes a client, gives it
//! to another user, gives it a new token, and makes, assigns, edits and removes a profile. The hub,
//! its servers and its clients are real.

use std::fs;

use drawbridge_tests::{DesktopSession, Hub, McpClient, paths};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, expect_failed_verb, fill, press_key, select, take_steps, wait_for,
    wait_for_text, wait_until_gone,
};

/// Starts a hub with the probe server.
fn start_hub(desktop: &DesktopSession) -> Hub<'_> {
    let hub = Hub::serve(desktop);
    hub.add_probe(&[]);
    hub
}

/// Returns the only client.
fn show_client(desktop: &DesktopSession) -> Value {
    desktop.cli(&["clients", "list", "--json"]).expect_json()[0].clone()
}

/// Sends a ping as the client, and returns the HTTP status of the answer.
fn ping(client: &McpClient) -> u16 {
    let message = json!({"jsonrpc": "2.0", "id": 900, "method": "ping"});
    client.post(&message).expect("the hub answers").status
}

#[test]
fn a_client_is_added_given_to_another_user_and_given_a_token_that_expires_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let mut steps = vec![
        click("nav-clients"),
        wait_for("clients-empty"),
        click("add-client"),
        wait_for("client-create[aria-disabled=true]"),
        fill("client-name", "cursor"),
        fill("client-user", "ada"),
        click("client-create"),
        wait_for("client-token"),
        json!({"do": "evaluate", "script":
            "document.querySelector('[data-testid=client-token]').textContent"}),
        click("client-stdio-tab"),
        wait_for_text("client-stdio-config", "stdio"),
    ];
    steps.extend(check_screen("client-added"));
    steps.extend([
        click("client-done"),
        wait_until_gone("client-dialog"),
        wait_for_text("client-row[data-client=cursor]", "ada"),
        click("add-client"),
        fill("client-name", "cursor"),
        click("client-create"),
        wait_for_text("dialog-error", "already exists"),
        expect_failed_verb("clients.add"),
    ]);
    steps.extend(check_screen("client-name-taken"));
    steps.extend([
        press_key("Escape"),
        wait_for("confirm-dialog"),
        click("confirm"),
        wait_until_gone("client-dialog"),
        click("client-change-user"),
        fill("user-name", ""),
        wait_for("user-save[aria-disabled=true]"),
        fill("user-name", "grace"),
    ]);
    steps.extend(check_screen("client-user"));
    steps.extend([
        click("user-save"),
        wait_until_gone("user-dialog"),
        wait_for_text("client-row[data-client=cursor]", "grace"),
        click("client-rotate"),
        select("rotate-for", "2592000"),
        click("rotate-token"),
        wait_for("rotated-token"),
        press_key("Escape"),
        wait_until_gone("rotate-dialog"),
        wait_for_text("token-expiry", "expires"),
    ]);
    let report = take_steps(&desktop, steps);
    let token = report.values()[0].as_str().expect("the shown token");
    let client = McpClient::connect(&hub.url, token);
    assert!(client.list_tools().contains(&"probe__echo".to_owned()));
    let shown = show_client(&desktop);
    assert_eq!(shown["user"], "grace");
    assert!(shown["token_expires_at"].is_i64(), "{shown}");
}

#[test]
fn a_client_is_limited_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("claude-code");
    let mut steps = vec![
        click("nav-clients"),
        click("client-limit"),
        fill("limit-calls", "none"),
        wait_for("limit-save[aria-disabled=true]"),
    ];
    steps.extend(check_screen("client-limit"));
    steps.extend([
        fill("limit-calls", "2"),
        click("limit-save"),
        wait_until_gone("limit-dialog"),
        wait_for_text("client-limit", "2 calls a minute"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(show_client(&desktop)["calls_per_minute"], 2);
    let refused = (0..3)
        .map(|_| client.call("probe__echo", "{}"))
        .filter(|answer| answer.is_error())
        .count();
    assert_eq!(refused, 1, "the third call in a minute is refused");
}

#[test]
fn the_token_of_a_client_is_rotated_and_revoked_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    assert_eq!(ping(&client), 200);
    let mut steps = vec![
        click("nav-clients"),
        click("client-rotate"),
        click("rotate-token"),
        wait_for("rotated-token"),
        json!({"do": "evaluate", "script":
            "document.querySelector('[data-testid=rotated-token]').textContent"}),
    ];
    steps.extend(check_screen("client-rotated"));
    let report = take_steps(&desktop, steps);
    let token = report.values()[0].as_str().expect("the shown token");
    assert_eq!(
        ping(&client),
        200,
        "the old token is valid until the new token is used"
    );
    let new_client = McpClient::connect(&hub.url, token);
    assert_eq!(ping(&client), 401, "the old token no longer works");
    let client = new_client;
    assert!(client.list_tools().contains(&"probe__echo".to_owned()));

    let mut steps = vec![
        click("nav-clients"),
        click("client-revoke"),
        wait_for_text("confirm-dialog", "claude-code"),
    ];
    steps.extend(check_screen("client-revoke"));
    steps.extend([
        click("confirm"),
        wait_until_gone("confirm-dialog"),
        wait_until_gone("client-revoke"),
        wait_for("clients-revoked"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(ping(&client), 401, "the revoked token no longer works");
    assert!(
        show_client(&desktop)["revoked_at"].is_i64(),
        "{}",
        show_client(&desktop)
    );
}

#[test]
fn a_profile_is_made_and_assigned_to_a_client_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let client = hub.connect_client("claude-code");
    assert!(client.list_tools().len() > 1);
    let mut steps = vec![
        click("nav-clients"),
        click("profile-new"),
        fill("profile-name", "narrow"),
        click("profile-server[data-server=probe] profile-server-in"),
        select("profile-server[data-server=probe] profile-tools", "some"),
        // All tools are selected at first.
        json!({"do": "click_all", "part": "profile-tool:checked"}),
        click("profile-tool[data-tool=echo]"),
        wait_for("profile-tool[data-tool=echo]:checked"),
    ];
    steps.extend(check_screen("profile-form"));
    steps.extend([
        click("profile-save"),
        wait_until_gone("profile-dialog"),
        wait_for("profile-row[data-profile=narrow]"),
        select("client-profile", "=narrow"),
        wait_for("client-profile:enabled"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(show_client(&desktop)["profile"], "narrow");
    assert_eq!(client.list_tools(), ["probe__echo"]);
}

#[test]
fn a_profile_is_edited_and_removed_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    hub.add_server("second", &[], &[&program]);
    hub.wait_until_synced("second");
    let client = hub.connect_client("claude-code");
    let folder = desktop.file("home/project");
    fs::create_dir(&folder).expect("create the project's folder");
    let profile = json!({"name": "narrow", "servers": {"probe": ["echo"]}});
    hub.run_verb("profiles.put", &json!({"profile": profile}));

    let mut steps = vec![
        click("nav-clients"),
        select("client-profile", "=narrow"),
        wait_for_text("profile-row", "claude-code"),
        click("profile-edit"),
        click("profile-server[data-server=probe] profile-server-in"),
        click("profile-save"),
        wait_for("profile-dialog [role=alert]"),
    ];
    steps.extend(check_screen("profile-without-server"));
    steps.extend([
        click("profile-server[data-server=second] profile-server-in"),
        fill("profile-folder", &paths::path_text(&folder)),
        wait_for_text("profile-sum", "7 tools"),
        click("profile-save"),
        wait_until_gone("profile-dialog"),
        wait_for_text("profile-in-folder", "home/project"),
    ]);
    take_steps(&desktop, steps);
    let tools = client.list_tools();
    assert!(
        tools.len() == 7 && tools.iter().all(|tool| tool.starts_with("second__")),
        "{tools:?}"
    );

    let mut steps = vec![
        click("nav-clients"),
        click("profile-remove"),
        wait_for_text("confirm-dialog", "claude-code"),
    ];
    steps.extend(check_screen("profile-removal"));
    steps.extend([
        click("confirm"),
        wait_until_gone("profile-row"),
        wait_for("profiles-empty"),
        wait_for_text("client-profile", "profile removed"),
    ]);
    take_steps(&desktop, steps);
    assert!(client.list_tools().is_empty(), "its profile is gone");

    take_steps(
        &desktop,
        vec![
            click("nav-clients"),
            select("client-profile", ""),
            wait_for("client-profile:enabled"),
        ],
    );
    assert_eq!(client.list_tools().len(), 14, "the client sees everything");
}

#[test]
fn a_muted_client_is_unmuted_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = start_hub(&desktop);
    hub.set_approval_timeout(5);
    let client = hub.connect_client("claude-code");
    {
        // Without an open screen, the calls would end with "No screen".
        let _screen = hub.open_screen();
        let missed: Vec<_> = (0..3)
            .map(|number| client.spawn_call("probe__echo", &format!(r#"{{"n":{number}}}"#)))
            .collect();
        for call in missed {
            assert!(call.join().expect("the call ends").is_error());
        }
    }
    assert!(show_client(&desktop)["mute"]["until"].is_i64());
    let mut steps = vec![click("nav-approvals"), wait_for("muted-notice")];
    steps.extend(check_screen("muted-notice"));
    steps.extend([click("nav-clients"), wait_for("client-row client-muted")]);
    steps.extend(check_screen("client-muted"));
    steps.extend([
        click("client-row client-unmute"),
        wait_until_gone("client-row client-muted"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(show_client(&desktop)["mute"], Value::Null);
}
