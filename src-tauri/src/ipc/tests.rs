use drawbridge_hub::api::NAMES;

use super::COMMANDS;

const PERMISSIONS: &str = include_str!("../../permissions/app.toml");
const POPUP: &str = include_str!("../../capabilities/popup.json");

/// Returns the commands that a permission of `permissions/app.toml` allows.
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
fn every_verb_is_a_command_and_every_command_a_verb() {
    let verbs: Vec<String> = NAMES.iter().map(|name| name.replace('.', "_")).collect();
    assert_eq!(COMMANDS, verbs);
}

#[test]
fn the_main_window_may_use_exactly_the_commands() {
    assert_eq!(allowed_by("allow-all-verbs"), COMMANDS);
}

#[test]
fn the_popup_may_only_see_and_decide_approvals() {
    // Previewing a verdict and reading the state of the drawbridge change nothing.
    let sees = [
        "approvals_list",
        "approvals_show",
        "approvals_decide",
        "approvals_preview",
        "drawbridge_show",
    ];
    assert_eq!(allowed_by("allow-popup"), sees);
    let popup: serde_json::Value = serde_json::from_str(POPUP).expect("a capability is JSON");
    assert_eq!(popup["windows"], serde_json::json!(["popup"]));
    assert_eq!(
        popup["permissions"],
        serde_json::json!([
            "core:event:allow-listen",
            "core:event:allow-unlisten",
            "allow-popup"
        ])
    );
}
