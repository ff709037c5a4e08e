//! The app as the front end of a remote hub (`MCP_HUB_URL`): a hub in another process, under
//! another host name.

use drawbridge_tests::{
    DesktopSession, Home, Hub, clients::Endpoint, host_name::find_other_name, hub::ADMIN_TOKEN,
    paths,
};
use serde_json::json;

use crate::app::{self, App};

/// Starts a hub in this home, under another name of this computer, with the server `everything` and
/// a client.
fn start_hub(home: &Home) -> (Hub<'_>, Endpoint) {
    let (hub, origin) = Hub::serve_as(home, &find_other_name());
    let command = app::everything_command();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    hub.add_server("everything", &[], &command);
    hub.wait_until_synced("everything");
    let endpoint = Endpoint {
        url: format!("{origin}/mcp"),
        token: hub.add_client("typescript"),
    };
    (hub, endpoint)
}

/// Returns a desktop whose app shows the hub at this endpoint.
fn desktop_of(endpoint: &Endpoint) -> DesktopSession {
    let mut desktop = DesktopSession::new();
    desktop.set_variable("MCP_HUB_URL", &endpoint.url);
    desktop.set_variable("DRAWBRIDGE_ADMIN_TOKEN", ADMIN_TOKEN);
    desktop
}

#[test]
fn calls_of_a_remote_hub_are_approved_and_denied_in_the_window() {
    let remote_home = Home::new();
    let (_hub, endpoint) = start_hub(&remote_home);
    let desktop = desktop_of(&endpoint);
    let app = App::open(&desktop);

    let call = app.begin_call(
        &endpoint,
        "everything__echo",
        &json!({"message": "from afar"}),
    );
    app.switch_to_popup();
    for text in ["typescript", "everything", "echo", "from afar"] {
        app.driver.wait_for_text("approval-card", text);
    }
    app.driver.save_screenshot("remote-popup");
    app.driver.click("approve-once");
    assert_eq!(call.wait_for_result().text, "Echo: from afar");
    app.wait_until_popup_hides();

    let call = app.begin_call(&endpoint, "everything__echo", &json!({"message": "again"}));
    app.switch_to_popup();
    app.driver.wait_for_text("approval-card", "again");
    app.driver.click("deny");
    app.driver.fill("deny-reason", "not today");
    app.driver.click("deny-confirm");
    let result = call.wait_for_result();
    assert!(
        result.is_error && result.text.contains("not today"),
        "the reason reaches the client: {result:?}"
    );
    app.wait_until_popup_hides();
    assert!(
        !desktop.data_dir().join("drawbridge.db").exists(),
        "the app starts no hub of its own"
    );
}

#[test]
fn the_screens_show_and_diagnose_a_remote_hub() {
    let remote_home = Home::new();
    let (_hub, endpoint) = start_hub(&remote_home);
    let desktop = desktop_of(&endpoint);
    let app = App::open(&desktop);
    let driver = &app.driver;
    for (screen, part) in [
        ("nav-servers", "server-row[data-server=everything]"),
        ("nav-clients", "client-row"),
        ("nav-policy", "rule-add"),
        ("nav-hooks", "hooks-empty"),
        ("nav-calls", "calls-tab-charts"),
        ("nav-memory", "memory-empty"),
        ("nav-audit", "audit-verify"),
        ("nav-logs", "log-line"),
        ("nav-settings", "setting-hosts"),
    ] {
        driver.click(screen);
        driver.wait_for(part);
        driver.save_screenshot(&format!("remote-{screen}"));
    }
    driver.wait_for_text("setting-url", &endpoint.url);
    driver.click("doctor-run");
    driver.wait_for("doctor-check[data-topic=hub][data-status=ok]");
    let folder = paths::path_text(remote_home.data_dir());
    driver.wait_for_text("doctor-check[data-topic=hub]", &folder);
    driver.click("doctor-bundle");
    driver.wait_for("bundle-file");
    driver.save_screenshot("remote-bundle");
}
