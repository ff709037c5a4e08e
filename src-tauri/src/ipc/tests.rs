use drawbridge_hub::api::{NAMES, approvals::PreviewVerdict};
use serde_json::json;
use tauri::ipc::InvokeBody;

use super::{Input, UpdateRequest, find_verb, parse_window_command, read_params};

const PERMISSIONS: &str = include_str!(concat!(env!("OUT_DIR"), "/permissions/app.toml"));
/// Names each command that the pages use, in quotes.
const USED_BY_PAGES: &str = include_str!("../../../ui/src/ipc/tauri.ts");
const MAIN: &str = include_str!("../../capabilities/main.json");
const POPUP: &str = include_str!("../../capabilities/popup.json");

/// Returns the commands that a permission allows.
fn allowed_by(identifier: &str) -> Vec<&'static str> {
    let block = PERMISSIONS
        .split("[[permission]]")
        .find(|block| block.contains(&format!("identifier = \"{identifier}\"")))
        .unwrap_or_else(|| panic!("no permission is called {identifier}"));
    let (_, list) = block
        .split_once("commands.allow = [")
        .expect("a permission allows commands");
    let (list, _) = list.split_once(']').expect("the list ends");
    list.split('"').skip(1).step_by(2).collect()
}

#[test]
fn the_main_window_may_use_the_command_of_every_verb() {
    let verbs: Vec<_> = allowed_by("allow-all-verbs")
        .into_iter()
        .map(find_verb)
        .collect();
    let names: Vec<_> = NAMES.iter().copied().map(Some).collect();
    assert_eq!(verbs, names);
}

#[test]
fn only_the_main_window_may_close_itself_quit_the_app_and_change_its_options() {
    let commands = allowed_by("allow-window");
    let is_command =
        |text: &&str| text.len() > 1 && text.chars().all(|c| c == '_' || c.is_ascii_lowercase());
    let mut used: Vec<_> = USED_BY_PAGES
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|text| text.contains('_'))
        .filter(is_command)
        .collect();
    let mut allowed = [&commands[..], &["popup_measured"]].concat();
    used.sort_unstable();
    allowed.sort_unstable();
    assert_eq!(used, allowed);
    let payload = InvokeBody::Json(json!({ "shown": true }));
    for command in commands {
        let is_handled = parse_window_command(command, &payload).is_some()
            || super::options::Command::parse(command).is_some()
            || UpdateRequest::parse_command(command, &payload).is_some()
            || ["reopen_hint", "app_restart"].contains(&command);
        assert!(is_handled, "{command}");
        assert!(find_verb(command).is_none(), "{command}");
    }
    let main: serde_json::Value = serde_json::from_str(MAIN).expect("a capability is JSON");
    assert_eq!(main["windows"], json!(["main"]));
    assert!(
        main["permissions"]
            .as_array()
            .is_some_and(|all| all.contains(&json!("allow-window")))
    );
}

#[test]
fn only_the_value_true_switches_automatic_updates_on() {
    let parse = |payload| UpdateRequest::parse_command("updates_switch", &payload);
    let on = InvokeBody::Json(json!({"on": true}));
    assert_eq!(parse(on), Some(UpdateRequest::SetAutomatic(true)));
    for arguments in [json!({"on": false}), json!({}), json!({"on": "true"})] {
        let off = InvokeBody::Json(arguments);
        assert_eq!(parse(off), Some(UpdateRequest::SetAutomatic(false)));
    }
}

#[test]
fn the_popup_may_only_see_and_decide_approvals() {
    // Previewing a verdict, reading the last calls of a request's session and reading the state of
    // the drawbridge change nothing. Opening the URL of a server's request decides that request.
    let verbs = [
        "approvals_list",
        "approvals_show",
        "approvals_decide",
        "approvals_preview",
        "approvals_last_calls",
        "approvals_open_url",
        "drawbridge_show",
    ];
    let allowed = allowed_by("allow-popup");
    assert_eq!(allowed, [&verbs[..], &["popup_measured"]].concat());
    assert!(
        verbs
            .into_iter()
            .all(|command| find_verb(command).is_some())
    );
    let popup: serde_json::Value = serde_json::from_str(POPUP).expect("a capability is JSON");
    assert_eq!(popup["windows"], json!(["popup"]));
    assert_eq!(
        popup["permissions"],
        json!([
            "core:event:allow-listen",
            "core:event:allow-unlisten",
            "allow-popup"
        ])
    );
}

#[test]
fn the_popup_reports_the_height_of_its_content() {
    let input = |payload| parse_window_command("popup_measured", &InvokeBody::Json(payload));
    assert!(matches!(
        input(json!({ "height": 412.5 })),
        Some(Input::PopupMeasured(412.5))
    ));
    for malformed in [
        json!({}),
        json!({ "height": "412" }),
        json!({ "height": null }),
    ] {
        assert!(input(malformed.clone()).is_none(), "{malformed}");
    }
}

#[test]
fn a_window_can_request_a_rule_that_contains_a_value() {
    let conditions = json!([{"pointer": "/n", "is": {"equals": 2}}]);
    let verdict = json!({"kind": "approve_always", "conditions": conditions});
    let payload = InvokeBody::Json(json!({"request": {"id": "a", "verdict": verdict}}));
    let request: PreviewVerdict = serde_json::from_str(&read_params(&payload)).expect("a request");
    let sent = serde_json::to_value(&request).expect("a request is JSON");
    assert_eq!(sent["verdict"]["conditions"], conditions);
}
