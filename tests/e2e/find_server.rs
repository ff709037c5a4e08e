//! A person finds a server of the official registry on the screen, and adds it.

use drawbridge_tests::{
    DesktopSession, Hub, OfficialRegistryServer, browser, official_registry::entry,
};
use serde_json::json;

use crate::steps::create_login_link;

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
