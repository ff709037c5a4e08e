//! Secrets are in the keyring and in the environment of the server that needs them, and nowhere
//! else.

use std::fs;

use drawbridge_tests::{
    Desk, Home, Hub,
    canary::Canary,
    http::{Request, Url},
    places,
};
use nix::sys::signal::Signal;

#[test]
fn a_secret_is_nowhere_but_in_the_keyring_and_with_its_server() {
    let desk = Desk::without_screen();
    let canary = Canary::new("cli");
    let hub = Hub::serve(&desk);
    let program = places::text(places::built("upstream-probe"));
    hub.add_server(
        "probe",
        &["--secret", &format!("API_TOKEN={}", canary.value())],
        &[&program, "--noisy"],
    );
    hub.until_synced("probe");
    hub.policy("probe", "allow");
    let client = hub.client("desk");
    assert_eq!(
        client
            .call("probe__variable", r#"{"name":"API_TOKEN"}"#)
            .text(),
        canary.value(),
        "the server has it"
    );
    assert!(
        desk.keyring()
            .items()
            .iter()
            .any(|item| item.value == canary.value()),
        "the keyring keeps it"
    );
    client.call("probe__crash", "{}");
    let shown = desk.cli(&["servers", "show", "probe", "--json"]).stdout();
    assert!(
        shown.contains("${keyring:"),
        "the spec refers to it: {shown}"
    );
    for arguments in [
        ["servers", "list"],
        ["secrets", "list"],
        ["calls", "list"],
        ["logs", "--json"],
        ["policy", "list"],
    ] {
        let ran = desk.cli(&arguments).ok();
        assert_eq!(
            canary.found_in(&ran.output.stdout),
            None,
            "`drawbridge {}` does not tell it",
            arguments.join(" ")
        );
    }
    let url = Url::of(&hub.url).at("/health");
    let health = Request {
        method: "GET",
        url: &url,
        headers: &[],
        body: &[],
    }
    .send()
    .expect("an answer")
    .text();
    assert_eq!(
        canary.found_in(health.expect("a body").as_bytes()),
        None,
        "health does not tell it"
    );
    assert!(
        desk.processes()
            .iter()
            .all(|process| canary.found_in(process.command.as_bytes()).is_none()),
        "no command line has it"
    );
    hub.end(Signal::SIGKILL);
    canary.is_in_no_file_of(&desk.data_dir());
    // The home also contains the keyring's own file, which is encrypted.
    canary.is_in_no_file_of(desk.path());

    let hub = Hub::serve(&desk);
    let client = drawbridge_tests::McpClient::connect(&hub.url, &hub.token("again"));
    let answer = client.call("probe__variable", r#"{"name":"API_TOKEN"}"#);
    assert_eq!(
        answer.text(),
        canary.value(),
        "after a restart the server still gets it"
    );
    desk.cli(&["servers", "remove", "probe"]).ok();
    assert!(
        desk.keyring()
            .items()
            .iter()
            .all(|item| item.value != canary.value()),
        "it goes with its server"
    );
}

#[test]
fn without_a_keyring_only_the_servers_that_need_it_wait() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let program = places::text(places::built("upstream-probe"));
    let canary = Canary::new("absent");
    let refused = home.cli(&[
        "servers",
        "add",
        "needy",
        "--secret",
        &format!("K={}", canary.value()),
        "--",
        &program,
    ]);
    assert_eq!(refused.code(), 1, "there is nowhere to keep a secret");
    assert!(
        refused.stderr().to_lowercase().contains("keyring"),
        "it says why: {}",
        refused.stderr()
    );
    drawbridge_tests::hub::write_spec(
        &home,
        "waiting",
        &serde_json::json!({"command": program, "env": {"K": "${keyring:waiting_K}"}}).to_string(),
    );
    drawbridge_tests::until("the spec is read", || {
        home.cli(&["servers", "accept", "waiting"])
            .code()
            .eq(&0)
            .then_some(())
    });
    hub.policy("probe", "allow");
    assert_eq!(
        hub.client("desk").call("probe__echo", r#"{"a":1}"#).text(),
        r#"{"a":1}"#,
        "the others work"
    );
    assert_eq!(hub.server("waiting")["state"], "needs_secret");
    canary.is_in_no_file_of(&home.data_dir());
    let folder = fs::metadata(home.data_dir()).expect("the data folder");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&folder.permissions()) & 0o777,
        0o700,
        "and it is private"
    );
}
