//! Foreign text is rendered as plain text in every place: not as markup, links or terminal control
//! sequences. Every payload of the corpus is in every field that a server or a client fills.

mod corpus;

use std::{fs, path::PathBuf};

use drawbridge_tests::{
    DesktopSession, Hub, McpClient,
    browser::{self, BrowserReport},
    canary::list_files,
    hub::write_spec,
    paths,
    wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json, value::RawValue};

use crate::steps::{
    self, click, create_login_link, log_in, open_route, wait_for_text, wait_until_enabled,
};

/// The approval timeout, which is longer than a test runs.
const APPROVAL_TIMEOUT_S: u32 = 600;

/// Returns all payloads in one text.
fn all_payloads() -> String {
    corpus::all_payloads().join("\n")
}

/// Returns a tool with a payload in each of its fields. Because of the payload, the tool's name is
/// not a valid exposed name.
fn tool_with_payload(number: usize, text: &str) -> Value {
    json!({
        "name": format!("t{number}-{text}"), "title": text, "description": text,
        "inputSchema": {"type": "object", "title": text, "description": text, "properties": {
            text: {"type": "string", "title": text, "description": text, "default": text, "enum": [text], "examples": [text]}
        }},
        "annotations": {"title": text, "destructiveHint": true, text: text},
        "icons": [{"src": text, "mimeType": text, "sizes": [text]}], "_meta": {text: text}, "x-unknown": text,
    })
}

/// Returns a tool with a valid name, and all payloads in its title and description.
fn tool_with_plain_name(name: &str) -> Value {
    let all_texts = all_payloads();
    json!({"name": name, "title": all_texts, "description": all_texts, "inputSchema": {"type": "object"}, "annotations": {"title": all_texts}})
}

/// Returns the script of the fixture server, with each payload in each field. `description` is the
/// description of the first tool.
fn server_script(description: &str) -> Value {
    let all_texts = all_payloads();
    let payloads = corpus::all_payloads();
    let entries = |key: &str| -> Vec<Value> {
        let make_entry = |(number, text): (usize, &String)| {
            json!({key: format!("x://{number}/{text}"), "name": text, "title": text, "description": text, "mimeType": text,
                "arguments": [{"name": text, "description": text}]})
        };
        payloads.iter().enumerate().map(make_entry).collect()
    };
    let mut tools: Vec<Value> = payloads
        .iter()
        .enumerate()
        .map(|(number, text)| tool_with_payload(number, text))
        .collect();
    tools.extend(["answer", "fail", "refuse", "hold"].map(tool_with_plain_name));
    tools[0]["description"] = description.into();
    let notes: Vec<Value> = payloads
        .chunks(4)
        .map(|group| json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "logger": group[0], "data": group}}))
        .collect();
    json!({
        "initialize": {"result": {
            "protocolVersion": "2025-06-18", "instructions": all_texts,
            "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "resources": {}, "logging": {}},
            "serverInfo": {"name": all_texts, "title": all_texts, "version": all_texts, "websiteUrl": "javascript:window.__pwned=1"}
        }},
        "tools/list": {"result": {"tools": tools}},
        "prompts/list": {"result": {"prompts": entries("name")}},
        "resources/list": {"result": {"resources": entries("uri")}},
        "resources/templates/list": {"result": {"resourceTemplates": entries("uriTemplate")}},
        "tools/call fail": {"result": {"isError": true, "content": [{"type": "text", "text": all_texts}]}},
        "tools/call refuse": {"error": {"code": -32000, "message": all_texts, "data": all_texts}},
        "tools/call": {"result": {"content": [{"type": "text", "text": all_texts}], "structuredContent": {"each": payloads}}},
        "stderr": payloads.chunks(4).map(|group| group.join(" ")).collect::<Vec<_>>(),
        "notifications": notes,
    })
}

fn script_file(desktop: &DesktopSession, name: &str) -> PathBuf {
    desktop.file(&format!("{name}.json"))
}

fn write_script(desktop: &DesktopSession, name: &str, script: &Value) {
    fs::write(script_file(desktop, name), script.to_string()).expect("write the script");
}

fn add_server(hub: &Hub<'_>, desktop: &DesktopSession, name: &str) {
    let program = paths::path_text(paths::built_binary("upstream-faulty"));
    let spec = json!({"name": name, "command": program, "args": ["--script", paths::path_text(script_file(desktop, name))]});
    hub.run_verb("servers.add", &json!({"spec": spec}));
}

/// A hub with a server whose fields contain the payloads, a server that changed, a server that
/// rejects the handshake, and spec files from other programs.
struct PayloadFixture<'a> {
    desktop: &'a DesktopSession,
    hub: Hub<'a>,
    client: McpClient,
}

impl<'a> PayloadFixture<'a> {
    #[track_caller]
    fn new(desktop: &'a DesktopSession) -> Self {
        // The restart of the hub ends the grace period, so that no definition is accepted without a
        // person from now on.
        let first_hub = Hub::serve(desktop);
        for name in ["loud", "changing"] {
            write_script(desktop, name, &server_script("as it was"));
            add_server(&first_hub, desktop, name);
            first_hub.wait_until_synced(name);
        }
        first_hub.stop(Signal::SIGTERM);
        let hub = Hub::serve(desktop);
        let fixture = Self {
            desktop,
            client: Self::connect_client(&hub),
            hub,
        };
        fixture.add_failing_server();
        fixture.write_specs();
        fixture.change_tools();
        fixture
    }

    /// Opens sessions of two clients, and returns the second session. The members of
    /// `clientInfo` with payloads are divided between the clients, because a `clientInfo` may have
    /// only 64 KiB.
    fn connect_client(hub: &Hub<'_>) -> McpClient {
        let all_texts = all_payloads();
        let other_info = json!({"name": "painter", "title": all_texts, "version": "1", "icons": [{"src": all_texts}]});
        McpClient::connect_as(&hub.url, &hub.add_client("painter"), &other_info);
        let client_info = json!({"name": all_texts, "version": all_texts});
        McpClient::connect_as(&hub.url, &hub.add_client("scribbler"), &client_info)
    }

    /// Adds a server that answers the handshake with an error. The text of the error becomes the
    /// reason of the server's state.
    fn add_failing_server(&self) {
        write_script(
            self.desktop,
            "failing",
            &json!({"initialize": {"error": {"code": -32000, "message": all_payloads()}}, "server/discover": {"error": {"code": -32000, "message": all_payloads()}}}),
        );
        add_server(&self.hub, self.desktop, "failing");
        assert_ne!(
            self.desktop
                .cli(&["servers", "verify", "failing"])
                .exit_code(),
            0,
            "the server rejects the handshake"
        );
    }

    /// Writes spec files, as another program may.
    fn write_specs(&self) {
        let payloads = corpus::all_payloads();
        let spec = json!({"name": all_payloads(), "command": payloads[0], "args": payloads, "env": {"A": all_payloads()}, "cwd": payloads[1]});
        write_spec(self.desktop, "dropped", &spec.to_string());
        let url_spec = json!({"name": payloads[7], "url": "https://intruder.test/<img class=intruder>", "headers": {"X-A": payloads[8]}});
        write_spec(self.desktop, "linked", &url_spec.to_string());
        write_spec(
            self.desktop,
            "broken",
            &format!("{{\"command\": {} {}", json!(payloads[0]), all_payloads()),
        );
        wait_until("the hub has read the spec files", || {
            let servers = self.hub.run_verb("servers.list", &json!({}));
            some_if(
                servers["broken"].as_array()?.len() == 1 && servers.to_string().contains("linked"),
            )
        });
    }

    /// Changes every tool of a server, so that each waits for acceptance with its differences.
    fn change_tools(&self) {
        let mut script = server_script("as it is now");
        let tools = script["tools/list"]["result"]["tools"]
            .as_array_mut()
            .expect("tools");
        for tool in tools.iter_mut() {
            tool["description"] = format!(
                "{} <b class=intruder>and more</b>\u{202e}",
                tool["description"].as_str().unwrap_or_default()
            )
            .into();
        }
        write_script(self.desktop, "changing", &script);
        self.desktop.cli(&["servers", "sync", "changing"]);
        let count_unaccepted = || {
            self.hub.show_server("changing")["unaccepted"]
                .as_array()
                .map_or(0, Vec::len)
        };
        wait_until("the changed tools wait for acceptance", || {
            some_if(count_unaccepted() >= 200)
        });
    }

    fn decide_next(&self, verdict: Value) {
        let request = self.hub.wait_for_approval();
        self.hub.run_verb(
            "approvals.decide",
            &json!({"id": request["id"], "digest": request["digest"], "verdict": verdict}),
        );
    }

    /// Makes calls with different outcomes and with all payloads in their arguments, and rules that
    /// contain payloads.
    fn make_calls(&self) {
        let arguments = payload_arguments();
        let payloads = corpus::all_payloads();
        for tool in ["answer", "fail", "refuse"] {
            let call = self.client.spawn_call(&format!("loud__{tool}"), &arguments);
            self.decide_next(json!({"kind": "approve_once", "arguments": null}));
            drop(call.join());
        }
        let call = self.client.spawn_call("loud__answer", &arguments);
        self.decide_next(json!({"kind": "deny", "reason": payloads[..40].concat()}));
        drop(call.join());
        for (effect, text) in [
            ("allow", &payloads[1]),
            ("deny", &payloads[8]),
            ("ask", &payloads[170]),
        ] {
            let conditions = json!([{"pointer": format!("/{text}"), "is": {"equals": text}}]);
            let lifetime = json!({"kind": "until_deleted"});
            let rule = json!({
                "server": "loud", "tool": format!("t0-{text}"), "client": null, "read_only": false, "conditions": conditions,
                "effect": effect, "result": null, "lifetime": lifetime, "note": text,
            });
            self.hub
                .run_verb("policy.save", &json!({"id": null, "rule": rule}));
        }
    }

    /// Makes a call that times out.
    fn let_call_time_out(&self) {
        self.hub.set_approval_timeout(5);
        let call = self.client.spawn_call("loud__fail", &payload_arguments());
        // Listing the approvals marks the call as seen; otherwise the decision is "No screen".
        let _ = self.hub.wait_for_approval();
        let answer = call.join().expect("the call ends");
        assert!(answer.text().contains("Timed out"), "{}", answer.text());
        self.hub.set_approval_timeout(APPROVAL_TIMEOUT_S);
        let missed = self.hub.run_verb("approvals.missed", &json!({}));
        assert_eq!(
            missed.as_array().map(Vec::len),
            Some(1),
            "the call is listed under Missed"
        );
    }
}

/// Returns arguments with each payload as a key and as a value, and with the strings of
/// [`corpus::INVALID_STRINGS`].
fn payload_arguments() -> String {
    let mut members: Vec<String> = corpus::all_payloads()
        .iter()
        .map(|text| format!("{}:{}", json!(text), json!(text)))
        .collect();
    members.extend(
        corpus::INVALID_STRINGS
            .iter()
            .enumerate()
            .map(|(number, json)| format!("\"half-{number}\":{json}")),
    );
    format!("{{{}}}", members.join(","))
}

/// Returns the steps that check that the screen shows plain text and that the text fits.
fn check_plain_text(place: &str) -> [Value; 3] {
    [
        json!({"do": "wait_until_settled"}),
        json!({"do": "check_foreign_content", "where": place}),
        json!({"do": "check_layout", "where": place}),
    ]
}

fn visit_servers() -> Vec<Value> {
    let mut steps = Vec::new();
    for (server, part) in [
        ("loud", "tool-row"),
        ("changing", "unaccepted-definition"),
        ("failing", "server-reason"),
        ("dropped", "server-accept"),
        ("linked", "server-accept"),
    ] {
        steps.extend([
            click("nav-servers"),
            click(&format!("server-row[data-server={server}]")),
        ]);
        steps.push(steps::wait_for(&format!(
            "server-detail[data-server={server}] {part}"
        )));
        if server == "loud" {
            steps.push(json!({"do": "click_all", "part": "tool-toggle"}));
            steps.push(json!({"do": "click_all", "part": "tool-history", "most": 10}));
        }
        if server == "changing" {
            steps.push(wait_until_enabled("accept-definitions"));
        }
        steps.extend(check_plain_text(&format!("the server {server}")));
    }
    steps.push(click("server-remove"));
    steps.extend(check_plain_text("the notice of a removal"));
    steps.push(click("removal-undo"));
    steps
}

/// Returns the steps for the screens that only have to be opened, and for the dialogs of two of
/// these screens.
fn visit_screens() -> Vec<Value> {
    let mut steps = Vec::new();
    for screen in [
        "clients", "policy", "hooks", "calls", "audit", "logs", "settings",
    ] {
        steps.push(click(&format!("nav-{screen}")));
        steps.extend(check_plain_text(screen));
    }
    steps.extend([click("nav-policy"), click("rule-edit")]);
    steps.extend(check_plain_text("the dialog of a rule"));
    steps.extend([
        steps::press_key("Escape"),
        click("rules-export"),
        steps::wait_for("export-text"),
    ]);
    steps.extend(check_plain_text("the export of the rules"));
    steps.push(steps::press_key("Escape"));
    for outcome in ["server_error", "not_sent", "ok"] {
        steps.extend([
            click("nav-calls"),
            click(&format!("call-row[data-outcome={outcome}]")),
        ]);
        steps.push(steps::wait_for("call-detail"));
        steps.extend(check_plain_text(&format!("a call: {outcome}")));
        steps.push(steps::press_key("Escape"));
    }
    steps
}

/// Returns the steps through the approval prompt. `place` names the window in failures.
fn visit_prompt(place: &str) -> Vec<Value> {
    let mut steps = vec![steps::wait_for("approval-card")];
    steps.extend(check_plain_text(place));
    steps.push(click("arguments-raw"));
    steps.extend(check_plain_text(&format!("{place}: raw arguments")));
    // The arguments must be scrolled to their end before the call can be decided.
    steps.extend([
        json!({"do": "focus", "part": "arguments"}),
        steps::press_key("End"),
        wait_until_enabled("edit"),
        click("edit"),
    ]);
    steps.push(steps::wait_for("edit-text"));
    steps.extend(check_plain_text(&format!("{place}: edited")));
    steps.extend([
        steps::press_key("Escape"),
        wait_until_enabled("approve-more"),
        click("approve-more"),
    ]);
    steps.push(json!({"do": "click_all", "part": "condition-argument", "most": 12}));
    steps.extend(check_plain_text(&format!("{place}: for longer")));
    steps.extend([click("approve-always"), steps::wait_for("dry-run-rule")]);
    steps.extend(check_plain_text(&format!("{place}: always")));
    steps
}

#[track_caller]
fn run_steps(desktop: &DesktopSession, steps: Vec<Value>) -> BrowserReport {
    let report = browser::take_steps(
        desktop,
        &create_login_link(desktop),
        &json!([log_in(), steps].concat()),
    );
    report.assert_no_problems();
    report
}

#[test]
fn text_from_servers_and_clients_is_plain_text_on_the_screens_that_show_it() {
    assert!(
        corpus::all_payloads().len() >= 200,
        "{} payloads",
        corpus::all_payloads().len()
    );
    let desktop = DesktopSession::without_screen();
    let fixture = PayloadFixture::new(&desktop);
    let names = fixture.client.list_tools();
    assert!(
        names.len() >= 200,
        "tools with invalid names are listed under valid names: {}",
        names.len()
    );
    let is_plain = |name: &String| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    assert!(names.iter().all(is_plain), "{names:?}");
    fixture.hub.set_approval_timeout(APPROVAL_TIMEOUT_S);
    fixture.make_calls();
    run_steps(&desktop, [visit_servers(), visit_screens()].concat());
}

#[test]
fn a_call_is_plain_text_in_each_step_of_its_prompt() {
    let desktop = DesktopSession::without_screen();
    let fixture = PayloadFixture::new(&desktop);
    fixture.let_call_time_out();
    desktop
        .cli(&["policy", "add", "loud/hold", "allow", "--result", "hold"])
        .expect_success();
    let tool_index = corpus::all_payloads()
        .iter()
        .position(|text| text.contains("<button"))
        .expect("a payload that is a button");
    let exposed_name = fixture.hub.show_server("loud")["tools"][tool_index]["exposed_name"]
        .as_str()
        .expect("a name")
        .to_owned();
    let _first_call = fixture
        .client
        .spawn_call(&exposed_name, &arguments_for_tool(tool_index));
    let _second_call = fixture
        .client
        .spawn_call("loud__answer", &payload_arguments());
    let wait_for_pending = |count: usize| {
        wait_until(format!("{count} approvals are pending"), || {
            some_if(
                fixture
                    .hub
                    .run_verb("approvals.list", &json!({}))
                    .as_array()
                    .is_some_and(|approvals| approvals.len() == count),
            )
        });
    };
    wait_for_pending(2);
    let _held_call = fixture
        .client
        .spawn_call("loud__hold", &payload_arguments());
    wait_for_pending(3);
    let mut steps = vec![click("nav-approvals")];
    for position in 1..=3 {
        steps.extend([
            click(&format!("queue-row[data-position={position}]")),
            steps::wait_for("approval-card"),
        ]);
        steps.extend(check_plain_text(&format!("approvals, call {position}")));
    }
    for tab in ["decided", "missed"] {
        steps.extend([click(&format!("approvals-tab-{tab}")), steps::wait_for(tab)]);
        steps.extend(check_plain_text(&format!("approvals, {tab}")));
    }
    steps.push(json!({"do": "set_size", "width": 460, "height": 700}));
    steps.extend([
        open_route("#/popup"),
        wait_for_text("popup-position", "1 of 3"),
    ]);
    steps.extend(check_plain_text("the popup, a tool with an invalid name"));
    steps.push(click("popup-next"));
    steps.extend(visit_prompt("the popup"));
    steps.extend([
        click("popup-next"),
        steps::wait_for("result"),
        click("held-arguments"),
    ]);
    steps.extend(check_plain_text("the popup, a result that is held"));
    run_steps(&desktop, steps);
}

/// Returns arguments for the tool with this number. The tool's payload is the name of its only
/// property, and the only value that the schema permits.
fn arguments_for_tool(number: usize) -> String {
    let text = &corpus::all_payloads()[number];
    json!({text: text}).to_string()
}

/// Fails if the output of a command, with or without `--json`, contains characters that a terminal
/// would interpret, hide or reorder, or if the command prints invalid JSON.
#[track_caller]
fn assert_prints_plain_text(desktop: &DesktopSession, arguments: &[&str]) {
    let output = desktop.cli(arguments);
    for (stream, text) in [("stdout", output.stdout()), ("stderr", output.stderr())] {
        let unescaped = text.chars().find(|c| corpus::must_be_escaped(*c));
        assert!(
            unescaped.is_none(),
            "{arguments:?} writes {unescaped:?} unescaped to {stream}: {text}"
        );
    }
    let json_arguments = [arguments, &["--json"]].concat();
    let json_output = desktop.cli(&json_arguments);
    if json_output.exit_code() == 0 {
        let text = json_output.stdout();
        assert!(
            !text.trim_end().contains(corpus::must_be_escaped),
            "{json_arguments:?}: {text}"
        );
        assert!(
            serde_json::from_str::<Box<RawValue>>(&text).is_ok(),
            "{json_arguments:?} prints no JSON: {text}"
        );
    }
}

#[test]
fn text_from_servers_and_clients_does_not_control_a_terminal() {
    let desktop = DesktopSession::without_screen();
    let fixture = PayloadFixture::new(&desktop);
    fixture.make_calls();
    let _pending_call = fixture
        .client
        .spawn_call("loud__answer", &payload_arguments());
    let pending_id = fixture.hub.wait_for_approval()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let calls = fixture.hub.run_verb("calls.list", &json!({}));
    let calls: Vec<&str> = calls
        .as_array()
        .expect("calls")
        .iter()
        .filter_map(|call| call["id"].as_str())
        .collect();
    for id in calls {
        assert_prints_plain_text(&desktop, &["calls", "show", id]);
    }
    let tool_name = format!("t0-{}", corpus::all_payloads()[0]);
    for arguments in [
        &["servers", "list"][..],
        &["servers", "show", "loud"],
        &["servers", "show", "changing"],
        &["servers", "show", "failing"],
        &["servers", "show", "dropped"],
        &["servers", "show", "linked"],
        &["servers", "history", "changing", &tool_name],
        &["servers", "verify", "loud"],
        &["servers", "verify", "failing"],
        &["tools", "list"],
        &["tools", "list", "--format", "openai"],
        &["approvals", "list"],
        &["approvals", "show", &pending_id],
        &["approvals", "missed"],
        &["calls", "list"],
        &["clients", "list"],
        &["policy", "list"],
        &["policy", "export"],
        &["logs", "--limit", "5000"],
        &["logs", "--server", "loud", "--level", "trace"],
    ] {
        assert_prints_plain_text(&desktop, arguments);
    }
    let folder = desktop.data_dir().join("logs");
    let mut whole_log = String::new();
    for file in list_files(&folder) {
        let text = fs::read_to_string(file).expect("a log in UTF-8");
        let unescaped_line = text
            .lines()
            .find(|line| line.replace('\t', "").contains(corpus::must_be_escaped));
        assert!(
            unescaped_line.is_none(),
            "the log contains {unescaped_line:?} unescaped"
        );
        whole_log += &text;
    }
    assert!(
        whole_log.contains(corpus::MARK),
        "the payloads are in the log"
    );
}
