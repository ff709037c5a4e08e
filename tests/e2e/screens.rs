//! Every screen in light and dark, full and empty: screenshots and accessibility checks.

use drawbridge_tests::{
    Desk, Hub, McpClient, browser, hub::write_spec, places, remote::Remote, until, wait::yes,
};
use serde_json::{Value, json};

use crate::{app, steps::link};

const SCREENS: &[&str] = &[
    "approvals",
    "servers",
    "clients",
    "calls",
    "policy",
    "logs",
    "settings",
];

/// Returns the steps that visit every screen, and the popup at its own size, in both themes.
fn tour(what: &str, popup_shows: &str) -> Vec<Value> {
    let mut steps = vec![
        json!({"do": "login"}),
        json!({"do": "until", "part": "nav-servers"}),
    ];
    for theme in ["light", "dark"] {
        steps.push(json!({"do": "theme", "theme": theme}));
        steps.push(json!({"do": "size", "width": 1280, "height": 800}));
        for screen in SCREENS {
            let name = format!("{what}-{screen}-{theme}");
            steps.push(json!({"do": "click", "part": format!("nav-{screen}")}));
            if what == "full" && *screen == "servers" {
                steps.push(json!({"do": "click", "part": "server-row[data-server=everything]"}));
                steps.push(json!({"do": "until", "part": "server-detail tool-row"}));
            }
            if what == "full" && *screen == "approvals" {
                steps.push(json!({"do": "until_ready", "part": "approve-once"}));
            }
            steps.push(json!({"do": "settle"}));
            steps.push(json!({"do": "picture", "name": name}));
            steps.push(json!({"do": "fits", "where": name}));
            steps.push(json!({"do": "axe", "where": name}));
        }
        let name = format!("{what}-popup-{theme}");
        steps.push(json!({"do": "size", "width": 460, "height": 700}));
        steps.push(json!({"do": "route", "hash": "#/popup"}));
        steps.push(json!({"do": "until", "part": popup_shows}));
        steps.push(json!({"do": "until_gone", "part": "nav-servers"}));
        if what == "full" {
            steps.push(json!({"do": "until_ready", "part": "approve-once"}));
        }
        steps.push(json!({"do": "settle"}));
        steps.push(json!({"do": "picture", "name": name}));
        steps.push(json!({"do": "fits", "where": name}));
        steps.push(json!({"do": "axe", "where": name}));
        steps.push(json!({"do": "size", "width": 1280, "height": 800}));
        steps.push(json!({"do": "route", "hash": "#/servers"}));
        steps.push(json!({"do": "until", "part": "nav-servers"}));
    }
    steps
}

#[test]
fn every_screen_of_an_empty_hub_is_sound() {
    let desk = Desk::without_screen();
    let _hub = Hub::serve(&desk);
    let seen = browser::take_steps(&desk, &link(&desk), &json!(tour("empty", "popup-empty")));
    seen.nothing_wrong();
    assert_eq!(seen.pictures().len(), 16);
}

#[test]
fn every_screen_of_a_busy_hub_is_sound() {
    let desk = Desk::without_screen();
    let hub = Hub::serve(&desk);
    fill(&desk, &hub);
    let client = hub.client("claude-code");
    hub.approval_timeout(600);
    let arguments = json!({"path": "/home/me/projects/drawbridge/README.md", "edits": [
        {"oldText": "# Drawbridge\n\nOne door.", "newText": "# Drawbridge\n\nOne local door between every client\u{202e} and every server."}
    ], "dryRun": false});
    let _waiting = client.call_meanwhile("filesystem__edit_file", &arguments.to_string());
    until("a call waits", || yes(!hub.approval().is_null()));
    let _more = client.call_meanwhile("everything__echo", r#"{"message":"and another one"}"#);
    until("two calls wait", || {
        yes(desk
            .cli(&["approvals", "list", "--json"])
            .json()
            .as_array()
            .is_some_and(|waiting| waiting.len() == 2))
    });
    let mut steps = tour("full", "popup-position");
    steps.extend(dialogs());
    let seen = browser::take_steps(&desk, &link(&desk), &json!(steps));
    seen.nothing_wrong();
    assert!(seen.pictures().len() >= 14);
}

#[test]
fn signing_in_to_a_server_is_sound_on_the_screen() {
    let desk = Desk::without_screen();
    let remote = Remote::start(&desk);
    let _hub = Hub::serve(&desk);
    desk.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    let mut steps = vec![
        json!({"do": "login"}),
        json!({"do": "until", "part": "nav-servers"}),
        json!({"do": "click", "part": "nav-servers"}),
        json!({"do": "until", "part": "sign-in"}),
    ];
    for theme in ["light", "dark"] {
        steps.push(json!({"do": "theme", "theme": theme}));
        steps.push(json!({"do": "settle"}));
        steps.push(json!({"do": "axe", "where": format!("a server to sign in to, {theme}")}));
    }
    steps.push(json!({"do": "click", "part": "sign-in"}));
    steps.push(json!({"do": "until", "part": "sign-in-link"}));
    for theme in ["dark", "light"] {
        steps.push(json!({"do": "theme", "theme": theme}));
        steps.push(json!({"do": "settle"}));
        steps.push(json!({"do": "picture", "name": format!("signing-in-{theme}")}));
        steps.push(json!({"do": "fits", "where": format!("signing in, {theme}")}));
        steps.push(json!({"do": "axe", "where": format!("signing in, {theme}")}));
    }
    browser::take_steps(&desk, &link(&desk), &json!(steps)).nothing_wrong();
}

/// Returns the steps through the dialogs, in the theme that the tour ended with.
fn dialogs() -> Vec<Value> {
    vec![
        json!({"do": "click", "part": "nav-servers"}),
        json!({"do": "click", "part": "add-server"}),
        json!({"do": "fill", "part": "server-name", "text": "github"}),
        json!({"do": "fill", "part": "server-command", "text": "npx -y @modelcontextprotocol/server-github"}),
        json!({"do": "click", "part": "env-add"}),
        json!({"do": "settle"}),
        json!({"do": "picture", "name": "full-add-server-dark"}),
        json!({"do": "fits", "where": "the dialog that adds a server"}),
        json!({"do": "axe", "where": "the dialog that adds a server"}),
        json!({"do": "press", "key": "Escape"}),
        json!({"do": "until_gone", "part": "server-name"}),
    ]
}

/// Sets up servers in every state, clients, rules, and calls of every outcome.
fn fill(desk: &Desk, hub: &Hub<'_>) {
    let folder = app::folder(desk);
    for (name, command) in [
        ("everything", app::everything()),
        ("filesystem", app::filesystem(&folder)),
    ] {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        hub.add_server(name, &[], &words);
        hub.until_synced(name);
    }
    let probe = places::text(places::built("upstream-probe"));
    hub.add_server(
        "notes",
        &["--secret", "API_KEY=not a secret"],
        &[&probe, "--noisy"],
    );
    hub.add_server(
        "broken-path",
        &[],
        &["/opt/tools/no-such-server", "--stdio"],
    );
    desk.cli(&["servers", "verify", "broken-path"]);
    write_spec(
        desk,
        "dropped",
        &json!({"command": "npx", "args": ["-y", "a-stranger"]}).to_string(),
    );
    write_spec(
        desk,
        "typo",
        "{\n  \"command\": \"node\",\n  \"args\": [\"1\" \"2\"]\n}\n",
    );
    hub.policy("everything", "allow");
    hub.policy("everything/get-env", "deny");
    hub.policy("everything/echo", "ask");
    desk.cli(&["policy", "remove", "everything/echo"]);
    let token = hub.token("cursor");
    let client = McpClient::connect(&hub.url, &token);
    client.call("everything__get-sum", r#"{"a":2,"b":3}"#);
    client.call("everything__get-tiny-image", "{}");
    client.call("everything__get-env", "{}");
    hub.policy("filesystem/read_text_file", "allow");
    client.call(
        "filesystem__read_text_file",
        &json!({"path": "/etc/shadow"}).to_string(),
    );
    client.call(
        "filesystem__read_text_file",
        &json!({"path": format!("{folder}/note.txt")}).to_string(),
    );
    hub.policy("everything", "ask");
}
