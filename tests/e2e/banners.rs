//! The banners above every screen in a real browser: an almost full disk, a hub that is gone, and a
//! removal that failed. Also the changes that fail while the hub is gone. The hub and its servers
//! are real.

use std::{fs, os::unix::fs::PermissionsExt};

use drawbridge_tests::{
    DesktopSession, Hub, browser, home::CliOutput, paths, ports::find_free_port,
};
use nix::{sys::signal::Signal, unistd::Uid};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, evaluate, expect_failed_request, expect_failed_verb, expect_outage,
    log_in, run_next_action, select, take_steps_with_actions, wait_for, wait_for_text,
    wait_for_value, wait_until_gone,
};

/// Returns the steps that click a switch, and wait until the error and the old state are shown.
fn fail_to_switch(switch: &str, is_on: bool, error: &str) -> [Value; 3] {
    let state = if is_on { ":checked" } else { ":not(:checked)" };
    [
        click(switch),
        wait_for_text(error, "not reachable"),
        wait_for(&format!("{switch}{state}")),
    ]
}

#[test]
fn every_screen_names_a_lost_hub_and_a_change_that_fails_meanwhile_shows_the_stored_state() {
    let desktop = DesktopSession::without_screen();
    let port = find_free_port();
    let hub = Hub::serve_on_port(&desktop, port);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let folder = desktop.file("home/documents");
    fs::create_dir(&folder).expect("create the folder");
    desktop
        .cli(&["folders", "add", &paths::path_text(&folder)])
        .expect_success();
    let mut steps = vec![
        // First, the page reads the states that it shows later.
        click("nav-settings"),
        wait_for("folders-enabled:checked"),
        wait_for("docling-enabled"),
        wait_for("setting-forms:checked"),
        click("nav-policy"),
        wait_for("rule-enabled:checked"),
        click("nav-servers"),
        click("server-row[data-server=probe]"),
        wait_for("server-enable:checked"),
        wait_for_value("server-policy", "allow"),
        run_next_action(),
        wait_for("not-reachable"),
    ];
    steps.extend(fail_to_switch("server-enable", true, "server-error"));
    steps.extend([
        select("server-policy", "deny"),
        wait_for_value("server-policy", "allow"),
        click("nav-policy"),
        wait_for("not-reachable"),
    ]);
    steps.extend(fail_to_switch("rule-enabled", true, "rules-error"));
    steps.extend([
        select("default-tools", "deny"),
        wait_for_text("default-error", "not reachable"),
        wait_for_value("default-tools", "ask"),
        click("nav-settings"),
    ]);
    steps.extend(fail_to_switch("folders-enabled", true, "folders"));
    steps.extend(fail_to_switch("docling-enabled", false, "docling"));
    steps.extend(fail_to_switch("setting-forms", true, "setting-forms-error"));
    steps.extend([
        select("setting-records-limit-kind", "unlimited"),
        wait_for_value("setting-records-limit-kind", "limited"),
        click("pause-calls"),
        wait_for("pause-calls:not(:checked)"),
    ]);
    steps.extend(check_screen("hub-lost"));
    steps.extend([
        run_next_action(),
        // A browser is signed in until the hub ends.
        wait_for("sign-in-code"),
        expect_outage(),
        expect_failed_request("/api/events"),
        evaluate("location.hash"),
    ]);
    steps.extend(check_screen("hub-restarted"));
    let mut restarted = None;
    let report = take_steps_with_actions(
        &desktop,
        steps,
        vec![
            Box::new(|| hub.stop(Signal::SIGKILL)),
            Box::new(|| restarted = Some(Hub::serve_on_port(&desktop, port))),
        ],
    );
    assert_eq!(report.values(), [json!("#/settings")]);
    let hub = restarted.expect("the hub was restarted");
    assert_ne!(hub.show_server("probe")["state"], "disabled");
    let folders = desktop.cli(&["folders", "list", "--json"]).expect_json();
    assert_eq!(folders["enabled"], true);
}

/// Returns the command through which the hub is started, so that the modes of files apply to the
/// hub: if the test runs as root, the command drops the capabilities with which root ignores these
/// modes. For other users, the command is empty.
fn starter_without_capabilities() -> Vec<&'static str> {
    let drop_capabilities = [
        "setpriv",
        "--bounding-set=-dac_override,-dac_read_search",
        "--",
    ];
    if Uid::effective().is_root() {
        drop_capabilities.to_vec()
    } else {
        Vec::new()
    }
}

#[test]
fn a_server_whose_removal_fails_is_listed_again_and_every_screen_says_why() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve_with_starter(&desktop, &starter_without_capabilities());
    hub.add_probe(&[]);
    let specs = desktop.data_dir().join("servers");
    let set_mode = |mode: u32| {
        fs::set_permissions(&specs, fs::Permissions::from_mode(mode)).expect("set the mode");
    };
    set_mode(0o500);
    let mut steps = vec![
        click("nav-servers"),
        click("server-row[data-server=probe]"),
        click("server-remove"),
        wait_until_gone("server-row[data-server=probe]"),
        click("removal-now"),
        wait_for_text("removal-failed", "probe.json"),
        expect_failed_verb("servers.remove"),
        wait_for("server-row[data-server=probe]"),
        click("nav-calls"),
        wait_for_text("removal-failed", "Permission denied"),
    ];
    steps.extend(check_screen("removal-failed"));
    steps.extend([
        run_next_action(),
        click("nav-servers"),
        click("server-row[data-server=probe]"),
        click("server-remove"),
        wait_until_gone("removal-failed"),
        click("removal-now"),
        wait_until_gone("removal-pending"),
        wait_until_gone("server-row[data-server=probe]"),
    ]);
    take_steps_with_actions(&desktop, steps, vec![Box::new(|| set_mode(0o700))]);
    let (status, _) = hub.try_verb("servers.show", &json!({"id": "probe"}));
    assert_eq!(status, 404, "the server is removed");
}

#[test]
fn every_screen_warns_of_an_almost_full_disk_until_there_is_space() {
    let desktop = DesktopSession::without_screen();
    let data_dir = paths::path_text(desktop.data_dir());
    fs::create_dir(&data_dir).expect("create the data folder");
    let mount =
        format!("mount -t tmpfs -o size=64m,mode=700 tmpfs '{data_dir}'; exec \"$0\" \"$@\"");
    let starter = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-ec",
        &mount,
    ];
    let hub = Hub::serve_with_starter(&desktop, &starter);
    // The command line cannot see the data folder in the hub's namespace.
    let opened = hub.run_verb("screens.open", &json!({}));
    let code = opened["code"].as_str().expect("a code");
    let link = hub.url.replace("/mcp", &format!("/#login={code}"));
    let pid = format!("--target={}", hub.pid());
    let add_space = || {
        let mut enlarge = desktop.command(paths::find_program("nsenter"));
        enlarge.args([pid.as_str(), "--user", "--mount", "mount", "-o"]);
        CliOutput::run(enlarge.args(["remount,size=2g", &data_dir])).expect_success();
        hub.run_verb("settings.change", &json!({"cache_ttl_s": 120}));
    };
    let mut steps = log_in();
    steps.extend([
        wait_for_text("low-space-banner", "are free on the disk"),
        click("nav-calls"),
        wait_for_text("low-space-banner", "free some space"),
    ]);
    steps.extend(check_screen("low-space"));
    steps.extend([run_next_action(), wait_until_gone("low-space-banner")]);
    browser::take_steps_with_actions(&desktop, &link, &json!(steps), vec![Box::new(add_space)])
        .assert_no_problems();
}
