//! The official registry on the screen: a person finds a published server and adds it, filters and
//! pages through the list, and refreshes the copy of the registry.

use drawbridge_tests::{
    DesktopSession, Hub, OfficialRegistryServer, browser,
    official_registry::{RegistryAnswer, entry},
};
use serde_json::{Value, json};

use crate::steps::{
    check_screen, click, count, create_login_link, expect_failed_verb, fill, run_next_action,
    select, take_steps_with_actions, wait_for, wait_for_text, wait_for_value, wait_until_focused,
    wait_until_gone,
};

#[test]
fn a_published_server_is_found_added_and_waits_for_acceptance() {
    let desktop = DesktopSession::without_screen();
    let registry = OfficialRegistryServer::start();
    let published = json!({
        "title": "Notes", "description": "Keeps notes.",
        "repository": {"url": "https://github.com/example/notes", "source": "github"},
        "packages": [{
            "registryType": "npm", "identifier": "@example/notes", "version": "1.2.3",
            "transport": {"type": "stdio"},
            "packageArguments": [{"type": "positional", "valueHint": "topic", "isRequired": true}],
        }],
    });
    registry.set_entries(vec![
        entry("com.example/notes", published, "2026-01-02T03:04:05Z"),
        entry(
            "com.example/other",
            json!({"remotes": [{"type": "sse", "url": "https://other.example/sse"}]}),
            "2026-01-02T03:04:05Z",
        ),
    ]);
    desktop
        .cli(&["settings", "set", "official-registry", &registry.url])
        .expect_success();
    let hub = Hub::serve(&desktop);
    let card = "published-card[data-server=com.example/notes]";
    let steps = json!([
        {"do": "log_in"},
        {"do": "click", "part": "nav-servers"},
        {"do": "click", "part": "add-server"},
        {"do": "wait_for", "part": "registry-offer"},
        {"do": "wait_until_settled"},
        {"do": "check_accessibility", "where": "the offer to load the official registry"},
        {"do": "click", "part": "registry-load"},
        {"do": "wait_for", "part": card},
        {"do": "fill", "part": "find-text", "text": "notes"},
        {"do": "wait_until_gone", "part": "published-card[data-server=com.example/other]"},
        {"do": "wait_until_settled"},
        {"do": "take_screenshot", "name": "find-light"},
        {"do": "check_layout", "where": "the servers that were found"},
        {"do": "check_accessibility", "where": "the servers that were found"},
        {"do": "click", "part": card},
        {"do": "fill", "part": "manifest-input[data-input=topic]", "text": "work"},
        {"do": "wait_until_settled"},
        {"do": "take_screenshot", "name": "published-server-light"},
        {"do": "check_accessibility", "where": "the form of a published server"},
        {"do": "click", "part": "find-add"},
        {"do": "wait_for", "part": "server-row[data-server=notes]"},
    ]);
    browser::take_steps(&desktop, &create_login_link(&desktop), &steps).assert_no_problems();
    let server = hub.show_server("notes");
    assert_eq!(server["acceptance"], "new", "{server}");
    assert_eq!(
        server["spec"]["args"],
        json!(["-y", "@example/notes@1.2.3", "work"])
    );
    assert_eq!(registry.requests().len(), 1, "a search sends no request");
}

const UPDATED_AT: &str = "2026-01-02T03:04:05Z";

/// Returns the entry of an npm package `@example/notes-NUMBER` with these environment variables.
fn notes_entry(number: u32, variables: &Value, updated_at: &str) -> Value {
    let published = json!({"packages": [{
        "registryType": "npm", "identifier": format!("@example/notes-{number}"),
        "version": "1.2.3", "transport": {"type": "stdio"}, "environmentVariables": variables,
    }]});
    let name = format!("com.example/notes-{number}");
    entry(&name, published, updated_at)
}

#[test]
fn published_servers_are_filtered_read_page_by_page_and_refreshed_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let registry = OfficialRegistryServer::start();
    let mut entries: Vec<Value> = (0..38)
        .map(|number| notes_entry(number, &json!([]), UPDATED_AT))
        .collect();
    let key = json!([{"name": "API_KEY", "isRequired": true, "isSecret": true}]);
    let remote = json!({"remotes": [{"type": "sse", "url": "https://far.example/sse"}]});
    entries.extend([
        notes_entry(38, &key, UPDATED_AT),
        entry("com.example/far", remote, UPDATED_AT),
    ]);
    registry.set_entries(entries.clone());
    // A refresh reads only the entries that were updated after the previous refresh began.
    entries.push(notes_entry(77, &json!([]), "2099-01-02T03:04:05Z"));
    desktop
        .cli(&["settings", "set", "official-registry", &registry.url])
        .expect_success();
    let _hub = Hub::serve(&desktop);
    let mut steps = vec![
        click("nav-servers"),
        click("add-server"),
        click("registry-load"),
        wait_for_text("registry-total", "40"),
        count("published-card"),
        click("registry-more"),
        wait_until_gone("registry-more"),
        count("published-card"),
        select("find-kind", "remote"),
        wait_for_text("registry-total", "1"),
        wait_for("published-card[data-server=com.example/far]"),
        wait_until_gone("published-card[data-server=com.example/notes-1]"),
        select("find-kind", "All kinds"),
        wait_for_text("registry-total", "40"),
        click("find-without-key"),
        wait_for_text("registry-total", "39"),
        click("find-without-key"),
        fill("find-text", "zzz"),
        wait_for("registry-nothing"),
    ];
    steps.extend(check_screen("find-nothing"));
    steps.extend([
        fill("find-text", "notes-38"),
        wait_for_text("registry-total", "1"),
        click("published-card"),
        wait_for("published-server"),
        wait_until_focused("find-back"),
        click("find-back"),
        wait_for_value("find-text", "notes-38"),
        wait_for("published-card[data-server=com.example/notes-38]"),
        run_next_action(),
        click("registry-refresh"),
        wait_for_text("registry-error", "answered 500"),
        expect_failed_verb("registry.refresh"),
        // The stored copy is still searched.
        wait_for("published-card[data-server=com.example/notes-38]"),
    ]);
    steps.extend(check_screen("find-not-refreshed"));
    steps.extend([
        fill("find-text", "notes-77"),
        wait_for("registry-nothing"),
        run_next_action(),
        click("registry-refresh"),
        wait_for("published-card[data-server=com.example/notes-77]"),
        wait_until_gone("registry-error"),
    ]);
    let report = take_steps_with_actions(
        &desktop,
        steps,
        vec![
            Box::new(|| registry.answer_with(RegistryAnswer::Raw(500, "broken".to_owned()))),
            Box::new(|| {
                registry.set_entries(entries);
                registry.answer_with(RegistryAnswer::Servers);
            }),
        ],
    );
    assert_eq!(report.0["counts"], json!([30, 40]));
}
