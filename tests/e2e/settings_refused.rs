//! Settings, folders and a provider that the hub refuses, in a real browser: the entry stays, with
//! the reason. The hub is real.

use std::{fs, net::TcpListener};

use drawbridge_tests::{DesktopSession, Hub, paths};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, expect_failed_verb, fill, press_key, take_steps, wait_for, wait_for_text,
    wait_for_value,
};

/// Returns the steps that enter a value that the hub refuses, and wait until its field says so.
fn enter_refused(part: &str, text: &str) -> [Value; 5] {
    [
        fill(part, text),
        press_key("Enter"),
        wait_for(&format!("{part}[aria-invalid=true]")),
        wait_for_value(part, text),
        expect_failed_verb("settings.change"),
    ]
}

#[test]
fn a_setting_that_the_hub_refuses_stays_entered_with_the_reason_until_it_is_corrected() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let other_program = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port_in_use = other_program.local_addr().expect("an address").port();
    let mut steps = vec![click("nav-settings")];
    for (setting, refused) in [
        ("setting-port", port_in_use.to_string().as_str()),
        ("setting-hosts", "http://nas"),
        ("setting-document", "http://example.com/document"),
        ("setting-otlp-endpoint", "ftp://example.com"),
        ("setting-official-registry", "registry"),
    ] {
        steps.extend(enter_refused(setting, refused));
    }
    steps.extend(check_screen("settings-refused"));
    steps.extend([
        fill("setting-hosts", "nas.local"),
        press_key("Enter"),
        wait_for("setting-hosts[aria-invalid=false]"),
    ]);
    let before = hub.run_verb("settings.show", &json!({}));
    take_steps(&desktop, steps);
    let settings = hub.run_verb("settings.show", &json!({}));
    assert_eq!(settings["allowed_hosts"], json!(["nas.local"]));
    for name in [
        "port",
        "oauth_client_metadata_url",
        "otlp_endpoint",
        "official_registry_url",
    ] {
        assert_eq!(settings[name], before[name], "{name}");
    }
}

#[test]
fn a_folder_or_provider_that_the_hub_refuses_stays_entered_with_the_reason() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let folder = desktop.file("home/documents");
    fs::create_dir(&folder).expect("create the folder");
    let mut steps = vec![
        click("nav-settings"),
        fill("root-folder", "documents"),
        click("root-add"),
        wait_for("root-folder[aria-invalid=true]"),
        expect_failed_verb("settings.change"),
        wait_for_value("root-folder", "documents"),
        wait_for("roots-empty"),
        fill("folder-path", "/no/such/folder"),
        click("folder-all-files"),
        click("folder-add"),
        wait_for_text("folders", "'/no/such/folder' cannot be opened"),
        expect_failed_verb("folders.add"),
        wait_for_value("folder-path", "/no/such/folder"),
        wait_for("folder-all-files:checked"),
        wait_for("folders-empty"),
        fill("sampling-url", "ftp://example.com"),
        fill("sampling-models", "small"),
        click("sampling-save"),
        wait_for_text("sampling-error", "https URL"),
        expect_failed_verb("sampling.change"),
        wait_for_value("sampling-url", "ftp://example.com"),
    ];
    steps.extend(check_screen("folders-refused"));
    steps.extend([
        fill("folder-path", &paths::path_text(&folder)),
        click("folder-add"),
        wait_for_text("folder-row", "documents"),
    ]);
    take_steps(&desktop, steps);
    let folders = desktop.cli(&["folders", "list", "--json"]).expect_json();
    assert_eq!(folders["folders"][0]["all_files"], true);
    assert_eq!(folders["folders"].as_array().map(Vec::len), Some(1));
    let shown = hub.run_verb("sampling.show", &json!({}));
    assert_ne!(shown["url"], "ftp://example.com");
}
