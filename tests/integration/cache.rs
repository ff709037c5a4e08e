//! The catalog's copy: a server's definitions are known although the server does not run.

use drawbridge_tests::{Home, Hub, McpClient, hub::received_lines};
use nix::sys::signal::Signal;

#[test]
fn after_a_restart_the_tools_are_listed_without_starting_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let token = hub.add_client("desk");
    let list_before = McpClient::connect(&hub.url, &token).request("tools/list", "{}");
    assert!(
        list_before.tool_names().contains(&"probe__echo".to_owned()),
        "{}",
        list_before.raw
    );
    hub.stop(Signal::SIGTERM);
    let lines = received_lines(&home).len();

    let hub = Hub::serve(&home);
    let client = McpClient::connect(&hub.url, &token);
    let list_after = client.request("tools/list", "{}");
    assert_eq!(
        list_after.result_text(),
        list_before.result_text(),
        "the list of tools is the same, byte for byte"
    );
    assert_eq!(
        hub.show_server("probe")["starts"],
        0,
        "the server was not started"
    );
    assert!(
        home.server_processes()
            .iter()
            .all(|process| !process.command.contains("upstream-probe")),
        "no server process runs"
    );
    assert_eq!(
        received_lines(&home).len(),
        lines,
        "nothing reached the server"
    );

    hub.set_policy("probe", "allow");
    assert_eq!(
        client.call("probe__echo", r#"{"a":1}"#).text(),
        r#"{"a":1}"#,
        "a call starts the server"
    );
    assert_eq!(hub.show_server("probe")["starts"], 1);
}

#[test]
fn an_unreachable_server_keeps_its_last_known_tools() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let program = home.file("probe");
    std::fs::copy(
        drawbridge_tests::paths::built_binary("upstream-probe"),
        &program,
    )
    .expect("copy the fixture");
    hub.add_server(
        "probe",
        &[],
        &[&drawbridge_tests::paths::path_text(&program)],
    );
    hub.wait_until_synced("probe");
    let client = hub.connect_client("desk");
    let names = client.list_tools();
    std::fs::remove_file(&program).expect("remove the program");
    home.cli(&["servers", "restart", "probe"]);
    assert_eq!(
        home.cli(&["servers", "sync", "probe"]).exit_code(),
        1,
        "the refresh fails"
    );
    assert_eq!(client.list_tools(), names, "its tools are still listed");
    hub.set_policy("probe", "allow");
    let answer = client.call("probe__echo", "{}");
    assert!(answer.is_error(), "a call fails: {}", answer.raw);
    assert!(
        answer.text().contains("probe"),
        "the error names the server: {}",
        answer.text()
    );
}
