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

fn read_sign_in_url(process: &mut Process) -> String {
    assert!(process.read_line().starts_with("Sign in here"));
    process.read_line()
}

/// Returns the details of the audit log's entries of a kind, newest first.
fn list_entries(home: &Home, kind: &str) -> Vec<Value> {
    let page = home
        .cli(&["audit", "list", "--kind", kind, "--json"])
        .expect_json();
    let entries = page["entries"].as_array().expect("entries");
    entries.iter().map(|entry| entry["body"].clone()).collect()
}

/// Adds the server and signs in through the command line.
fn sign_in(home: &Home, hub: &Hub<'_>, remote: &ProtectedServer) {
    home.cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    sign_in_to_existing(home, hub);
}

/// Signs in through the command line to a server that was added before.
fn sign_in_to_existing(home: &Home, hub: &Hub<'_>) {
    let launcher = BrowserLauncher::new(home);
    let mut sign_in_process = start_sign_in(home, &launcher);
    let page = sign_in_as_browser(home, &read_sign_in_url(&mut sign_in_process));
    assert!(
        page["page"]
            .as_str()
            .is_some_and(|page| page.contains("You can close this window")),
        "{page}"
    );
    let (status, output) = sign_in_process.wait_until_exit(std::time::Duration::from_secs(20));
    assert!(
        status.success() && output.contains("Signed in to 'protected'"),
        "{output} {}",
        sign_in_process.stderr()
    );
    hub.wait_until_synced("protected");
    hub.set_policy("protected", "allow");
}

/// Returns the values of one kind in the keyring.
fn read_keyring_values(desktop: &DesktopSession, kind: &str) -> Vec<String> {
    let is_of_kind = |item: &drawbridge_tests::keyring::KeyringItem| {
        item.attributes
            .values()
            .any(|value| value.starts_with(kind))
    };
    desktop
        .keyring()
        .items()
        .into_iter()
        .filter(is_of_kind)
        .map(|item| item.value)
        .collect()
}

/// Returns the access token and the refresh token in the keyring.
fn read_stored_tokens(desktop: &DesktopSession) -> Vec<String> {
    let stored = read_keyring_values(desktop, "oauth:tokens:").concat();
    // A long value is stored in parts. The first part begins with the number of parts and a space.
    let (_, text) = stored
        .split_once(' ')
        .expect("the number of parts, and the grant");
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
    wait_until("the server needs a sign-in", || {
        some_if(hub.show_server("protected")["state"] == "needs_sign_in")
    });
    let server = hub.show_server("protected");
    assert!(
        server["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.starts_with("Sign in")),
        "{server}"
    );
    assert_eq!(server["sign_in"], json!({"kind": "needed"}));
    desktop
        .cli(&["servers", "remove", "protected"])
        .expect_success();
    sign_in(&desktop, &hub, &remote);

    let client = hub.connect_client("desk");
    let identity = client.call("protected__whoami", "{}").text();
    assert!(identity.starts_with("client "), "{identity}");
    let server = hub.show_server("protected");
    assert_eq!(
        (&server["state"], &server["sign_in"]["kind"]),
        (&json!("active"), &json!("signed_in"))
    );
    assert_eq!(server["sign_in"]["issuer"], json!(remote.issuer));
    assert_eq!(server["signing_in"]["state"]["kind"], "done");
    let registration = &remote.recorded("registrations")[0];
    assert_eq!(
        (
            &registration["application_type"],
            &registration["client_name"]
        ),
        (&json!("native"), &json!("Drawbridge"))
    );
    let resources = remote.recorded("requested_resources");
    assert!(
        resources.as_array().is_some_and(|requested| requested
            .iter()
            .all(|resource| *resource == json!(remote.server))),
        "{resources}"
    );

    let tokens = read_stored_tokens(&desktop);
    assert_eq!(
        read_keyring_values(&desktop, "oauth:client:").len(),
        1,
        "the registration is in the keyring too"
    );
    hub.stop(Signal::SIGTERM);
    for token in tokens {
        let canary = Canary::from_secret(&token);
        canary.assert_absent_below(&desktop.data_dir());
        canary.assert_absent_below(desktop.path());
    }
    let hub = Hub::serve(&desktop);
    for arguments in [["servers", "list"], ["secrets", "list"], ["logs", "--json"]] {
        let output = desktop.cli(&arguments).expect_success();
        assert!(
            read_stored_tokens(&desktop)
                .iter()
                .all(|token| !output.stdout().contains(token)),
            "{arguments:?} prints a token"
        );
    }
    let client = drawbridge_tests::McpClient::connect(&hub.url, &hub.add_client("again"));
    assert_eq!(
        client.call("protected__whoami", "{}").text(),
        identity,
        "the tokens are still used after a restart"
    );
    assert_eq!(
        remote.recorded("registrations").as_array().map(Vec::len),
        Some(1),
        "the client is registered only once"
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
    let mut sign_in_process = start_sign_in(&desktop, &launcher);
    let url = read_sign_in_url(&mut sign_in_process);
    let opened = wait_until("the launcher is called", || {
        Some(launcher.recorded_lines()).filter(|opened| opened.len() >= 2)
    });
    // The launcher records the number of its arguments, and then the arguments.
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
    let begin_sign_in = || {
        hub.run_verb("servers.sign_in", &json!({"id": "protected"}))["url"]
            .as_str()
            .expect("a URL")
            .to_owned()
    };
    assert!(
        !begin_sign_in().contains("desk.example.com"),
        "an authorization server without support gets no metadata document"
    );
    hub.run_verb("servers.cancel_sign_in", &json!({"id": "protected"}));
    remote.configure(&json!({"metadata": {"client_id_metadata_document_supported": true}}));
    assert!(
        begin_sign_in().contains("client_id=https%3A%2F%2Fdesk.example.com%2Fdrawbridge.json"),
        "{}",
        begin_sign_in()
    );
    assert_eq!(
        remote.recorded("registrations").as_array().map(Vec::len),
        Some(1),
        "only the first client was registered"
    );
}

/// Adds the server with an OAuth client that a person has registered.
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
    let secret = client_secret(client);
    if has_secret {
        arguments.extend(["--oauth-client-secret", &secret]);
    }
    home.cli(&arguments).expect_success();
}

/// Returns the secret of an OAuth client at the authorization server.
fn client_secret(client: &str) -> String {
    format!("{client}: a secret/of the tests")
}

#[test]
fn a_preregistered_client_signs_in_and_its_secret_is_only_in_the_keyring() {
    // The authorization server knows these clients, which are named after their authentication.
    for (client, method) in [
        ("basic", None),
        ("post", Some("client_secret_post")),
        ("public", None),
    ] {
        let mut desktop = DesktopSession::without_screen();
        desktop.set_variable("DRAWBRIDGE_LOG", "trace");
        let remote = ProtectedServer::start(&desktop);
        let mut metadata = json!({"registration_endpoint": null});
        if let Some(method) = method {
            metadata["token_endpoint_auth_methods_supported"] = json!([method]);
        }
        remote.configure(&json!({"metadata": metadata, "token_lifetime": 3}));
        let hub = Hub::serve(&desktop);
        add_with_client(&desktop, &remote, client, client != "public");
        sign_in_to_existing(&desktop, &hub);
        let mcp_client = hub.connect_client("desk");
        wait_until("the token was refreshed", || {
            let identity = mcp_client.call("protected__whoami", "{}").text();
            assert_eq!(identity, format!("client {client}"));
            some_if(remote.recorded("refresh_token").as_u64() >= Some(1))
        });
        let expected = if client == "public" { "none" } else { client };
        let auth_methods = remote.recorded("token_authentication");
        assert!(
            auth_methods
                .as_array()
                .is_some_and(|used| used.iter().all(|method| method == expected)),
            "{auth_methods}"
        );
        assert_eq!(remote.recorded("registrations"), json!([]));
        let details = desktop
            .cli(&["servers", "show", "protected"])
            .expect_success()
            .stdout();
        assert!(details.contains(client), "{details}");
        hub.stop(Signal::SIGTERM);
        if client != "public" {
            let canary = Canary::from_secret(&client_secret(client));
            canary.assert_absent_below(&desktop.data_dir());
            assert_eq!(canary.find_in(details.as_bytes()), None, "{details}");
            assert!(
                desktop
                    .keyring()
                    .items()
                    .iter()
                    .any(|item| item.value == client_secret(client))
            );
            desktop
                .cli(&["servers", "remove", "protected"])
                .expect_success();
            assert!(
                desktop
                    .keyring()
                    .items()
                    .iter()
                    .all(|item| item.value != client_secret(client)),
                "the secret is deleted together with its server"
            );
        }
    }
}

#[test]
fn tokens_of_one_oauth_client_are_not_used_by_another_oauth_client() {
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
        read_keyring_values(&desktop, "oauth:tokens:").is_empty(),
        "the tokens of the previous client are deleted"
    );
    wait_until("a person has to sign in again", || {
        some_if(hub.show_server("protected")["state"] == "needs_sign_in")
    });
    sign_in_to_existing(&desktop, &hub);
    assert_eq!(
        hub.connect_client("desk")
            .call("protected__whoami", "{}")
            .text(),
        "client public"
    );
    // An edited file requires acceptance, because another OAuth client changes the identity.
    let spec = json!({"url": remote.server, "oauth": {"client_id": "basic"}});
    drawbridge_tests::hub::write_spec(&desktop, "protected", &spec.to_string());
    wait_until("the server waits for acceptance", || {
        some_if(hub.show_server("protected")["state"] == "needs_acceptance")
    });
    desktop.accept_server("protected");
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
    remote.configure(&json!({"grantable_scope": "mcp change"}));
    let client = hub.connect_client("desk");
    let rejected = client.call("protected__change", "{}");
    assert!(
        rejected.is_error() && rejected.text().contains("scope 'change'"),
        "{}",
        rejected.text()
    );
    let server = hub.show_server("protected");
    assert_eq!(server["state"], "needs_sign_in", "{server}");
    assert!(
        server["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("scope 'change'")),
        "{server}"
    );
    assert!(
        server["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.starts_with("Sign in")),
        "{server}"
    );
    assert!(
        !client.call("protected__whoami", "{}").is_error(),
        "a call that needs no other scope succeeds"
    );
    assert_eq!(
        hub.show_server("protected")["state"],
        "needs_sign_in",
        "a call that needs no other scope does not change the state"
    );
    sign_in_to_existing(&desktop, &hub);
    let requested_scopes = remote.recorded("requested_scopes");
    let last_scope = requested_scopes
        .as_array()
        .and_then(|scopes| scopes.last()?.as_str())
        .expect("a requested scope");
    assert!(
        last_scope.contains("mcp") && last_scope.contains("change"),
        "both scopes are requested: {requested_scopes}"
    );
    assert_eq!(client.call("protected__change", "{}").text(), "changed");
    assert_eq!(hub.show_server("protected")["state"], "active");
}

#[test]
fn a_scope_that_is_not_granted_does_not_cause_repeated_sign_ins() {
    // The authorization server grants only the scope `mcp`.
    for demanded_scope in [json!("change"), Value::Null] {
        let desktop = DesktopSession::without_screen();
        let remote = ProtectedServer::start(&desktop);
        remote.configure(&json!({"demanded_scope": demanded_scope}));
        let hub = Hub::serve(&desktop);
        sign_in(&desktop, &hub, &remote);
        assert!(
            hub.connect_client("one")
                .call("protected__change", "{}")
                .is_error()
        );
        assert_eq!(hub.show_server("protected")["state"], "needs_sign_in");
        sign_in_to_existing(&desktop, &hub);
        let assert_rejected = |hub: &Hub<'_>, name: &str| {
            let answer = hub.connect_client(name).call("protected__change", "{}");
            assert!(
                answer.is_error() && answer.text().contains("did not grant"),
                "{}",
                answer.text()
            );
            assert_eq!(
                hub.show_server("protected")["state"],
                "active",
                "{demanded_scope}: another sign-in is not offered"
            );
        };
        assert_rejected(&hub, "two");
        hub.stop(Signal::SIGTERM);
        assert_rejected(&Hub::serve(&desktop), "three");
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
    let first_tokens = read_stored_tokens(&desktop);
    wait_until("the token was refreshed", || {
        assert!(
            client
                .call("protected__whoami", "{}")
                .text()
                .starts_with("client "),
            "every call succeeds"
        );
        some_if(remote.recorded("refresh_token").as_u64() >= Some(2))
    });
    assert_ne!(
        read_stored_tokens(&desktop),
        first_tokens,
        "the keyring contains the new tokens"
    );
    assert_eq!(
        remote.recorded("authorization_code"),
        1,
        "the person signed in only once"
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
    let error = wait_until("the token has expired", || {
        let answer = client.call("protected__whoami", "{}");
        answer.is_error().then(|| answer.text())
    });
    assert!(error.contains("requires a sign-in"), "{error}");
    assert_eq!(hub.show_server("protected")["state"], "needs_sign_in");
    assert!(
        read_keyring_values(&desktop, "oauth:tokens:").is_empty(),
        "useless tokens are deleted"
    );
    let [signed_out] = &list_entries(&desktop, "signed_out")[..] else {
        panic!("the audit log has one sign-out")
    };
    assert_eq!(
        signed_out["reason"],
        "the authorization server refused to refresh the token"
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
    assert!(read_keyring_values(&desktop, "oauth:tokens:").is_empty());
    let signed_in = list_entries(&desktop, "signed_in");
    let signed_out = list_entries(&desktop, "signed_out");
    assert_eq!(signed_in[0]["server"], "protected");
    assert_eq!(
        signed_out,
        [json!({
            "url": signed_in[0]["url"],
            "issuer": signed_in[0]["issuer"],
            "reason": "a person signed out",
        })]
    );
    wait_until("the server needs a sign-in again", || {
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
    let mut sign_in_process = start_sign_in(&desktop, &BrowserLauncher::new(&desktop));
    sign_in_as_browser(&desktop, &read_sign_in_url(&mut sign_in_process));
    let (status, _) = sign_in_process.wait_until_exit(std::time::Duration::from_secs(20));
    assert_eq!(status.code(), Some(1));
    assert!(
        sign_in_process.stderr().contains("issuer mismatch"),
        "{}",
        sign_in_process.stderr()
    );
    assert_eq!(
        remote.recorded("authorization_code"),
        0,
        "the code was not redeemed"
    );
    assert!(read_keyring_values(&desktop, "oauth:tokens:").is_empty());
}

#[test]
fn a_hostile_authorization_server_opens_no_browser_and_gets_no_codes_or_registrations() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let _hub = Hub::serve(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    let launcher = BrowserLauncher::new(&desktop);
    let expect_rejection = |settings: &Value| {
        remote.configure(settings);
        let mut sign_in_process = start_sign_in(&desktop, &launcher);
        let (status, output) = sign_in_process.wait_until_exit(std::time::Duration::from_secs(10));
        assert!(
            status.code() == Some(1) && output.is_empty(),
            "{settings}: {output}"
        );
        sign_in_process.stderr()
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
        let output = expect_rejection(&json!({"metadata": {"authorization_endpoint": url}}));
        assert!(output.contains("cannot sign in"), "{url}: {output}");
    }
    for endpoint in ["token_endpoint", "registration_endpoint"] {
        for url in [
            "https://10.0.0.1/x",
            "https://169.254.169.254/latest",
            "http://auth.example.com/x",
            "file:///x",
        ] {
            expect_rejection(&json!({"metadata": {endpoint: url}}));
        }
    }
    for server in [
        "https://10.0.0.1",
        "http://169.254.169.254",
        "file:///etc",
        "javascript:alert(1)",
    ] {
        expect_rejection(&json!({"metadata": {}, "authorization_servers": [server]}));
    }
    expect_rejection(
        &json!({"authorization_servers": [remote.issuer], "metadata": {"issuer": "https://attacker.example"}}),
    );
    expect_rejection(&json!({"metadata": {"code_challenge_methods_supported": ["plain"]}}));
    assert!(
        launcher.recorded_lines().is_empty(),
        "a browser was opened with {:?}",
        launcher.recorded_lines()
    );
    assert_eq!(remote.recorded("authorization_code"), 0);
    assert_eq!(
        remote.recorded("registrations").as_array().map(Vec::len),
        Some(0),
        "no client was registered"
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
    let mut sign_in_process = start_sign_in(&home, &launcher);
    let (status, output) = sign_in_process.wait_until_exit(std::time::Duration::from_secs(15));
    assert!(status.code() == Some(1) && output.is_empty(), "{output}");
    assert!(
        sign_in_process.stderr().to_lowercase().contains("keyring"),
        "the error names the keyring: {}",
        sign_in_process.stderr()
    );
    assert!(launcher.recorded_lines().is_empty());
}
