//! Requests of servers for input in the real windows: a form is filled in, and a URL is opened in
//! the system's browser.

use drawbridge_tests::{
    DesktopSession, Hub, McpClient, protected_server::BrowserLauncher, wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::app::App;

/// Returns the answer that the server got.
fn parse_answer(text: &str) -> Value {
    let message: Value = serde_json::from_str(text).expect("the probe's answer");
    message["result"].clone()
}

#[test]
fn windows_fill_in_a_form_and_open_a_url_for_a_server() {
    let mut desktop = DesktopSession::new();
    let launcher = BrowserLauncher::new(&desktop);
    let path = launcher.search_path(&desktop);
    desktop.set_variable("PATH", path);
    let hub = Hub::serve(&desktop);
    // With this option, the probe has the tool `ask`, which sends a request to its client.
    hub.add_probe(&["--guarded"]);
    hub.set_policy("probe", "allow");
    let token = hub.add_client("desk");
    hub.stop(Signal::SIGTERM);
    let app = App::start(&desktop, &["--hidden"]);
    let driver = &app.driver;
    driver.switch_to_window("the popup", |url| url.contains("#/popup"));
    driver.wait_for("popup-empty");
    let client = McpClient::connect(&app.url, &token);

    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "age": {"type": "integer", "title": "Age", "minimum": 18},
            "color": {"type": "string", "title": "Color", "oneOf": [
                {"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
        },
        "required": ["name"],
    });
    let params = json!({"message": "Who are you?", "requestedSchema": schema});
    let arguments = json!({"method": "elicitation/create", "params": params});
    let call = client.spawn_call("probe__ask", &arguments.to_string());
    app.switch_to_popup();
    driver.wait_for_text("approval-card", "Who are you?");
    driver.wait_for_text("countdown", " s");
    driver.wait_until_enabled("form-submit");
    driver.click("form-submit");
    driver.wait_for_text("approval-card", "Enter a value.");
    driver.fill("form-field-name", "Ada");
    driver.fill("form-field-age", "17");
    driver.click("form-submit");
    driver.wait_for_text("approval-card", "Enter at least 18.");
    driver.fill("form-field-age", "36");
    driver.select_option("form-field-color", "b");
    driver.save_screenshot("form-popup");
    driver.click("form-submit");
    let answer = call.join().expect("the call ends");
    assert_eq!(
        parse_answer(&answer.text()),
        json!({"action": "accept", "content": {"name": "Ada", "age": 36, "color": "b"}})
    );
    app.wait_until_popup_hides();

    let url = "https://accounts.example.com/connect?state=1";
    let params = json!({"mode": "url", "elicitationId": "e1", "message": "Sign in", "url": url});
    let arguments = json!({"method": "elicitation/create", "params": params});
    let call = client.spawn_call("probe__ask", &arguments.to_string());
    app.switch_to_popup();
    driver.wait_for_text("form-url", url);
    driver.wait_for_text("form-host", "accounts.example.com");
    assert!(
        launcher.recorded_lines().is_empty(),
        "nothing opens without a click"
    );
    driver.wait_until_enabled("form-open");
    driver.click("form-open");
    let opened = wait_until("the browser is opened", || {
        Some(launcher.recorded_lines()).filter(|opened| opened.len() >= 2)
    });
    // The launcher records the number of its arguments, and then the arguments.
    assert_eq!(opened, ["1", url], "the browser gets only the URL");
    let answer = call.join().expect("the call ends");
    assert_eq!(parse_answer(&answer.text()), json!({"action": "accept"}));
}
