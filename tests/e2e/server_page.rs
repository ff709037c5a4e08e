//! The tabs of a server's page in a browser: a person sends requests from their forms, reads the
//! versions of a definition, checks the prerequisites of a server, and puts the server into a
//! proposed sandbox. The hub and its servers are real.

use std::{fs, net::TcpListener, time::Duration};

use drawbridge_tests::{
    DesktopSession, Hub, McpClient, paths, wait::some_if, wait_until, wait_until_within,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    app,
    steps::{
        check_screen, click, count, expect_failed_verb, fill, open_route, select, take_steps,
        wait_for, wait_for_text, wait_for_value, wait_until_enabled, wait_until_gone,
    },
};

/// The longest time until a server's accesses are reported. The recorder reports them once a
/// second.
const REPORT_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the steps that open the page of a server.
fn open_page(id: &str) -> Vec<Value> {
    vec![
        click("nav-servers"),
        click(&format!("server-row[data-server={id}]")),
    ]
}

/// Adds a server whose tools a file lists.
fn add_shop(hub: &Hub<'_>, desktop: &DesktopSession, tools: &Value) {
    let file = desktop.file("tools.json");
    fs::write(&file, tools.to_string()).expect("write the tools");
    let spec = json!({
        "name": "shop", "command": paths::path_text(paths::built_binary("upstream-faulty")),
        "args": ["--tools", paths::path_text(&file)],
    });
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced("shop");
}

#[test]
fn prompts_and_resources_are_requested_from_their_forms_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let command = app::everything_command();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    hub.add_server("everything", &[], &command);
    hub.wait_until_synced("everything");
    let prompt = |part: &str| format!("capability-row[data-name=args-prompt] {part}");
    let resource = |part: &str| format!("capability-row[data-kind=resources] {part}");
    let template = |part: &str| format!("capability-row[data-kind=templates] {part}");

    let mut steps = open_page("everything");
    steps.extend([
        click("server-tab-prompts"),
        click(&prompt("capability-toggle")),
        click(&prompt("call-send")),
        wait_for_text(&prompt("call-form"), "Enter a value for city"),
    ]);
    steps.extend(check_screen("prompt-form-incomplete"));
    steps.extend([
        fill(&prompt("[data-path=/city] :is(textarea)"), "Paris"),
        click(&prompt("call-send")),
        wait_for_text(&prompt("call-result"), "weather in Paris"),
        click(&prompt("result-raw")),
        wait_for_text(&prompt("call-result"), "\"messages\""),
        json!({"do": "download", "part": prompt("result-save")}),
        click(&prompt("capability-history")),
        wait_for_text(&prompt("tool-version"), "First version"),
    ]);
    steps.extend(check_screen("prompt-result"));
    steps.extend([
        click("server-tab-resources"),
        click(&resource("capability-toggle")),
        click(&resource("call-send")),
        wait_for_text(&resource("call-result"), "Everything Server"),
        click(&template("capability-toggle")),
        fill(&template("[data-path=/resourceId] :is(textarea)"), "7"),
        click(&template("call-send")),
        wait_for_text(&template("call-result"), "Resource 7"),
    ]);
    steps.extend(check_screen("resource-results"));
    steps.extend([
        select("kind-policy", "deny"),
        wait_for("kind-policy.deny"),
        click(&template("call-send")),
        wait_for_text(&template("call-error"), "The policy denied this request"),
        expect_failed_verb("resources.read"),
    ]);
    steps.extend(check_screen("resource-denied"));
    let report = take_steps(&desktop, steps);
    let saved = report.values()[0].as_str().expect("the saved file");
    let saved: Value = serde_json::from_str(saved).expect("the result as JSON");
    assert_eq!(
        saved["messages"][0]["content"]["text"],
        "What's weather in Paris?"
    );
    let policy = hub.run_verb("policy.list", &json!({}));
    let rule = &policy["rules"][0];
    assert_eq!(
        (&rule["server"], &rule["kind"], &rule["effect"]),
        (&json!("everything"), &json!("resources"), &json!("deny"))
    );
}

#[test]
fn a_tool_is_called_from_a_form_with_each_type_of_value_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let schema = json!({"type": "object", "required": ["to", "tags", "size"], "properties": {
        "to": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
        "size": {"enum": ["small", "large"]}, "urgent": {"type": "boolean"},
        "amount": {"type": "number"}, "when": {"type": "string", "format": "date"}, "extra": {},
    }});
    let tool = json!({"name": "send", "description": "Sends a parcel", "inputSchema": schema});
    add_shop(&hub, &desktop, &json!([tool]));
    hub.set_policy("shop", "allow");
    let form = |part: &str| format!("tool-row[data-tool=send] call-form {part}");

    let mut steps = open_page("shop");
    steps.extend([
        click("tool-row[data-tool=send] tool-toggle"),
        click("tool-row[data-tool=send] tool-call"),
        click(&form("call-send")),
        wait_for_text("tool-row[data-tool=send] call-form", "Enter a value for"),
        fill(&form("[data-path=/to] :is(textarea)"), "Ada"),
        click(&form("[data-path=/tags] add-item")),
        fill(&form("[data-path=/tags/0] :is(textarea)"), "glass"),
        click(&form("[data-path=/tags] add-item")),
        wait_for(&form("[data-path=/tags/1]")),
        click(&form(
            "[data-path=/tags] [aria-label^=Remove][aria-label*=2]",
        )),
        wait_until_gone(&form("[data-path=/tags/1]")),
        select(&form("[data-path=/size] :is(select)"), "1"),
        select(&form("[data-path=/urgent] :is(select)"), "true"),
        fill(&form("[data-path=/amount] :is(input)"), "2.50"),
        fill(&form("[data-path=/when] :is(input)"), "2027-01-31"),
        fill(&form("[data-path=/extra] :is(textarea)"), "{\"a\":"),
        wait_for(&form("call-send[aria-disabled=true]")),
    ]);
    steps.extend(check_screen("tool-form-malformed"));
    steps.extend([
        fill(&form("[data-path=/extra] :is(textarea)"), "{\"a\":1}"),
        wait_until_enabled(&form("call-send")),
        click(&form("call-send")),
        wait_for_text(&form("call-result"), "called"),
        click(&form("result-raw")),
        json!({"do": "download", "part": form("result-save")}),
    ]);
    steps.extend(check_screen("tool-form-result"));
    let report = take_steps(&desktop, steps);
    let saved = report.values()[0].as_str().expect("the saved file");
    let result: Value = serde_json::from_str(saved).expect("the result as JSON");
    let echoed = result["content"][0]["text"].as_str().expect("a text");
    let echoed: Value = serde_json::from_str(echoed).expect("the call as JSON");
    assert_eq!(
        echoed["with"],
        json!({"to": "Ada", "tags": ["glass"], "size": "large", "urgent": true, "amount": 2.5,
            "when": "2027-01-31", "extra": {"a": 1}})
    );
}

#[test]
fn one_changed_definition_is_accepted_and_its_versions_are_shown_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let tools = |payment: &str, refund: &str| {
        json!([
            {"name": "pay", "description": payment, "inputSchema": {"type": "object"}},
            {"name": "refund", "description": refund, "inputSchema": {"type": "object"}},
        ])
    };
    add_shop(&hub, &desktop, &tools("Pays a bill", "Returns money"));
    hub.stop(Signal::SIGTERM);
    let changed = tools("Pays a bill at once", "Returns all money").to_string();
    fs::write(desktop.file("tools.json"), changed).expect("change the tools");
    let hub = Hub::serve(&desktop);
    desktop.cli(&["servers", "sync", "shop"]).expect_success();
    let client = hub.connect_client("claude-code");

    let mut steps = open_page("shop");
    steps.extend([
        wait_for_text("unaccepted-definition[data-name=pay]", "at once"),
        wait_until_enabled("unaccepted-definition[data-name=pay] accept-definition"),
        click("unaccepted-definition[data-name=pay] accept-definition"),
        wait_until_gone("unaccepted-definition[data-name=pay]"),
        wait_for("unaccepted-definition[data-name=refund]"),
        click("tool-row[data-tool=pay] tool-toggle"),
        click("tool-row[data-tool=pay] tool-history"),
        wait_for_text(
            "tool-row[data-tool=pay] tool-version:first-child",
            "Pays a bill at once",
        ),
        wait_for_text(
            "tool-row[data-tool=pay] tool-version:last-child",
            "First version",
        ),
        count("tool-row[data-tool=pay] tool-version"),
        click("tool-row[data-tool=refund] tool-toggle"),
        click("tool-row[data-tool=refund] tool-history"),
        wait_for_text("tool-row[data-tool=refund] tool-version", "not accepted"),
    ]);
    steps.extend(check_screen("definition-versions"));
    let report = take_steps(&desktop, steps);
    assert_eq!(
        report.0["counts"],
        json!([2]),
        "the accepted and the first version"
    );
    let tools = client.list_tools();
    assert!(tools.contains(&"shop__pay".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"shop__refund".to_owned()), "{tools:?}");
}

#[test]
fn missing_prerequisites_of_a_server_are_shown_until_they_are_met_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let spec = json!({"name": "shop", "command": "shop-server",
        "env": {"API_KEY": "${keyring:shop.API_KEY}"}});
    hub.run_verb("servers.add", &json!({"spec": spec}));
    let mut steps = open_page("shop");
    steps.extend([
        click("server-tab-checks"),
        wait_for_text(
            "preflight-check[data-topic=program][data-status=failure]",
            "shop-server",
        ),
        wait_for_text(
            "preflight-check[data-topic=secrets][data-status=failure]",
            "shop.API_KEY",
        ),
        wait_for_text("preflight-summary", "2 checks failed"),
    ]);
    steps.extend(check_screen("preflight-failures"));
    take_steps(&desktop, steps);

    desktop.install_program("upstream-probe", "shop-server");
    hub.run_verb(
        "secrets.set",
        &json!({"name": "shop.API_KEY", "value": "not a secret"}),
    );
    // The program was not there when the server was accepted.
    let mut steps = open_page("shop");
    steps.extend([
        click("server-tab-checks"),
        wait_for("preflight-summary"),
        click("preflight-run"),
        wait_for_text("preflight-summary", "1 check failed"),
        wait_for_text(
            "preflight-check[data-topic=acceptance][data-status=failure]",
            "was not there when you accepted",
        ),
    ]);
    take_steps(&desktop, steps);
    let restart = desktop.cli(&["servers", "restart", "shop"]);
    assert_ne!(restart.exit_code(), 0);
    let mut steps = open_page("shop");
    steps.extend([
        click("server-tab-checks"),
        wait_for("preflight-summary"),
        click("preflight-run"),
        wait_for_text("preflight-summary", "1 check failed"),
        wait_for("preflight-check[data-topic=acceptance][data-status=failure]"),
        wait_for("preflight-check[data-topic=secrets][data-status=ok]"),
        wait_until_enabled("server-accept"),
        click("server-accept"),
        wait_for_text("preflight-summary", "Nothing is missing"),
        click("server-tab-tools"),
        wait_for("tool-row[data-tool=echo]"),
    ]);
    take_steps(&desktop, steps);
}

/// Adds the server that makes an access on request, with this sandbox; `null` for none.
fn add_curious(hub: &Hub<'_>, sandbox: &Value) {
    let script = paths::repository_root().join("tests/upstreams/curious.py");
    let spec = json!({
        "name": "curious", "command": paths::path_text(paths::python_program()),
        "args": [paths::path_text(script)], "sandbox": sandbox,
    });
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced("curious");
    hub.set_policy("curious", "allow");
}

/// Lets the server make an access, and returns its answer.
fn attempt(client: &McpClient, kind: &str, target: &str) -> String {
    let arguments = json!({"kind": kind, "target": target}).to_string();
    client.call("curious__attempt", &arguments).text()
}

/// Returns the steps that start the server for a run in which its accesses are recorded.
fn record_run() -> Vec<Value> {
    let mut steps = open_page("curious");
    steps.extend([
        click("server-tab-details"),
        wait_until_enabled("server-record"),
        click("server-record"),
        wait_until_enabled("server-record"),
        wait_for_text("access-report-state", "still in progress"),
    ]);
    steps
}

/// Waits until the report of the run has these paths and ports.
fn wait_until_reported(hub: &Hub<'_>, uses: &[&str]) {
    wait_until_within(REPORT_TIMEOUT, "the accesses are reported", || {
        let view = hub.run_verb("servers.access_report", &json!({"id": "curious"}));
        let report = view["report"].to_string();
        some_if(uses.iter().all(|part| report.contains(part)))
    });
}

#[test]
fn the_accesses_of_a_server_are_recorded_and_made_a_sandbox_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let [diary, letter] = ["diary.txt", "letter.txt"].map(|name| {
        let file = desktop.file(&format!("home/{name}"));
        fs::write(&file, "private").expect("write a file");
        paths::path_text(file)
    });
    let notes = paths::path_text(desktop.file("home/notes.txt"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string();
    add_curious(&hub, &Value::Null);
    let client = hub.connect_client("claude-code");

    take_steps(&desktop, record_run());
    for (kind, target) in [
        ("read", diary.as_str()),
        ("write", notes.as_str()),
        ("connect", port.as_str()),
        ("run", "true"),
    ] {
        assert_eq!(attempt(&client, kind, target), "done", "{kind}");
    }
    wait_until_reported(&hub, &["diary.txt", "notes.txt", &port, "/bin/sh"]);

    let mut steps = open_page("curious");
    steps.push(click("server-tab-details"));
    for (section, text) in [
        ("read", "diary.txt"),
        ("written", "notes.txt"),
        ("connected", port.as_str()),
        ("started", "/bin/sh"),
    ] {
        steps.extend([
            click(&format!("access-{section}")),
            wait_for_text(&format!("access-{section}-panel"), text),
        ]);
    }
    steps.push(wait_for_text("sandbox-proposal", "reads ~/diary.txt"));
    steps.extend(check_screen("sandbox-proposal"));
    steps.extend([
        click("use-sandbox"),
        wait_for_text("server-detail", "changed since you accepted it"),
    ]);
    steps.extend(check_screen("sandbox-difference"));
    steps.extend([
        wait_until_enabled("server-accept"),
        click("server-accept"),
        wait_until_gone("server-accept"),
        wait_for("server-sandboxed"),
        wait_for_text("server-sandbox-facts", "reads ~/diary.txt"),
        wait_for("use-sandbox[aria-disabled=true]"),
    ]);
    steps.extend(check_screen("sandbox-used"));
    take_steps(&desktop, steps);
    wait_until("the server lists its tool again", || {
        some_if(client.list_tools().contains(&"curious__attempt".to_owned()))
    });
    assert_eq!(attempt(&client, "read", &diary), "done");
    assert_eq!(
        attempt(&client, "read", &letter),
        "EACCES",
        "the sandbox refuses other files"
    );
}

#[test]
fn an_access_that_a_sandbox_refused_is_listed_and_then_allowed_in_a_browser() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let letter = desktop.file("home/letter.txt");
    fs::write(&letter, "private").expect("write a file");
    let letter = paths::path_text(letter);
    let sandbox = json!({"files": "listed", "network": "listed", "connect": [443]});
    add_curious(&hub, &sandbox);
    let client = hub.connect_client("claude-code");

    take_steps(&desktop, record_run());
    assert_eq!(attempt(&client, "read", &letter), "EACCES");
    wait_until_reported(&hub, &["letter.txt"]);
    let mut steps = open_page("curious");
    steps.extend([
        click("server-tab-details"),
        // Refused accesses are shown at first.
        wait_for_text("access-refused-panel", "letter.txt"),
    ]);
    steps.extend(check_screen("access-refused"));
    steps.extend([
        click("access-refused"),
        wait_until_gone("access-refused-panel"),
        click("server-edit"),
        click("advanced"),
        wait_for_value("server-sandbox-files", "listed"),
        wait_for("server-sandbox-read"),
        wait_for("server-sandbox-write"),
        select("server-sandbox-files", "all"),
        wait_until_gone("server-sandbox-read"),
        wait_until_gone("server-sandbox-write"),
    ]);
    steps.extend(check_screen("server-sandbox-all-files"));
    steps.extend([
        click("server-save"),
        wait_until_gone("server-dialog"),
        open_route("#/servers/curious"),
        click("server-edit"),
        click("advanced"),
        wait_for_value("server-sandbox-files", "all"),
    ]);
    take_steps(&desktop, steps);
    assert_eq!(
        hub.show_server("curious")["spec"]["sandbox"],
        json!({"files": "all", "network": "listed", "connect": [443]})
    );
    wait_until("the sandbox allows the file", || {
        some_if(attempt(&client, "read", &letter) == "done")
    });
}
