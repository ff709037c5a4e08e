//! The settings, as a person reads and changes them.

use drawbridge_tests::Home;
use serde_json::json;

#[test]
fn the_command_line_shows_and_changes_settings() {
    let home = Home::new();
    let set = |setting: &str, value: &str| home.cli(&["settings", "set", setting, value]);
    for (setting, value) in [
        ("approval-timeout", "90s"),
        ("cache-time", "600s"),
        ("audit-retention", "30d"),
        ("log-retention", "14d"),
        ("log-limit", "50"),
        ("oauth-client-metadata-url", "https://example.com/d.json"),
    ] {
        set(setting, value).expect_success();
        let output = home.cli(&["settings", "get", setting]).expect_success();
        assert_eq!(output.stdout().trim(), value, "{setting}");
    }
    set("approval-timeout", "2m").expect_success();
    set("audit-retention", "forever").expect_success();
    let settings = home.cli(&["settings", "list", "--json"]).expect_json();
    assert_eq!(
        (&settings[0], &settings[3]["value"]),
        (
            &json!({"setting": "approval-timeout", "value": "120s"}),
            &json!("forever")
        ),
        "{settings}"
    );
    for (setting, value, reason) in [
        ("approval-timeout", "1s", "5 to 600 seconds"),
        ("approval-timeout", "soon", "expected a duration"),
        ("audit-retention", "36h", "expected whole days"),
        ("log-retention", "4000d", "1 to 3650"),
        ("log-limit", "5", "10 to 1000000"),
        (
            "oauth-client-metadata-url",
            "http://example.com/d",
            "https URL",
        ),
    ] {
        let refused = set(setting, value);
        assert_eq!(refused.exit_code(), 1, "{setting} {value}");
        assert!(refused.stderr().contains(reason), "{}", refused.stderr());
    }
    let list = home.cli(&["settings", "list"]).expect_success().stdout();
    assert!(
        list.contains("approval-timeout           120s") && list.contains("How long a person"),
        "{list}"
    );
}
