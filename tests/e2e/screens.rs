//! Every screen in light and dark, full and empty: screenshots, and checks of the layout and the
//! accessibility. Also the dialogs, more contrast, signing in, and opening each screen by its URL.

use std::thread;

use drawbridge_tests::{
    DesktopSession, Hub, McpClient, browser, hub::write_spec, protected_server::ProtectedServer,
    screen_times, wait::some_if, wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    app,
    app::App,
    steps::{check_screen, click, create_login_link, open_route, take_steps, wait_for_text},
};

const SCREENS: &[&str] = &[
    "overview",
    "approvals",
    "servers",
    "clients",
    "calls",
    "memory",
    "audit",
    "policy",
    "hooks",
    "logs",
    "settings",
];

/// Almost the smallest size of the window (900×600), and a window of 1280×800 at a zoom of 200 %, in
/// CSS pixels.
const SMALLER_SIZES: [(u32, u32); 2] = [(960, 600), (640, 400)];

/// Returns the steps that visit every screen at three sizes, and the popup at its own size, in both
/// themes. `state` is `full` or `empty`: whether the hub has servers and a pending call.
/// `popup_part` is a part that the popup has in this state.
fn visit_screens(state: &str, popup_part: &str) -> Vec<Value> {
    let mut steps = vec![
        json!({"do": "log_in"}),
        json!({"do": "wait_for", "part": "nav-servers"}),
    ];
    for theme in ["light", "dark"] {
        steps.push(json!({"do": "set_theme", "theme": theme}));
        steps.push(json!({"do": "set_size", "width": 1280, "height": 800}));
        for screen in SCREENS {
            let name = format!("{state}-{screen}-{theme}");
            steps.push(json!({"do": "click", "part": format!("nav-{screen}")}));
            if state == "full" && *screen == "servers" {
                steps.push(json!({"do": "click", "part": "server-row[data-server=everything]"}));
                steps.push(json!({"do": "wait_for", "part": "server-detail tool-row"}));
            }
            if state == "full" && *screen == "approvals" {
                steps.push(json!({"do": "wait_for", "part": "queue-row"}));
                steps.push(json!({"do": "focus", "part": "arguments"}));
                steps.push(json!({"do": "press_key", "key": "End"}));
                steps.push(json!({"do": "wait_until_enabled", "part": "approve-once"}));
            }
            steps.push(json!({"do": "wait_until_settled"}));
            steps.push(json!({"do": "take_screenshot", "name": name}));
            steps.push(json!({"do": "check_layout", "where": name}));
            steps.push(json!({"do": "check_accessibility", "where": name}));
            for (width, height) in SMALLER_SIZES {
                let name = format!("{name} at {width}×{height}");
                steps.push(json!({"do": "set_size", "width": width, "height": height}));
                steps.push(json!({"do": "wait_until_settled"}));
                steps.push(json!({"do": "check_layout", "where": name}));
                steps.push(json!({"do": "check_accessibility", "where": name}));
            }
            steps.push(json!({"do": "set_size", "width": 1280, "height": 800}));
        }
        let name = format!("{state}-popup-{theme}");
        steps.push(json!({"do": "set_size", "width": 460, "height": 700}));
        steps.push(json!({"do": "open_route", "hash": "#/popup"}));
        steps.push(json!({"do": "wait_for", "part": popup_part}));
        steps.push(json!({"do": "wait_until_gone", "part": "nav-servers"}));
        if state == "full" {
            // The call changes a file, and its changed lines stand above the exact arguments, which
            // must be scrolled to their end.
            steps.push(json!({"do": "focus", "part": "arguments"}));
            steps.push(json!({"do": "press_key", "key": "End"}));
            steps.push(json!({"do": "wait_until_enabled", "part": "approve-once"}));
        }
        steps.push(json!({"do": "wait_until_settled"}));
        steps.push(json!({"do": "take_screenshot", "name": name}));
        steps.push(json!({"do": "check_layout", "where": name}));
        steps.push(json!({"do": "check_accessibility", "where": name}));
        steps.push(json!({"do": "set_size", "width": 1280, "height": 800}));
        steps.push(json!({"do": "open_route", "hash": "#/servers"}));
        steps.push(json!({"do": "wait_for", "part": "nav-servers"}));
    }
    steps
}

#[test]
fn every_screen_of_an_empty_hub_has_no_problems() {
    let desktop = DesktopSession::without_screen();
    let _hub = Hub::serve(&desktop);
    let report = browser::take_steps(
        &desktop,
        &create_login_link(&desktop),
        &json!(visit_screens("empty", "popup-empty")),
    );
    report.assert_no_problems();
    assert_eq!(report.screenshots().len(), 2 * (SCREENS.len() + 1));
}

#[test]
fn every_screen_of_a_busy_hub_has_no_problems() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    set_up_hub(&desktop, &hub);
    let client = hub.connect_client("claude-code");
    hub.set_approval_timeout(600);
    let arguments = json!({"path": "/home/me/projects/drawbridge/README.md", "edits": [
        {"oldText": "# Drawbridge\n\nOne endpoint.", "newText": "# Drawbridge\n\nOne local endpoint between every client\u{202e} and every server."}
    ], "dryRun": false});
    let _first_call = client.spawn_call("filesystem__edit_file", &arguments.to_string());
    wait_until("a call is pending", || {
        some_if(!hub.wait_for_approval().is_null())
    });
    let _second_call = client.spawn_call("everything__echo", r#"{"message":"and another one"}"#);
    wait_until("two calls are pending", || {
        some_if(
            desktop
                .cli(&["approvals", "list", "--json"])
                .expect_json()
                .as_array()
                .is_some_and(|approvals| approvals.len() == 2),
        )
    });
    let steps = visit_screens("full", "popup-position");
    let report = browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps));
    report.assert_no_problems();
    assert_eq!(report.screenshots().len(), 2 * (SCREENS.len() + 1));
    take_steps(&desktop, visit_dialogs());
}

/// If a person prefers more contrast, the check of the accessibility requires the contrast of
/// WCAG's level AAA.
#[test]
fn every_screen_has_more_contrast_if_a_person_prefers_more_contrast() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    set_up_hub(&desktop, &hub);
    let mut steps = Vec::new();
    for theme in ["light", "dark"] {
        steps.push(json!({"do": "set_theme", "theme": theme, "contrast": "more"}));
        for screen in SCREENS {
            steps.push(click(&format!("nav-{screen}")));
            steps.extend(check_screen(&format!("contrast-{screen}-{theme}")));
        }
    }
    let report = take_steps(&desktop, steps);
    assert_eq!(report.screenshots().len(), 2 * SCREENS.len());
}

/// Members of the params besides the name and the arguments, such as `_meta`, are shown below the
/// arguments, with a title.
#[test]
fn requests_with_further_members_have_no_problems_when_missed_or_decided_together() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_approval_timeout(5);
    let client = hub.connect_client("claude-code");
    let spawn_call = |number: u32| {
        let client = client.second_handle();
        let params = json!({"name": "probe__echo", "arguments": {"n": number % 2},
            "_meta": {"note": number}});
        thread::spawn(move || client.request("tools/call", &params.to_string()))
    };
    {
        // Without an open screen, the call would end with "No screen".
        let _screen = hub.open_screen();
        let missed = spawn_call(0).join().expect("the call ends");
        assert!(missed.is_error(), "nobody decided in time");
    }
    hub.set_approval_timeout(600);
    let mut steps = vec![
        open_route("#/approvals/missed"),
        wait_for_text("missed-row", "Sent along with the arguments"),
    ];
    steps.extend(check_screen("missed-with-further-members"));
    take_steps(&desktop, steps);

    let _calls: Vec<_> = (1..4).map(spawn_call).collect();
    wait_until("three calls are pending", || {
        let approvals = desktop.cli(&["approvals", "list", "--json"]).expect_json();
        some_if(approvals.as_array().is_some_and(|list| list.len() == 3))
    });
    let mut steps = vec![
        click("nav-approvals"),
        click("queue-select-all"),
        wait_for_text("batch-list", "Sent along with the arguments"),
    ];
    steps.extend(check_screen("batch-with-further-members"));
    take_steps(&desktop, steps);
}

#[test]
fn the_sign_in_screens_have_no_problems() {
    let desktop = DesktopSession::without_screen();
    let remote = ProtectedServer::start(&desktop);
    let _hub = Hub::serve(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    let mut steps = vec![
        json!({"do": "log_in"}),
        json!({"do": "wait_for", "part": "nav-servers"}),
        json!({"do": "click", "part": "nav-servers"}),
        json!({"do": "wait_for", "part": "sign-in"}),
    ];
    for theme in ["light", "dark"] {
        steps.push(json!({"do": "set_theme", "theme": theme}));
        steps.push(json!({"do": "wait_until_settled"}));
        steps.push(json!({"do": "check_accessibility", "where": format!("a server to sign in to, {theme}")}));
    }
    steps.push(json!({"do": "click", "part": "sign-in"}));
    steps.push(json!({"do": "wait_for", "part": "sign-in-link"}));
    for theme in ["dark", "light"] {
        steps.push(json!({"do": "set_theme", "theme": theme}));
        steps.push(json!({"do": "wait_until_settled"}));
        steps.push(json!({"do": "take_screenshot", "name": format!("signing-in-{theme}")}));
        steps.push(json!({"do": "check_layout", "where": format!("signing in, {theme}")}));
        steps.push(json!({"do": "check_accessibility", "where": format!("signing in, {theme}")}));
    }
    browser::take_steps(&desktop, &create_login_link(&desktop), &json!(steps)).assert_no_problems();
}

/// Returns the steps that check a filled form, and then every dialog of the screens in both
/// themes, all at three sizes.
fn visit_dialogs() -> Vec<Value> {
    /// For each dialog: the screen, the control that opens the dialog, and a part of the dialog.
    const DIALOGS: &[(&str, &str, &str)] = &[
        ("servers", "add-server", "server-form-tab"),
        ("servers", "import-servers", "import-panel"),
        ("clients", "add-client", "client-name"),
        ("policy", "rule-add", "rule-save"),
        ("policy", "rules-import", "import-dialog"),
        ("policy", "rules-export", "export-dialog"),
        ("hooks", "hook-new", "hook-save"),
        ("calls", "call-row", "call-detail"),
        ("settings", "secret-store-change", "secret-store-dialog"),
        ("settings", "secret-row secret-set", "secret-dialog"),
        ("settings", "doctor-bundle", "bundle-dialog"),
    ];
    let mut steps = vec![
        json!({"do": "click", "part": "nav-servers"}),
        json!({"do": "click", "part": "add-server"}),
        json!({"do": "click", "part": "server-form-tab"}),
        json!({"do": "fill", "part": "server-name", "text": "github"}),
        json!({"do": "fill", "part": "server-command", "text": "npx -y @modelcontextprotocol/server-github"}),
        json!({"do": "click", "part": "env-add"}),
    ];
    steps.extend(check_sizes("a filled form"));
    steps.extend([
        json!({"do": "press_key", "key": "Escape"}),
        json!({"do": "wait_for_text", "part": "confirm-dialog", "text": "Discard changes?"}),
        json!({"do": "click", "part": "confirm"}),
        json!({"do": "wait_until_gone", "part": "server-name"}),
    ]);
    for theme in ["light", "dark"] {
        steps.push(json!({"do": "set_theme", "theme": theme}));
        for (screen, opener, part) in DIALOGS {
            steps.push(json!({"do": "click", "part": format!("nav-{screen}")}));
            steps.push(json!({"do": "click", "part": opener}));
            steps.push(json!({"do": "wait_for", "part": part}));
            steps.extend(check_sizes(&format!("{part} of {screen}, {theme}")));
            steps.push(json!({"do": "press_key", "key": "Escape"}));
            steps.push(json!({"do": "wait_until_gone", "part": part}));
        }
    }
    steps
}

/// Returns the steps that check the current view at the three sizes of [`visit_screens`], and take
/// a screenshot at the largest size.
fn check_sizes(name: &str) -> Vec<Value> {
    let mut steps = Vec::new();
    for (width, height) in [SMALLER_SIZES[1], SMALLER_SIZES[0], (1280, 800)] {
        let name = format!("{name} at {width}×{height}");
        steps.push(json!({"do": "set_size", "width": width, "height": height}));
        steps.push(json!({"do": "wait_until_settled"}));
        steps.push(json!({"do": "check_layout", "where": name}));
        steps.push(json!({"do": "check_accessibility", "where": name}));
    }
    steps.push(json!({"do": "take_screenshot", "name": format!("dialog-{}", name.replace([' ', ','], "-"))}));
    steps
}

/// Sets up servers in several states, a client, rules, and calls with several outcomes.
fn set_up_hub(desktop: &DesktopSession, hub: &Hub<'_>) {
    let folder = app::create_served_folder(desktop);
    for (name, command) in [
        ("everything", app::everything_command()),
        ("filesystem", app::filesystem_command(&folder)),
    ] {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        hub.add_server(name, &[], &command);
        hub.wait_until_synced(name);
    }
    desktop.install_program("upstream-probe", "notes-mcp");
    hub.add_server(
        "notes",
        &["--secret", "API_KEY=not a secret"],
        &["notes-mcp", "--noisy"],
    );
    hub.add_server(
        "broken-path",
        &[],
        &["/opt/tools/no-such-server", "--stdio"],
    );
    desktop.cli(&["servers", "verify", "broken-path"]);
    write_spec(
        desktop,
        "dropped",
        &json!({"command": "npx", "args": ["-y", "a-stranger"]}).to_string(),
    );
    write_spec(
        desktop,
        "typo",
        "{\n  \"command\": \"node\",\n  \"args\": [\"1\" \"2\"]\n}\n",
    );
    hub.set_policy("everything", "allow");
    hub.set_policy("everything/get-env", "deny");
    hub.set_policy("everything/echo", "ask");
    desktop.cli(&["policy", "remove", "everything/echo"]);
    let token = hub.add_client("cursor");
    let client = McpClient::connect(&hub.url, &token);
    client.call("everything__get-sum", r#"{"a":2,"b":3}"#);
    client.call("everything__get-tiny-image", "{}");
    client.call("everything__get-env", "{}");
    hub.set_policy("filesystem/read_text_file", "allow");
    client.call(
        "filesystem__read_text_file",
        &json!({"path": "/etc/shadow"}).to_string(),
    );
    client.call(
        "filesystem__read_text_file",
        &json!({"path": format!("{folder}/note.txt")}).to_string(),
    );
    hub.set_policy("everything", "ask");
}

/// `cargo xtask bench screens` needs the parts and the scrolling lists that this test checks.
#[test]
fn each_screen_opens_by_its_url_in_a_browser_and_in_the_app() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.run_verb(
        "memory.add",
        &json!({"content": "Staging restarts on Mondays."}),
    );
    let client = hub.connect_client("claude-code");
    for number in 0..60 {
        client.call("probe__echo", &json!({"n": number}).to_string());
    }
    let in_browser = screen_times::measure_in_browser(&desktop, &create_login_link(&desktop));
    hub.stop(Signal::SIGTERM);
    let app = App::open(&desktop);
    for screens in [
        in_browser.screens,
        screen_times::measure_in_app(&app.driver),
    ] {
        let scrolled: Vec<_> = screens
            .iter()
            .filter(|screen| screen.scrolling.is_some())
            .map(|screen| screen.name)
            .collect();
        assert!(
            scrolled.contains(&"calls"),
            "the calls fill more than the window: {scrolled:?}"
        );
        let typed: Vec<_> = screens
            .iter()
            .filter(|screen| screen.typing.is_some())
            .map(|screen| screen.name)
            .collect();
        for name in ["servers", "policy", "calls", "memory", "audit", "logs"] {
            assert!(
                typed.contains(&name),
                "{name} has a search field: {typed:?}"
            );
        }
    }
}
