//! The catalog's copy: a server's definitions are known although the server does not run.

use drawbridge_tests::{Home, Hub, McpClient, hub::heard};
use nix::sys::signal::Signal;

#[test]
fn after_a_restart_the_tools_are_listed_without_starting_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let token = hub.token("desk");
    let before = McpClient::connect(&hub.url, &token).request("tools/list", "{}");
    assert!(
        before.tool_names().contains(&"probe__echo".to_owned()),
        "{}",
        before.raw
    );
    hub.end(Signal::SIGTERM);
    let lines = heard(&home).len();

    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    let after = client.request("tools/list", "{}");
    assert_eq!(
        after.result_text(),
        before.result_text(),
        "the same tools, to the byte"
    );
    assert_eq!(
        hub.server("probe")["starts"],
        0,
        "the server was not started"
    );
    assert!(
        home.servers()
            .iter()
            .all(|process| !process.command.contains("upstream-probe")),
        "no process runs"
    );
    assert_eq!(heard(&home).len(), lines, "nothing reached the server");

    hub.policy("probe", "allow");
    assert_eq!(
        client.call("probe__echo", r#"{"a":1}"#).text(),
        r#"{"a":1}"#,
        "a call starts it"
    );
    assert_eq!(hub.server("probe")["starts"], 1);
}

#[test]
fn a_server_that_is_gone_keeps_its_last_known_tools() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let program = home.file("probe");
    std::fs::copy(drawbridge_tests::places::built("upstream-probe"), &program)
        .expect("copy the fixture");
    hub.add_server("probe", &[], &[&drawbridge_tests::places::text(&program)]);
    hub.until_synced("probe");
    let client = hub.client("desk");
    let names = client.tools();
    std::fs::remove_file(&program).expect("remove the program");
    home.cli(&["servers", "restart", "probe"]);
    assert_eq!(
        home.cli(&["servers", "sync", "probe"]).code(),
        1,
        "it cannot be read anew"
    );
    assert_eq!(client.tools(), names, "its tools are still listed");
    hub.policy("probe", "allow");
    let answer = client.call("probe__echo", "{}");
    assert!(
        answer.is_error(),
        "a call says that it failed: {}",
        answer.raw
    );
    assert!(
        answer.text().contains("probe"),
        "it names the server: {}",
        answer.text()
    );
}
