//! Headless use: set up from the shell, used by real clients, with decisions from the shell or in a
//! browser.

use drawbridge_tests::{
    Desk, Hub, browser,
    clients::{Client, Door, Sdk},
};
use serde_json::json;

use crate::app;

/// Starts a hub with a public server, and adds a client.
fn serve(desk: &Desk) -> (Hub<'_>, Door) {
    let token = app::provision(desk, "everything", &app::everything());
    let hub = Hub::serve(desk);
    let door = Door {
        url: hub.url.clone(),
        token,
    };
    (hub, door)
}

/// Returns the one-time login link for a browser.
fn link(desk: &Desk) -> String {
    let printed = desk.cli(&["open", "--print"]).ok().stdout();
    let link = printed.trim().to_owned();
    assert!(
        link.starts_with("http://") && link.contains("#login="),
        "a login link: {link}"
    );
    link
}

#[test]
fn both_sdks_call_and_are_decided_from_the_shell() {
    let desk = Desk::without_screen();
    let (hub, door) = serve(&desk);
    for sdk in [Sdk::Python, Sdk::TypeScript] {
        let tools = Client::tools(&desk, sdk, &door);
        assert!(
            tools.contains(&"everything__get-sum".to_owned()),
            "{sdk:?} lists {tools:?}"
        );
        let call = Client::call(
            &desk,
            sdk,
            &door,
            "everything__get-sum",
            &json!({"a": 2, "b": 40}),
        );
        let asked = hub.approval();
        assert_eq!(
            (&asked["client"], &asked["tool"]),
            (&json!("typescript"), &json!("get-sum"))
        );
        desk.cli(&["approvals", "approve", asked["id"].as_str().expect("an id")])
            .ok();
        let result = call.result();
        assert!(
            !result.is_error && result.text.contains("42"),
            "{sdk:?} gets {result:?}"
        );

        let call = Client::call(
            &desk,
            sdk,
            &door,
            "everything__get-sum",
            &json!({"a": 1, "b": 1}),
        );
        let asked = hub.approval();
        let id = asked["id"].as_str().expect("an id");
        desk.cli(&["approvals", "deny", id, "--reason", "not today"])
            .ok();
        let result = call.result();
        assert!(
            result.is_error && result.text.contains("not today"),
            "{sdk:?} gets {result:?}"
        );
    }
}

#[test]
fn a_call_is_approved_in_a_browser() {
    let desk = Desk::without_screen();
    let (_hub, door) = serve(&desk);
    desk.cli(&["servers", "sync", "everything"]).ok();
    let call = Client::call(
        &desk,
        Sdk::Python,
        &door,
        "everything__echo",
        &json!({"message": "from afar"}),
    );
    let steps = json!([
        {"do": "login"},
        {"do": "click", "part": "nav-approvals"},
        {"do": "until_says", "part": "approval-card", "text": "from afar"},
        {"do": "picture", "name": "browser-approval"},
        {"do": "click", "part": "approve-once"},
        {"do": "until_gone", "part": "approval-card"},
        {"do": "click", "part": "nav-calls"},
        {"do": "until", "part": "call-row[data-decision=allowed]"},
    ]);
    browser::take_steps(&desk, &link(&desk), &steps).nothing_wrong();
    assert_eq!(call.result().text, "Echo: from afar");
}

#[test]
fn a_login_link_works_once() {
    let desk = Desk::without_screen();
    let (_hub, _) = serve(&desk);
    let link = link(&desk);
    browser::take_steps(
        &desk,
        &link,
        &json!([{"do": "login"}, {"do": "until", "part": "nav-servers"}]),
    )
    .nothing_wrong();
    // A second browser without the cookie of the first.
    std::fs::remove_dir_all(desk.file("chromium")).expect("forget the first browser");
    let steps = json!([{"do": "login"}, {"do": "pause", "ms": 1500}, {"do": "count", "part": "nav-servers"}]);
    let seen = browser::take_steps(&desk, &link, &steps);
    assert_eq!(seen.0["counts"], json!([0]), "the link is used up");
}
