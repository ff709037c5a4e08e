//! Sign-in to a remote server: the official SDK's server behind a real authorization server, and a
//! real keyring.

use drawbridge_tests::{
    Desk, Home, Hub,
    canary::Canary,
    places,
    process::Process,
    remote::{Launcher, Remote, browse},
    until,
    wait::yes,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Starts `drawbridge servers sign-in` with a `DISPLAY`, so that it opens a browser.
fn authorize(home: &Home, launcher: &Launcher) -> Process {
    let mut command = home.command(places::built("drawbridge"));
    command
        .args(["servers", "sign-in", "protected", "--data-dir"])
        .arg(home.data_dir());
    command
        .env("PATH", launcher.path(home))
        .env("DISPLAY", ":0");
    Process::start(home, "sign-in", &mut command)
}

fn url_of(process: &mut Process) -> String {
    assert!(process.line().starts_with("Sign in here"));
    process.line()
}

/// Adds the server and signs in through the command line.
fn sign_in(home: &Home, hub: &Hub<'_>, remote: &Remote) {
    home.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    sign_in_again(home, hub);
}

/// Signs in to the existing server.
fn sign_in_again(home: &Home, hub: &Hub<'_>) {
    let launcher = Launcher::new(home);
    let mut authorize = authorize(home, &launcher);
    let page = browse(home, &url_of(&mut authorize));
    assert!(
        page["page"]
            .as_str()
            .is_some_and(|page| page.contains("You can close this window")),
        "{page}"
    );
    let (status, said) = authorize.finish(std::time::Duration::from_secs(20));
    assert!(
        status.success() && said.contains("signed in to protected"),
        "{said} {}",
        authorize.stderr()
    );
    hub.until_synced("protected");
    hub.policy("protected", "allow");
}

/// Returns the values of one kind in the keyring.
fn kept(desk: &Desk, kind: &str) -> Vec<String> {
    let is_it = |item: &drawbridge_tests::keyring::Item| {
        item.attributes
            .values()
            .any(|value| value.starts_with(kind))
    };
    desk.keyring()
        .items()
        .into_iter()
        .filter(is_it)
        .map(|item| item.value)
        .collect()
}

/// Returns the access token and the refresh token in the keyring.
fn tokens(desk: &Desk) -> Vec<String> {
    let whole = kept(desk, "oauth:tokens:").concat();
    let (_, text) = whole.split_once(' ').expect("a value in parts");
    let grant: Value = serde_json::from_str(text).expect("a grant");
    let response = &grant["credentials"]["token_response"];
    ["access_token", "refresh_token"]
        .map(|name| response[name].as_str().expect("a token").to_owned())
        .to_vec()
}

#[test]
fn a_person_signs_in_in_a_browser_and_calls_cross_with_a_token_that_is_in_the_keyring_alone() {
    let mut desk = Desk::without_screen();
    // The tokens must not be logged at the most detailed level either.
    desk.set("DRAWBRIDGE_LOG", "trace");
    let remote = Remote::start(&desk);
    let hub = Hub::serve(&desk);
    desk.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    until("it says that a person has to sign in", || {
        yes(hub.server("protected")["state"] == "needs_sign_in")
    });
    let shown = hub.server("protected");
    assert!(
        shown["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.starts_with("Sign in")),
        "{shown}"
    );
    assert_eq!(shown["authorization"], json!({"kind": "needed"}));
    desk.cli(&["servers", "remove", "protected"]).ok();
    sign_in(&desk, &hub, &remote);

    let client = hub.client("desk");
    let said = client.call("protected__whoami", "{}").text();
    assert!(said.starts_with("client "), "{said}");
    let shown = hub.server("protected");
    assert_eq!(
        (&shown["state"], &shown["authorization"]["kind"]),
        (&json!("active"), &json!("signed_in"))
    );
    assert_eq!(shown["authorization"]["issuer"], json!(remote.issuer));
    assert_eq!(shown["signing_in"]["state"]["kind"], "done");
    let registered = &remote.seen("registrations")[0];
    assert_eq!(
        (&registered["application_type"], &registered["client_name"]),
        (&json!("native"), &json!("Drawbridge"))
    );
    let resources = remote.seen("resources");
    assert!(
        resources
            .as_array()
            .is_some_and(|all| all.iter().all(|named| *named == json!(remote.server))),
        "{resources}"
    );

    let tokens = tokens(&desk);
    assert_eq!(
        kept(&desk, "oauth:client:").len(),
        1,
        "and the registration is beside them"
    );
    hub.end(Signal::SIGTERM);
    for token in tokens {
        let canary = Canary::of(&token);
        canary.is_in_no_file_of(&desk.data_dir());
        canary.is_in_no_file_of(desk.path());
    }
    let hub = Hub::serve(&desk);
    for arguments in [["servers", "list"], ["secrets", "list"], ["logs", "--json"]] {
        let ran = desk.cli(&arguments).ok();
        assert!(
            self::tokens(&desk)
                .iter()
                .all(|token| !ran.stdout().contains(token)),
            "{arguments:?} tells a token"
        );
    }
    let client = drawbridge_tests::McpClient::connect(&hub.url, &hub.token("again"));
    assert_eq!(
        client.call("protected__whoami", "{}").text(),
        said,
        "after a restart it is still signed in"
    );
    assert_eq!(
        remote.seen("registrations").as_array().map(Vec::len),
        Some(1),
        "and registered once"
    );
}

#[test]
fn the_browser_is_opened_through_the_system_with_the_url_alone() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    let _hub = Hub::serve(&desk);
    desk.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    let launcher = Launcher::new(&desk);
    let mut authorize = authorize(&desk, &launcher);
    let url = url_of(&mut authorize);
    let opened = until("the launcher is called", || {
        Some(launcher.opened()).filter(|opened| opened.len() >= 2)
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
fn a_client_metadata_document_is_used_where_the_authorization_server_takes_one() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    let hub = Hub::serve(&desk);
    desk.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    let document = "https://desk.example.com/drawbridge.json";
    let settings = hub.verb(
        "settings.change",
        &json!({"oauth_client_metadata_url": document}),
    );
    assert_eq!(settings["oauth_client_metadata_url"], document);
    let url = || {
        hub.verb("servers.sign_in", &json!({"id": "protected"}))["url"]
            .as_str()
            .expect("a URL")
            .to_owned()
    };
    assert!(
        !url().contains("desk.example.com"),
        "this one does not take documents"
    );
    hub.verb("servers.cancel_sign_in", &json!({"id": "protected"}));
    remote.turn(&json!({"metadata": {"client_id_metadata_document_supported": true}}));
    assert!(
        url().contains("client_id=https%3A%2F%2Fdesk.example.com%2Fdrawbridge.json"),
        "{}",
        url()
    );
    assert_eq!(
        remote.seen("registrations").as_array().map(Vec::len),
        Some(1),
        "only the first was registered"
    );
}

/// Adds the server with a client that a person registered.
fn add_with_client(home: &Home, remote: &Remote, client: &str, has_secret: bool) {
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
    home.cli(&arguments).ok();
}

/// Returns the secret of a client at the authorization server.
fn secret_of(client: &str) -> String {
    format!("{client}: a secret/of the tests")
}

#[test]
fn a_client_that_a_person_registered_signs_in_without_being_registered_and_its_secret_is_in_the_keyring_alone()
 {
    for (client, methods) in [
        ("basic", None),
        ("post", Some("client_secret_post")),
        ("public", None),
    ] {
        let mut desk = Desk::without_screen();
        desk.set("DRAWBRIDGE_LOG", "trace");
        let remote = Remote::start(&desk);
        let mut metadata = json!({"registration_endpoint": null});
        if let Some(method) = methods {
            metadata["token_endpoint_auth_methods_supported"] = json!([method]);
        }
        remote.turn(&json!({"metadata": metadata, "token_lasts": 3}));
        let hub = Hub::serve(&desk);
        add_with_client(&desk, &remote, client, client != "public");
        sign_in_again(&desk, &hub);
        let calls = hub.client("desk");
        until("the token was renewed", || {
            let said = calls.call("protected__whoami", "{}").text();
            assert_eq!(said, format!("client {client}"));
            yes(remote.seen("refresh_token").as_u64() >= Some(1))
        });
        let expected = if client == "public" { "none" } else { client };
        let authenticated = remote.seen("authenticated");
        assert!(
            authenticated
                .as_array()
                .is_some_and(|all| all.iter().all(|how| how == expected)),
            "{authenticated}"
        );
        assert_eq!(remote.seen("registrations"), json!([]));
        let shown = desk.cli(&["servers", "show", "protected"]).ok().stdout();
        assert!(shown.contains(client), "{shown}");
        hub.end(Signal::SIGTERM);
        if client != "public" {
            let canary = Canary::of(&secret_of(client));
            canary.is_in_no_file_of(&desk.data_dir());
            assert_eq!(canary.found_in(shown.as_bytes()), None, "{shown}");
            assert!(
                desk.keyring()
                    .items()
                    .iter()
                    .any(|item| item.value == secret_of(client))
            );
            desk.cli(&["servers", "remove", "protected"]).ok();
            assert!(
                desk.keyring()
                    .items()
                    .iter()
                    .all(|item| item.value != secret_of(client)),
                "it goes with its server"
            );
        }
    }
}

#[test]
fn what_one_client_was_given_is_not_used_by_another() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    let hub = Hub::serve(&desk);
    sign_in(&desk, &hub, &remote);
    desk.cli(&[
        "servers",
        "set",
        "protected",
        r#"oauth={"client_id":"public"}"#,
    ])
    .ok();
    assert!(
        kept(&desk, "oauth:tokens:").is_empty(),
        "the tokens of the client before are forgotten"
    );
    until("a person has to sign in again", || {
        yes(hub.server("protected")["state"] == "needs_sign_in")
    });
    sign_in_again(&desk, &hub);
    assert_eq!(
        hub.client("desk").call("protected__whoami", "{}").text(),
        "client public"
    );
    // An edited file requires acceptance, because another OAuth client changes the identity.
    let spec = json!({"url": remote.server, "oauth": {"client_id": "basic"}});
    drawbridge_tests::hub::write_spec(&desk, "protected", &spec.to_string());
    until("it waits to be accepted", || {
        yes(hub.server("protected")["state"] == "needs_acceptance")
    });
    desk.cli(&["servers", "accept", "protected"]).ok();
    until("a person has to sign in again", || {
        yes(hub.server("protected")["state"] == "needs_sign_in")
    });
}

#[test]
fn a_server_that_demands_another_scope_is_offered_to_sign_in_again_and_gets_both() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    let hub = Hub::serve(&desk);
    sign_in(&desk, &hub, &remote);
    remote.turn(&json!({"scope": "mcp change"}));
    let client = hub.client("desk");
    let refused = client.call("protected__change", "{}");
    assert!(
        refused.is_error() && refused.text().contains("scope 'change'"),
        "{}",
        refused.text()
    );
    let shown = hub.server("protected");
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
        hub.server("protected")["state"],
        "needs_sign_in",
        "and changes nothing about the offer"
    );
    sign_in_again(&desk, &hub);
    let asked = remote.seen("scopes");
    let last = asked
        .as_array()
        .and_then(|all| all.last()?.as_str())
        .expect("a scope was asked for");
    assert!(
        last.contains("mcp") && last.contains("change"),
        "both scopes are asked for: {asked}"
    );
    assert_eq!(client.call("protected__change", "{}").text(), "changed");
    assert_eq!(hub.server("protected")["state"], "active");
}

#[test]
fn a_person_is_not_asked_to_sign_in_again_and_again_for_what_is_not_granted() {
    for demands in [json!("change"), Value::Null] {
        let desk = Desk::without_screen();
        let remote = Remote::start(&desk);
        remote.turn(&json!({"demands": demands}));
        let hub = Hub::serve(&desk);
        sign_in(&desk, &hub, &remote);
        assert!(hub.client("one").call("protected__change", "{}").is_error());
        assert_eq!(hub.server("protected")["state"], "needs_sign_in");
        sign_in_again(&desk, &hub);
        let still_refused = |hub: &Hub<'_>, name: &str| {
            let refused = hub.client(name).call("protected__change", "{}");
            assert!(
                refused.is_error() && refused.text().contains("does not grant it"),
                "{}",
                refused.text()
            );
            assert_eq!(
                hub.server("protected")["state"],
                "active",
                "{demands}: there is nothing to sign in for"
            );
        };
        still_refused(&hub, "two");
        hub.end(Signal::SIGTERM);
        still_refused(&Hub::serve(&desk), "three");
    }
}

#[test]
fn a_token_that_runs_out_is_renewed_without_a_person() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    remote.turn(&json!({"token_lasts": 4}));
    let hub = Hub::serve(&desk);
    sign_in(&desk, &hub, &remote);
    let client = hub.client("desk");
    let first = tokens(&desk);
    until("the token was renewed", || {
        assert!(
            client
                .call("protected__whoami", "{}")
                .text()
                .starts_with("client "),
            "every call crosses"
        );
        yes(remote.seen("refresh_token").as_u64() >= Some(2))
    });
    assert_ne!(tokens(&desk), first, "the keyring has the new one");
    assert_eq!(
        remote.seen("authorization_code"),
        1,
        "no person was asked again"
    );
}

#[test]
fn a_token_that_the_authorization_server_does_not_renew_asks_for_the_person_again() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    remote.turn(&json!({"token_lasts": 2}));
    let hub = Hub::serve(&desk);
    sign_in(&desk, &hub, &remote);
    remote.turn(&json!({"refuse_refresh": true}));
    let client = hub.client("desk");
    let refused = until("the token has run out", || {
        let answer = client.call("protected__whoami", "{}");
        answer.is_error().then(|| answer.text())
    });
    assert!(refused.contains("has to sign in"), "{refused}");
    assert_eq!(hub.server("protected")["state"], "needs_sign_in");
    assert!(
        kept(&desk, "oauth:tokens:").is_empty(),
        "tokens that are of no use are forgotten"
    );
}

#[test]
fn signing_out_forgets_the_tokens_and_calls_no_longer_cross() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    let hub = Hub::serve(&desk);
    sign_in(&desk, &hub, &remote);
    desk.cli(&["servers", "sign-out", "protected"]).ok();
    assert!(kept(&desk, "oauth:tokens:").is_empty());
    until("it wants a person again", || {
        yes(hub.server("protected")["state"] == "needs_sign_in")
    });
    let calls = remote.seen("calls");
    assert!(
        hub.client("desk")
            .call("protected__whoami", "{}")
            .is_error()
    );
    assert_eq!(remote.seen("calls"), calls);
}

#[test]
fn an_answer_of_another_issuer_is_not_redeemed() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    let _hub = Hub::serve(&desk);
    desk.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    remote.turn(&json!({"iss": "https://attacker.example"}));
    let mut authorize = authorize(&desk, &Launcher::new(&desk));
    browse(&desk, &url_of(&mut authorize));
    let (status, _) = authorize.finish(std::time::Duration::from_secs(20));
    assert_eq!(status.code(), Some(1));
    assert!(
        authorize.stderr().contains("issuer mismatch"),
        "{}",
        authorize.stderr()
    );
    assert_eq!(
        remote.seen("authorization_code"),
        0,
        "the code went nowhere"
    );
    assert!(kept(&desk, "oauth:tokens:").is_empty());
}

#[test]
fn a_hostile_authorization_server_opens_nothing_and_leads_nowhere() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    let _hub = Hub::serve(&desk);
    desk.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    let launcher = Launcher::new(&desk);
    let refused = |knobs: &Value| {
        remote.turn(knobs);
        let mut authorize = authorize(&desk, &launcher);
        let (status, said) = authorize.finish(std::time::Duration::from_secs(10));
        assert!(
            status.code() == Some(1) && said.is_empty(),
            "{knobs}: {said}"
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
        launcher.opened().is_empty(),
        "a browser was sent to {:?}",
        launcher.opened()
    );
    assert_eq!(remote.seen("authorization_code"), 0);
    assert_eq!(
        remote.seen("registrations").as_array().map(Vec::len),
        Some(0),
        "and nobody was registered"
    );
}

#[test]
fn without_a_keyring_nobody_is_sent_to_a_browser() {
    let home = Home::new();
    let remote = Remote::start(&home);
    let _hub = Hub::serve(&home);
    home.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    let launcher = Launcher::new(&home);
    let mut authorize = authorize(&home, &launcher);
    let (status, said) = authorize.finish(std::time::Duration::from_secs(15));
    assert!(status.code() == Some(1) && said.is_empty(), "{said}");
    assert!(
        authorize.stderr().to_lowercase().contains("keyring"),
        "it says why: {}",
        authorize.stderr()
    );
    assert!(launcher.opened().is_empty());
}
