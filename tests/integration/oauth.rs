//! Sign-in to a remote server: the official SDK's server behind a real authorization server, and a
//! real keyring.

use drawbridge_tests::{
    DesktopSession, Home, Hub,
    canary::Canary,
    paths,
    process::Process,
    protected_server::{BrowserLauncher, ProtectedServer, sign_in_as_browser},
    wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Starts `drawbridge servers sign-in` with a `DISPLAY`, so that it opens a browser.
fn start_sign_in(home: &Home, launcher: &BrowserLauncher) -> Process {
    let mut command = home.command(paths::built_binary("drawbridge"));
    command
        .args(["servers", "sign-in", "protected", "--data-dir"])
        .arg(home.data_dir());
    command
        .env("PATH", launcher.search_path(home))
        .env("DISPLAY", ":0");
    Process::start(home, "sign-in", &mut command)
}

fn read_url(process: &mut Process) -> String {
    assert!(process.read_line().starts_with("Sign in here"));
    process.read_line()
}

/// Adds the server and signs in through the command line.
fn sign_in(home: &Home, hub: &Hub<'_>, remote: &ProtectedServer) {
    home.cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    sign_in_again(home, hub);
}

/// Signs in to the existing server.
fn sign_in_again(home: &Home, hub: &Hub<'_>) {
    let launcher = BrowserLauncher::new(home);
    let mut authorize = start_sign_in(home, &launcher);
    let page = sign_in_as_browser(home, &read_url(&mut authorize));
    assert!(
        page["page"]
            .as_str()
            .is_some_and(|page| page.contains("You can close this window")),
        "{page}"
    );
    let (status, said) = authorize.wait_until_exit(std::time::Duration::from_secs(20));
    assert!(
        status.success() && said.contains("Signed in to 'protected'"),
        "{said} {}",
        authorize.stderr()
    );
    hub.wait_until_synced("protected");
    hub.set_policy("protected", "allow");
}

/// Returns the values of one kind in the keyring.
fn keyring_values(desktop: &DesktopSession, kind: &str) -> Vec<String> {
    let is_it = |item: &drawbridge_tests::keyring::KeyringItem| {
        item.attributes
            .values()
            .any(|value| value.starts_with(kind))
    };
    desktop
        .keyring()
        .items()
        .into_iter()
        .filter(is_it)
        .map(|item| item.value)
        .collect()
}

/// Returns the access token and the refresh token in the keyring.
fn stored_tokens(desktop: &DesktopSession) -> Vec<String> {
    let whole = keyring_values(desktop, "oauth:tokens:").concat();
    let (_, text) = whole.split_once(' ').expect("a value in parts");
    let grant: Value = serde_json::from_str(text).expect("a grant");
    let response = &grant["credentials"]["token_response"];
    ["access_token", "refresh_token"]
        .map(|name| response[name].as_str().expect("a token").to_owned())
        .to_vec()
}

#[test]
fn a_person_signs_in_in_a_browser_and_the_token_is_only_in_the_keyring() {
    let mut desktop = DesktopSession::without_screen();
    // The tokens must not be logged at the most detailed level either.
    desktop.set_variable("DRAWBRIDGE_LOG", "trace");
    let remote = ProtectedServer::start(&desktop);
    let hub = Hub::serve(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    wait_until("it says that a person has to sign in", || {
        some_if(hub.show_server("protected")["state"] == "needs_sign_in")
    });
    let shown = hub.show_server("protected");
    assert!(
        shown["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.starts_with("Sign in")),
        "{shown}"
    );
    assert_eq!(shown["authorization"], json!({"kind": "needed"}));
    desktop
        .cli(&["servers", "remove", "protected"])
        .expect_success();
    sign_in(&desktop, &hub, &remote);

    let client = hub.connect_client("desk");
    let said = client.call("protected__whoami", "{}").text();
    assert!(said.starts_with("client "), "{said}");
    let shown = hub.show_server("protected");
    assert_eq!(
        (&shown["state"], &shown["authorization"]["kind"]),
        (&json!("active"), &json!("signed_in"))
    );
    assert_eq!(shown["authorization"]["issuer"], json!(remote.issuer));
    assert_eq!(shown["signing_in"]["state"]["kind"], "done");
    let registered = &remote.recorded("registrations")[0];
    assert_eq!(
        (&registered["application_type"], &registered["client_name"]),
        (&json!("native"), &json!("Drawbridge"))
    );
    let resources = remote.recorded("requested_resources");
    assert!(
        resources
            .as_array()
            .is_some_and(|all| all.iter().all(|named| *named == json!(remote.server))),
        "{resources}"
    );

    let tokens = stored_tokens(&desktop);
    assert_eq!(
        keyring_values(&desktop, "oauth:client:").len(),
        1,
        "and the registration is beside them"
    );
    hub.stop(Signal::SIGTERM);
    for token in tokens {
        let canary = Canary::from_secret(&token);
        canary.assert_absent_below(&desktop.data_dir());
        canary.assert_absent_below(desktop.path());
    }
    let hub = Hub::serve(&desktop);
    for arguments in [["servers", "list"], ["secrets", "list"], ["logs", "--json"]] {
        let ran = desktop.cli(&arguments).expect_success();
        assert!(
            stored_tokens(&desktop)
                .iter()
                .all(|token| !ran.stdout().contains(token)),
            "{arguments:?} tells a token"
        );
    }
    let client = drawbridge_tests::McpClient::connect(&hub.url, &hub.add_client("again"));
    assert_eq!(
        client.call("protected__whoami", "{}").text(),
        said,
        "after a restart it is still signed in"
    );
    assert_eq!(
        remote.recorded("registrations").as_array().map(Vec::len),
        Some(1),
        "and registered once"
    );
}

#[test]
fn the_system_opens_the_browser_with_only_the_url() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let _hub = Hub::serve(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    let launcher = BrowserLauncher::new(&desktop);
    let mut authorize = start_sign_in(&desktop, &launcher);
    let url = read_url(&mut authorize);
    let opened = wait_until("the launcher is called", || {
        Some(launcher.recorded_runs()).filter(|opened| opened.len() >= 2)
    });
    assert_eq!(opened, ["1".to_owned(), url.clone()]);
    for part in [
        "code_challenge_method=S256",
        "redirect_uri=http%3A%2F%2F127.0.0.1%3A",
        "resource=",
        "state=",
    ] {
        assert!(url.contains(part), "{part} is missing: {url}");
    }
}

#[test]
fn a_client_metadata_document_is_used_if_the_authorization_server_supports_it() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let hub = Hub::serve(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    let document = "https://desk.example.com/drawbridge.json";
    let settings = hub.run_verb(
        "settings.change",
        &json!({"oauth_client_metadata_url": document}),
    );
    assert_eq!(settings["oauth_client_metadata_url"], document);
    let url = || {
        hub.run_verb("servers.sign_in", &json!({"id": "protected"}))["url"]
            .as_str()
            .expect("a URL")
            .to_owned()
    };
    assert!(
        !url().contains("desk.example.com"),
        "this one does not take documents"
    );
    hub.run_verb("servers.cancel_sign_in", &json!({"id": "protected"}));
    remote.configure(&json!({"metadata": {"client_id_metadata_document_supported": true}}));
    assert!(
        url().contains("client_id=https%3A%2F%2Fdesk.example.com%2Fdrawbridge.json"),
        "{}",
        url()
    );
    assert_eq!(
        remote.recorded("registrations").as_array().map(Vec::len),
        Some(1),
        "only the first was registered"
    );
}

/// Adds the server with a client that a person registered.
fn add_with_client(home: &Home, remote: &ProtectedServer, client: &str, has_secret: bool) {
    let mut arguments = vec![
        "servers",
        "add",
        "protected",
        "--url",
        &remote.server,
        "--oauth-client-id",
        client,
    ];
    let secret = secret_of(client);
    if has_secret {
        arguments.extend(["--oauth-client-secret", &secret]);
    }
    home.cli(&arguments).expect_success();
}

/// Returns the secret of a client at the authorization server.
fn secret_of(client: &str) -> String {
    format!("{client}: a secret/of the tests")
}

#[test]
fn a_preregistered_client_signs_in_and_its_secret_is_only_in_the_keyring() {
    for (client, methods) in [
        ("basic", None),
        ("post", Some("client_secret_post")),
        ("public", None),
    ] {
        let mut desktop = DesktopSession::without_screen();
        desktop.set_variable("DRAWBRIDGE_LOG", "trace");
        let remote = ProtectedServer::start(&desktop);
        let mut metadata = json!({"registration_endpoint": null});
        if let Some(method) = methods {
            metadata["token_endpoint_auth_methods_supported"] = json!([method]);
        }
        remote.configure(&json!({"metadata": metadata, "token_lifetime": 3}));
        let hub = Hub::serve(&desktop);
        add_with_client(&desktop, &remote, client, client != "public");
        sign_in_again(&desktop, &hub);
        let calls = hub.connect_client("desk");
        wait_until("the token was renewed", || {
            let said = calls.call("protected__whoami", "{}").text();
            assert_eq!(said, format!("client {client}"));
            some_if(remote.recorded("refresh_token").as_u64() >= Some(1))
        });
        let expected = if client == "public" { "none" } else { client };
        let authenticated = remote.recorded("token_authentication");
        assert!(
            authenticated
                .as_array()
                .is_some_and(|all| all.iter().all(|how| how == expected)),
            "{authenticated}"
        );
        assert_eq!(remote.recorded("registrations"), json!([]));
        let shown = desktop
            .cli(&["servers", "show", "protected"])
            .expect_success()
            .stdout();
        assert!(shown.contains(client), "{shown}");
        hub.stop(Signal::SIGTERM);
        if client != "public" {
            let canary = Canary::from_secret(&secret_of(client));
            canary.assert_absent_below(&desktop.data_dir());
            assert_eq!(canary.find_in(shown.as_bytes()), None, "{shown}");
            assert!(
                desktop
                    .keyring()
                    .items()
                    .iter()
                    .any(|item| item.value == secret_of(client))
            );
            desktop
                .cli(&["servers", "remove", "protected"])
                .expect_success();
            assert!(
                desktop
                    .keyring()
                    .items()
                    .iter()
                    .all(|item| item.value != secret_of(client)),
                "it goes with its server"
            );
        }
    }
}

#[test]
fn tokens_of_one_client_are_not_used_by_another() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let hub = Hub::serve(&desktop);
    sign_in(&desktop, &hub, &remote);
    desktop
        .cli(&[
            "servers",
            "set",
            "protected",
            r#"oauth={"client_id":"public"}"#,
        ])
        .expect_success();
    assert!(
        keyring_values(&desktop, "oauth:tokens:").is_empty(),
        "the tokens of the client before are forgotten"
    );
    wait_until("a person has to sign in again", || {
        some_if(hub.show_server("protected")["state"] == "needs_sign_in")
    });
    sign_in_again(&desktop, &hub);
    assert_eq!(
        hub.connect_client("desk")
            .call("protected__whoami", "{}")
            .text(),
        "client public"
    );
    // An edited file requires acceptance, because another OAuth client changes the identity.
    let spec = json!({"url": remote.server, "oauth": {"client_id": "basic"}});
    drawbridge_tests::hub::write_spec(&desktop, "protected", &spec.to_string());
    wait_until("it waits to be accepted", || {
        some_if(hub.show_server("protected")["state"] == "needs_acceptance")
    });
    desktop
        .cli(&["servers", "accept", "protected"])
        .expect_success();
    wait_until("a person has to sign in again", || {
        some_if(hub.show_server("protected")["state"] == "needs_sign_in")
    });
}

#[test]
fn a_new_sign_in_for_another_scope_requests_both_scopes() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let hub = Hub::serve(&desktop);
    sign_in(&desktop, &hub, &remote);
    remote.configure(&json!({"scope": "mcp change"}));
    let client = hub.connect_client("desk");
    let refused = client.call("protected__change", "{}");
    assert!(
        refused.is_error() && refused.text().contains("scope 'change'"),
        "{}",
        refused.text()
    );
    let shown = hub.show_server("protected");
    assert_eq!(shown["state"], "needs_sign_in", "{shown}");
    assert!(
        shown["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("scope 'change'")),
        "{shown}"
    );
    assert!(
        shown["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.starts_with("Sign in")),
        "{shown}"
    );
    assert!(
        !client.call("protected__whoami", "{}").is_error(),
        "what needs no more rights goes on"
    );
    assert_eq!(
        hub.show_server("protected")["state"],
        "needs_sign_in",
        "and changes nothing about the offer"
    );
    sign_in_again(&desktop, &hub);
    let asked = remote.recorded("requested_scopes");
    let last = asked
        .as_array()
        .and_then(|all| all.last()?.as_str())
        .expect("a scope was asked for");
    assert!(
        last.contains("mcp") && last.contains("change"),
        "both scopes are asked for: {asked}"
    );
    assert_eq!(client.call("protected__change", "{}").text(), "changed");
    assert_eq!(hub.show_server("protected")["state"], "active");
}

#[test]
fn a_denied_scope_does_not_cause_repeated_sign_ins() {
    for demands in [json!("change"), Value::Null] {
        let desktop = DesktopSession::without_screen();
        let remote = ProtectedServer::start(&desktop);
        remote.configure(&json!({"demanded_scope": demands}));
        let hub = Hub::serve(&desktop);
        sign_in(&desktop, &hub, &remote);
        assert!(
            hub.connect_client("one")
                .call("protected__change", "{}")
                .is_error()
        );
        assert_eq!(hub.show_server("protected")["state"], "needs_sign_in");
        sign_in_again(&desktop, &hub);
        let still_refused = |hub: &Hub<'_>, name: &str| {
            let refused = hub.connect_client(name).call("protected__change", "{}");
            assert!(
                refused.is_error() && refused.text().contains("did not grant"),
                "{}",
                refused.text()
            );
            assert_eq!(
                hub.show_server("protected")["state"],
                "active",
                "{demands}: there is nothing to sign in for"
            );
        };
        still_refused(&hub, "two");
        hub.stop(Signal::SIGTERM);
        still_refused(&Hub::serve(&desktop), "three");
    }
}

#[test]
fn an_expired_token_is_refreshed_automatically() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    remote.configure(&json!({"token_lifetime": 4}));
    let hub = Hub::serve(&desktop);
    sign_in(&desktop, &hub, &remote);
    let client = hub.connect_client("desk");
    let first = stored_tokens(&desktop);
    wait_until("the token was renewed", || {
        assert!(
            client
                .call("protected__whoami", "{}")
                .text()
                .starts_with("client "),
            "every call crosses"
        );
        some_if(remote.recorded("refresh_token").as_u64() >= Some(2))
    });
    assert_ne!(
        stored_tokens(&desktop),
        first,
        "the keyring has the new one"
    );
    assert_eq!(
        remote.recorded("authorization_code"),
        1,
        "no person was asked again"
    );
}

#[test]
fn a_failed_refresh_requires_a_new_sign_in() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    remote.configure(&json!({"token_lifetime": 2}));
    let hub = Hub::serve(&desktop);
    sign_in(&desktop, &hub, &remote);
    remote.configure(&json!({"refuse_refresh": true}));
    let client = hub.connect_client("desk");
    let refused = wait_until("the token has run out", || {
        let answer = client.call("protected__whoami", "{}");
        answer.is_error().then(|| answer.text())
    });
    assert!(refused.contains("requires a sign-in"), "{refused}");
    assert_eq!(hub.show_server("protected")["state"], "needs_sign_in");
    assert!(
        keyring_values(&desktop, "oauth:tokens:").is_empty(),
        "tokens that are of no use are forgotten"
    );
}

#[test]
fn signing_out_deletes_the_tokens_and_calls_fail() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let hub = Hub::serve(&desktop);
    sign_in(&desktop, &hub, &remote);
    desktop
        .cli(&["servers", "sign-out", "protected"])
        .expect_success();
    assert!(keyring_values(&desktop, "oauth:tokens:").is_empty());
    wait_until("it wants a person again", || {
        some_if(hub.show_server("protected")["state"] == "needs_sign_in")
    });
    let calls = remote.recorded("calls");
    assert!(
        hub.connect_client("desk")
            .call("protected__whoami", "{}")
            .is_error()
    );
    assert_eq!(remote.recorded("calls"), calls);
}

#[test]
fn a_code_from_another_issuer_is_not_redeemed() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let _hub = Hub::serve(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    remote.configure(&json!({"iss": "https://attacker.example"}));
    let mut authorize = start_sign_in(&desktop, &BrowserLauncher::new(&desktop));
    sign_in_as_browser(&desktop, &read_url(&mut authorize));
    let (status, _) = authorize.wait_until_exit(std::time::Duration::from_secs(20));
    assert_eq!(status.code(), Some(1));
    assert!(
        authorize.stderr().contains("issuer mismatch"),
        "{}",
        authorize.stderr()
    );
    assert_eq!(
        remote.recorded("authorization_code"),
        0,
        "the code went nowhere"
    );
    assert!(keyring_values(&desktop, "oauth:tokens:").is_empty());
}

#[test]
fn a_hostile_authorization_server_opens_no_browser_and_gets_no_requests() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let _hub = Hub::serve(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    let launcher = BrowserLauncher::new(&desktop);
    let refused = |settings: &Value| {
        remote.configure(settings);
        let mut authorize = start_sign_in(&desktop, &launcher);
        let (status, said) = authorize.wait_until_exit(std::time::Duration::from_secs(10));
        assert!(
            status.code() == Some(1) && said.is_empty(),
            "{settings}: {said}"
        );
        authorize.stderr()
    };
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://auth.example.com/authorize",
        "https://auth.example.com/$(touch${IFS}x)",
        "https://auth.example.com/;touch",
        "https://auth.example.com/'touch'",
        "https://user:word@auth.example.com/",
        "http://10.0.0.1/authorize",
        "https://192.168.1.1/authorize",
    ] {
        let said = refused(&json!({"metadata": {"authorization_endpoint": url}}));
        assert!(said.contains("cannot sign in"), "{url}: {said}");
    }
    for endpoint in ["token_endpoint", "registration_endpoint"] {
        for url in [
            "https://10.0.0.1/x",
            "https://169.254.169.254/latest",
            "http://auth.example.com/x",
            "file:///x",
        ] {
            refused(&json!({"metadata": {endpoint: url}}));
        }
    }
    for server in [
        "https://10.0.0.1",
        "http://169.254.169.254",
        "file:///etc",
        "javascript:alert(1)",
    ] {
        refused(&json!({"metadata": {}, "authorization_servers": [server]}));
    }
    refused(
        &json!({"authorization_servers": [remote.issuer], "metadata": {"issuer": "https://attacker.example"}}),
    );
    refused(&json!({"metadata": {"code_challenge_methods_supported": ["plain"]}}));
    assert!(
        launcher.recorded_runs().is_empty(),
        "a browser was sent to {:?}",
        launcher.recorded_runs()
    );
    assert_eq!(remote.recorded("authorization_code"), 0);
    assert_eq!(
        remote.recorded("registrations").as_array().map(Vec::len),
        Some(0),
        "and nobody was registered"
    );
}

#[test]
fn without_a_keyring_no_browser_is_opened() {
    let home = Home::new();
    let remote = ProtectedServer::start(&home);
    let _hub = Hub::serve(&home);
    home.cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    let launcher = BrowserLauncher::new(&home);
    let mut authorize = start_sign_in(&home, &launcher);
    let (status, said) = authorize.wait_until_exit(std::time::Duration::from_secs(15));
    assert!(status.code() == Some(1) && said.is_empty(), "{said}");
    assert!(
        authorize.stderr().to_lowercase().contains("keyring"),
        "it says why: {}",
        authorize.stderr()
    );
    assert!(launcher.recorded_runs().is_empty());
}
