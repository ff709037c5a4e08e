//! Secrets are in the keyring and in the environment of the server that needs them, and nowhere
//! else.

use std::fs;

use drawbridge_tests::{
    DesktopSession, Home, Hub,
    canary::Canary,
    http::{Request, Url},
    paths,
};
use nix::sys::signal::Signal;

#[test]
fn a_secret_is_only_in_the_keyring_and_in_its_server() {
    let desktop = DesktopSession::without_screen();
    let canary = Canary::new("cli");
    let hub = Hub::serve(&desktop);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    hub.add_server(
        "probe",
        &["--secret", &format!("API_TOKEN={}", canary.value())],
        &[&program, "--noisy"],
    );
    hub.wait_until_synced("probe");
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    assert_eq!(
        client
            .call("probe__variable", r#"{"name":"API_TOKEN"}"#)
            .text(),
        canary.value(),
        "the server gets the secret"
    );
    assert!(
        desktop
            .keyring()
            .items()
            .iter()
            .any(|item| item.value == canary.value()),
        "the keyring contains the secret"
    );
    client.call("probe__crash", "{}");
    let details = desktop
        .cli(&["servers", "show", "probe", "--json"])
        .stdout();
    assert!(
        details.contains("${keyring:"),
        "the spec refers to the keyring: {details}"
    );
    for arguments in [
        ["servers", "list"],
        ["secrets", "list"],
        ["calls", "list"],
        ["logs", "--json"],
        ["policy", "list"],
    ] {
        let output = desktop.cli(&arguments).expect_success();
        assert_eq!(
            canary.find_in(&output.output.stdout),
            None,
            "`drawbridge {}` does not print the secret",
            arguments.join(" ")
        );
    }
    let url = Url::parse(&hub.url).with_path("/health");
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
        canary.find_in(health.expect("a body").as_bytes()),
        None,
        "/health does not contain the secret"
    );
    assert!(
        desktop
            .processes()
            .iter()
            .all(|process| canary.find_in(process.command.as_bytes()).is_none()),
        "no process has the secret in its command line"
    );
    hub.stop(Signal::SIGKILL);
    canary.assert_absent_below(&desktop.data_dir());
    // The home also contains the keyring's own file, which is encrypted.
    canary.assert_absent_below(desktop.path());

    let hub = Hub::serve(&desktop);
    let client = drawbridge_tests::McpClient::connect(&hub.url, &hub.add_client("again"));
    let answer = client.call("probe__variable", r#"{"name":"API_TOKEN"}"#);
    assert_eq!(
        answer.text(),
        canary.value(),
        "the server still gets the secret after a restart"
    );
    desktop
        .cli(&["servers", "remove", "probe"])
        .expect_success();
    assert!(
        desktop
            .keyring()
            .items()
            .iter()
            .all(|item| item.value != canary.value()),
        "the secret is deleted together with its server"
    );
}

#[test]
fn without_a_keyring_only_servers_with_secrets_do_not_start() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    let program = paths::path_text(paths::built_binary("upstream-probe"));
    let canary = Canary::new("absent");
    let rejected = home.cli(&[
        "servers",
        "add",
        "needy",
        "--secret",
        &format!("K={}", canary.value()),
        "--",
        &program,
    ]);
    assert_eq!(
        rejected.exit_code(),
        1,
        "a secret cannot be stored without a keyring"
    );
    assert!(
        rejected.stderr().to_lowercase().contains("keyring"),
        "the error names the keyring: {}",
        rejected.stderr()
    );
    drawbridge_tests::hub::write_spec(
        &home,
        "waiting",
        &serde_json::json!({"command": program, "env": {"K": "${keyring:waiting.K}"}}).to_string(),
    );
    drawbridge_tests::wait_until("the hub has read the spec", || {
        let shown = home.cli(&["servers", "show", "waiting"]);
        (shown.exit_code() == 0).then_some(())
    });
    home.accept_server("waiting");
    hub.set_policy("probe", "allow");
    assert_eq!(
        hub.connect_client("desk")
            .call("probe__echo", r#"{"a":1}"#)
            .text(),
        r#"{"a":1}"#,
        "the other servers work"
    );
    assert_eq!(hub.show_server("waiting")["state"], "needs_secret");
    canary.assert_absent_below(&home.data_dir());
    let metadata = fs::metadata(home.data_dir()).expect("the data folder");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777,
        0o700,
        "only the owner can access the data folder"
    );
}
