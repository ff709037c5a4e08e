//! Foreign text is rendered as plain text in every place: not as markup, links or terminal control
//! sequences. Every payload of the corpus is in every field that a server or a client fills.

mod corpus;

use std::{fs, path::PathBuf};

use drawbridge_tests::{
    Desk, Hub, McpClient,
    browser::{self, Seen},
    hub::write_spec,
    places, until,
    wait::yes,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json, value::RawValue};

use crate::steps::{self, click, enter, link, route, until_ready, until_says};

/// Longer than a test runs.
const PATIENCE_S: u32 = 600;

/// Returns all payloads in one text.
fn together() -> String {
    corpus::all().join("\n")
}

/// Returns a tool with a payload in each of its fields. Its name contains the payload too, so it is
/// not a valid exposed name.
fn tool(number: usize, text: &str) -> Value {
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
fn plain(name: &str) -> Value {
    let all = together();
    json!({"name": name, "title": all, "description": all, "inputSchema": {"type": "object"}, "annotations": {"title": all}})
}

/// Returns the fixture server's offer: each payload in each field.
fn offer(description: &str) -> Value {
    let all = together();
    let each = corpus::all();
    let entries = |key: &str| -> Vec<Value> {
        let of = |(number, text): (usize, &String)| {
            json!({key: format!("x://{number}/{text}"), "name": text, "title": text, "description": text, "mimeType": text,
                "arguments": [{"name": text, "description": text}]})
        };
        each.iter().enumerate().map(of).collect()
    };
    let mut tools: Vec<Value> = each
        .iter()
        .enumerate()
        .map(|(number, text)| tool(number, text))
        .collect();
    tools.extend(["answer", "fail", "refuse", "hold"].map(plain));
    tools[0]["description"] = description.into();
    let notes: Vec<Value> = each
        .chunks(4)
        .map(|some| json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "logger": some[0], "data": some}}))
        .collect();
    json!({
        "initialize": {"result": {
            "protocolVersion": "2025-06-18", "instructions": all,
            "capabilities": {"tools": {"listChanged": true}, "prompts": {}, "resources": {}, "logging": {}},
            "serverInfo": {"name": all, "title": all, "version": all, "websiteUrl": "javascript:window.__pwned=1"}
        }},
        "tools/list": {"result": {"tools": tools}},
        "prompts/list": {"result": {"prompts": entries("name")}},
        "resources/list": {"result": {"resources": entries("uri")}},
        "resources/templates/list": {"result": {"resourceTemplates": entries("uriTemplate")}},
        "tools/call fail": {"result": {"isError": true, "content": [{"type": "text", "text": all}]}},
        "tools/call refuse": {"error": {"code": -32000, "message": all, "data": all}},
        "tools/call": {"result": {"content": [{"type": "text", "text": all}], "structuredContent": {"each": each}}},
        "stderr": each.chunks(4).map(|some| some.join(" ")).collect::<Vec<_>>(),
        "notifications": notes,
    })
}

fn file(desk: &Desk, name: &str) -> PathBuf {
    desk.file(&format!("{name}.json"))
}

fn write(desk: &Desk, name: &str, offer: &Value) {
    fs::write(file(desk, name), offer.to_string()).expect("write what it offers");
}

fn add(hub: &Hub<'_>, desk: &Desk, name: &str) {
    let program = places::text(places::built("upstream-faulty"));
    let spec = json!({"name": name, "command": program, "args": ["--offer", places::text(file(desk, name))]});
    hub.verb("servers.add", &json!({"spec": spec}));
}

/// A hub with such a server, a server that changed, a server that cannot start, and spec files from
/// other programs.
struct Stage<'a> {
    desk: &'a Desk,
    hub: Hub<'a>,
    client: McpClient,
}

impl<'a> Stage<'a> {
    #[track_caller]
    fn set(desk: &'a Desk) -> Self {
        // The restart of the hub ends the grace period, in which changes would be accepted with the
        // server.
        let first = Hub::serve(desk);
        for name in ["loud", "changing"] {
            write(desk, name, &offer("as it was"));
            add(&first, desk, name);
            first.until_synced(name);
        }
        first.end(Signal::SIGTERM);
        let hub = Hub::serve(desk);
        let stage = Self {
            desk,
            client: Self::client(&hub),
            hub,
        };
        stage.add_failing();
        stage.drop_specs();
        stage.change();
        stage
    }

    /// Opens a session as a client with payloads in its `clientInfo`.
    fn client(hub: &Hub<'_>) -> McpClient {
        let all = together();
        let info = json!({"name": all, "title": all, "version": all, "icons": [{"src": all}]});
        McpClient::connect_as(&hub.url, &hub.token("scribbler"), &info)
    }

    /// Adds a server that answers the handshake with an error, whose text becomes the reason of its
    /// state.
    fn add_failing(&self) {
        write(
            self.desk,
            "failing",
            &json!({"initialize": {"error": {"code": -32000, "message": together()}}, "server/discover": {"error": {"code": -32000, "message": together()}}}),
        );
        add(&self.hub, self.desk, "failing");
        assert_ne!(
            self.desk.cli(&["servers", "verify", "failing"]).code(),
            0,
            "it refuses the handshake"
        );
    }

    /// Writes spec files as other programs can.
    fn drop_specs(&self) {
        let each = corpus::all();
        let spec = json!({"name": together(), "command": each[0], "args": each, "env": {"A": together()}, "cwd": each[1]});
        write_spec(self.desk, "dropped", &spec.to_string());
        let link = json!({"name": each[7], "url": "https://intruder.test/<img class=intruder>", "headers": {"X-A": each[8]}});
        write_spec(self.desk, "linked", &link.to_string());
        write_spec(
            self.desk,
            "broken",
            &format!("{{\"command\": {} {}", json!(each[0]), together()),
        );
        until("they are read", || {
            let servers = self.hub.verb("servers.list", &json!({}));
            yes(servers["broken"].as_array()?.len() == 1 && servers.to_string().contains("linked"))
        });
    }

    /// Changes every tool of a server, so that each waits for acceptance with its differences.
    fn change(&self) {
        let mut offer = offer("as it is now");
        let tools = offer["tools/list"]["result"]["tools"]
            .as_array_mut()
            .expect("tools");
        for tool in tools.iter_mut() {
            tool["description"] = format!(
                "{} <b class=intruder>and more</b>\u{202e}",
                tool["description"].as_str().unwrap_or_default()
            )
            .into();
        }
        write(self.desk, "changing", &offer);
        self.desk.cli(&["servers", "sync", "changing"]);
        let waits = || {
            self.hub.server("changing")["unaccepted_tools"]
                .as_u64()
                .unwrap_or_default()
        };
        until("its tools wait", || yes(waits() >= 200));
    }

    fn decide(&self, verdict: Value) {
        let request = self.hub.approval();
        self.hub.verb(
            "approvals.decide",
            &json!({"id": request["id"], "digest": request["digest"], "verdict": verdict}),
        );
    }

    /// Makes calls of every outcome with all payloads in their arguments, and rules that contain
    /// payloads.
    fn call(&self) {
        let arguments = arguments();
        let each = corpus::all();
        for tool in ["answer", "fail", "refuse"] {
            let call = self
                .client
                .call_meanwhile(&format!("loud__{tool}"), &arguments);
            self.decide(json!({"kind": "approve_once", "arguments": null}));
            drop(call.join());
        }
        let call = self.client.call_meanwhile("loud__answer", &arguments);
        self.decide(json!({"kind": "deny", "reason": each[..40].concat()}));
        drop(call.join());
        for (effect, text) in [("allow", &each[1]), ("deny", &each[8]), ("ask", &each[170])] {
            let when = json!([{"pointer": format!("/{text}"), "is": {"equals": text}}]);
            let life = json!({"kind": "until_revoked"});
            let rule = json!({
                "server": "loud", "tool": format!("t0-{text}"), "client": null, "read_only": false, "conditions": when,
                "effect": effect, "result": null, "lifetime": life, "note": text,
            });
            self.hub
                .verb("policy.save", &json!({"id": null, "rule": rule}));
        }
    }

    /// Makes a call that times out.
    fn miss(&self) {
        self.hub.approval_timeout(5);
        let call = self.client.call_meanwhile("loud__fail", &arguments());
        // Listing the approvals marks the call as seen; otherwise the result is "No screen".
        let _ = self.hub.approval();
        let answer = call.join().expect("the call ends");
        assert!(answer.text().contains("Timed out"), "{}", answer.text());
        self.hub.approval_timeout(PATIENCE_S);
        let missed = self.hub.verb("approvals.missed", &json!({}));
        assert_eq!(
            missed.as_array().map(Vec::len),
            Some(1),
            "it can be allowed for a retry"
        );
    }
}

/// Returns arguments with each payload as a key and as a value, and with text that Rust's strings
/// cannot hold.
fn arguments() -> String {
    let mut members: Vec<String> = corpus::all()
        .iter()
        .map(|text| format!("{}:{}", json!(text), json!(text)))
        .collect();
    members.extend(
        corpus::HALVES
            .iter()
            .enumerate()
            .map(|(number, half)| format!("\"half-{number}\":{half}")),
    );
    format!("{{{}}}", members.join(","))
}

/// Returns the steps that check that the screen shows plain text and that the text fits.
fn text_only(place: &str) -> [Value; 3] {
    [
        json!({"do": "settle"}),
        json!({"do": "text_only", "where": place}),
        json!({"do": "fits", "where": place}),
    ]
}

fn servers() -> Vec<Value> {
    let mut steps = Vec::new();
    for (server, part) in [
        ("loud", "tool-row"),
        ("changing", "waiting-tool"),
        ("failing", "server-reason"),
        ("dropped", "server-accept"),
        ("linked", "server-accept"),
    ] {
        steps.extend([
            click("nav-servers"),
            click(&format!("server-row[data-server={server}]")),
        ]);
        steps.push(steps::until(&format!(
            "server-detail[data-server={server}] {part}"
        )));
        if server == "loud" {
            steps.push(json!({"do": "click_all", "part": "tool-toggle"}));
            steps.push(json!({"do": "click_all", "part": "tool-history", "most": 10}));
        }
        if server == "changing" {
            steps.push(until_ready("accept-tools"));
        }
        steps.extend(text_only(&format!("the server {server}")));
    }
    steps.push(click("server-remove"));
    steps.extend(text_only("the dialog that removes a server"));
    steps.push(steps::press("Escape"));
    steps
}

/// Returns the steps for the pages that only have to be opened, and for the dialogs of two of them.
fn pages() -> Vec<Value> {
    let mut steps = Vec::new();
    for page in ["clients", "policy", "calls", "logs", "settings"] {
        steps.push(click(&format!("nav-{page}")));
        steps.extend(text_only(page));
    }
    steps.extend([click("nav-policy"), click("rule-edit")]);
    steps.extend(text_only("the dialog of a rule"));
    steps.extend([
        steps::press("Escape"),
        click("rules-export"),
        steps::until("export-text"),
    ]);
    steps.extend(text_only("the export of the rules"));
    steps.push(steps::press("Escape"));
    for outcome in ["server_error", "not_sent", "ok"] {
        steps.extend([
            click("nav-calls"),
            click(&format!("call-row[data-outcome={outcome}]")),
        ]);
        steps.push(steps::until("call-detail"));
        steps.extend(text_only(&format!("a call: {outcome}")));
        steps.push(steps::press("Escape"));
    }
    steps
}

/// Returns the steps through the approval prompt, in the main window or in the popup.
fn question(place: &str) -> Vec<Value> {
    let mut steps = vec![steps::until("approval-card")];
    steps.extend(text_only(place));
    steps.push(click("arguments-raw"));
    steps.extend(text_only(&format!("{place}: raw arguments")));
    // The arguments must be scrolled to their end before the call can be decided.
    steps.extend([
        json!({"do": "focus", "part": "arguments"}),
        steps::press("End"),
        until_ready("edit"),
        click("edit"),
    ]);
    steps.push(steps::until("edit-text"));
    steps.extend(text_only(&format!("{place}: edited")));
    steps.extend([
        steps::press("Escape"),
        until_ready("approve-more"),
        click("approve-more"),
    ]);
    steps.push(json!({"do": "click_all", "part": "condition-argument", "most": 12}));
    steps.extend(text_only(&format!("{place}: for longer")));
    steps.extend([click("approve-always"), steps::until("preview-rule")]);
    steps.extend(text_only(&format!("{place}: always")));
    steps
}

#[track_caller]
fn visit(desk: &Desk, steps: Vec<Value>) -> Seen {
    let seen = browser::take_steps(desk, &link(desk), &json!([enter(), steps].concat()));
    seen.nothing_wrong();
    seen
}

#[test]
fn what_servers_and_clients_write_is_only_text_on_every_screen() {
    assert!(
        corpus::all().len() >= 200,
        "{} payloads",
        corpus::all().len()
    );
    let desk = Desk::without_screen();
    let stage = Stage::set(&desk);
    let names = stage.client.tools();
    assert!(
        names.len() >= 200,
        "tools with impossible names are there under names of their own: {}",
        names.len()
    );
    let is_plain = |name: &String| {
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
    };
    assert!(names.iter().all(is_plain), "{names:?}");
    stage.hub.approval_timeout(PATIENCE_S);
    stage.call();
    visit(&desk, [servers(), pages()].concat());
}

#[test]
fn what_is_asked_about_is_only_text_in_each_step_of_the_question() {
    let desk = Desk::without_screen();
    let stage = Stage::set(&desk);
    stage.miss();
    desk.cli(&["policy", "add", "loud/hold", "allow", "--result", "hold"])
        .ok();
    let named = corpus::all()
        .iter()
        .position(|text| text.contains("<button"))
        .expect("a payload that is a button");
    let exposed = stage.hub.server("loud")["tools"][named]["exposed_name"]
        .as_str()
        .expect("a name")
        .to_owned();
    let _waiting = stage.client.call_meanwhile(&exposed, &arguments_of(named));
    let _more = stage.client.call_meanwhile("loud__answer", &arguments());
    let waits = |count: usize| {
        until(format!("{count} wait"), || {
            yes(stage
                .hub
                .verb("approvals.list", &json!({}))
                .as_array()
                .is_some_and(|waiting| waiting.len() == count))
        });
    };
    waits(2);
    let _held = stage.client.call_meanwhile("loud__hold", &arguments());
    waits(3);
    let mut steps = vec![click("nav-approvals"), steps::until("missed")];
    steps.extend(text_only("approvals"));
    steps.push(json!({"do": "size", "width": 460, "height": 700}));
    steps.extend([route("#/popup"), until_says("popup-position", "1 of 3")]);
    steps.extend(text_only("the popup, a tool with an impossible name"));
    steps.push(click("popup-next"));
    steps.extend(question("the popup"));
    steps.extend([
        click("popup-next"),
        steps::until("result"),
        click("held-arguments"),
    ]);
    steps.extend(text_only("the popup, a result that is held"));
    visit(&desk, steps);
}

/// Returns arguments that fit the schema of tool `number`, whose property is its payload.
fn arguments_of(number: usize) -> String {
    let text = &corpus::all()[number];
    json!({text: text}).to_string()
}

/// Fails if the output of a command contains characters that a terminal would interpret, hide or
/// reorder.
#[track_caller]
fn shown_plainly(desk: &Desk, arguments: &[&str]) {
    let human = desk.cli(arguments);
    for (stream, text) in [("stdout", human.stdout()), ("stderr", human.stderr())] {
        let raw = text.chars().find(|c| corpus::is_raw(*c));
        assert!(
            raw.is_none(),
            "{arguments:?} writes {raw:?} as it is to {stream}: {text}"
        );
    }
    let words = [arguments, &["--json"]].concat();
    let json = desk.cli(&words);
    if json.code() == 0 {
        let text = json.stdout();
        assert!(
            !text.trim_end().contains(corpus::is_raw),
            "{words:?}: {text}"
        );
        assert!(
            serde_json::from_str::<Box<RawValue>>(&text).is_ok(),
            "{words:?} prints JSON: {text}"
        );
    }
}

#[test]
fn what_servers_and_clients_write_does_nothing_to_a_terminal() {
    let desk = Desk::without_screen();
    let stage = Stage::set(&desk);
    stage.call();
    let _waiting = stage.client.call_meanwhile("loud__answer", &arguments());
    let waiting = stage.hub.approval()["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let calls = stage.hub.verb("calls.list", &json!({}));
    let calls: Vec<&str> = calls
        .as_array()
        .expect("calls")
        .iter()
        .filter_map(|call| call["id"].as_str())
        .collect();
    for id in calls {
        shown_plainly(&desk, &["calls", "show", id]);
    }
    let named = format!("t0-{}", corpus::all()[0]);
    for arguments in [
        &["servers", "list"][..],
        &["servers", "show", "loud"],
        &["servers", "show", "changing"],
        &["servers", "show", "failing"],
        &["servers", "show", "dropped"],
        &["servers", "show", "linked"],
        &["servers", "history", "changing", &named],
        &["servers", "verify", "loud"],
        &["servers", "verify", "failing"],
        &["tools", "list"],
        &["tools", "list", "--format", "openai"],
        &["approvals", "list"],
        &["approvals", "show", &waiting],
        &["approvals", "missed"],
        &["calls", "list"],
        &["clients", "list"],
        &["policy", "list"],
        &["policy", "export"],
        &["logs", "--limit", "5000"],
        &["logs", "--server", "loud", "--level", "trace"],
    ] {
        shown_plainly(&desk, arguments);
    }
    let folder = desk.data_dir().join("logs");
    for entry in fs::read_dir(&folder).expect("the folder of logs") {
        let text = fs::read_to_string(entry.expect("a log").path()).expect("a log in UTF-8");
        let raw = text
            .lines()
            .find(|line| line.replace('\t', "").contains(corpus::is_raw));
        assert!(raw.is_none(), "the log holds {raw:?}");
        assert!(text.contains(corpus::MARK), "the payloads are in the log");
    }
}
