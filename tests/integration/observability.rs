//! Metrics, stats, traces, health and progress.

mod collector;

use std::{collections::BTreeMap, net::TcpStream};

use drawbridge_tests::{
    Home, Hub, McpClient,
    faulty::FaultyServer,
    http::{Request, Response, Url},
    hub::ADMIN_TOKEN,
    paths,
    ports::find_free_port,
    wait::some_if,
    wait_until,
};
use prometheus_parse::{Scrape, Value as Sample};
use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, client::IntoClientRequest};

use collector::{Collector, ReceivedSpan};

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
/// The tool of the reference server that takes long and reports its progress.
const LONG_TOOL: &str = "everything__trigger-long-running-operation";

fn get(hub: &Hub<'_>, path: &str, headers: &[(&str, &str)]) -> Response {
    let url = Url::parse(&hub.url).with_path(path);
    Request {
        method: "GET",
        url: &url,
        headers,
        body: &[],
    }
    .send()
    .expect("a response")
}

fn admin_header() -> String {
    format!("Bearer {ADMIN_TOKEN}")
}

/// Returns the values of all metrics, by name and labels, as a Prometheus parser reads them. Of a
/// histogram, only the sum and the count are returned.
#[track_caller]
fn scrape(hub: &Hub<'_>) -> BTreeMap<String, f64> {
    let response = get(hub, "/metrics", &[("Authorization", &admin_header())]);
    assert_eq!(response.status, 200);
    let content_type = response.header("content-type").map(str::to_owned);
    assert_eq!(
        content_type.as_deref(),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = response.text().expect("a text");
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    let lines = text.lines().map(|line| Ok(line.to_owned()));
    let scrape = Scrape::parse(lines).expect("a Prometheus text");
    let mut parsed = 0;
    let mut values = BTreeMap::new();
    for sample in scrape.samples {
        let labels: BTreeMap<_, _> = sample.labels.iter().collect();
        let value = match sample.value {
            // The parser knows no type for the sum and the count of a histogram.
            Sample::Counter(value) | Sample::Gauge(value) | Sample::Untyped(value) => value,
            Sample::Histogram(buckets) => {
                parsed += buckets.len();
                continue;
            }
            Sample::Summary(_) => panic!("{} is a summary", sample.metric),
        };
        parsed += 1;
        values.insert(format!("{} {labels:?}", sample.metric), value);
    }
    assert_eq!(parsed, samples, "the parser reads every line:\n{text}");
    values
}

/// Fails unless the metrics with these names and labels grow by these values during `action`.
#[track_caller]
fn assert_metrics_grow(hub: &Hub<'_>, expected: &[(&str, f64)], action: impl FnOnce()) {
    let before = scrape(hub);
    action();
    let find = |all: &BTreeMap<String, f64>, key: &str| all.get(key).copied().unwrap_or(0.0);
    wait_until(format!("the metrics grow: {expected:?}"), || {
        let after = scrape(hub);
        let has_grown = |(key, by): &(&str, f64)| find(&after, key) - find(&before, key) == *by;
        some_if(expected.iter().all(has_grown))
    });
}

#[test]
fn each_metric_counts_its_events() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let tools = home.file("tools.json");
    let mut read =
        json!({"name": "read", "description": "Reads", "inputSchema": {"type": "object"}});
    read["annotations"] = json!({"readOnlyHint": true, "idempotentHint": true});
    std::fs::write(&tools, json!([read]).to_string()).expect("written");
    FaultyServer::add(
        &hub,
        "s",
        &json!({}),
        &["--tools", &paths::path_text(&tools)],
    )
    .wait_until_synced();
    let mut spec = hub.show_server("s")["spec"].clone();
    spec["cache_results_ms"] = 600_000.into();
    hub.run_verb("servers.update", &json!({"id": "s", "spec": spec}));
    let client = hub.connect_client("desk");

    assert_metrics_grow(
        &hub,
        &[
            (r#"drawbridge_client_sessions_created_total {}"#, 1.0),
            (r#"drawbridge_client_sessions_closed_total {}"#, 1.0),
            (r#"drawbridge_client_sessions_active {}"#, 0.0),
        ],
        || hub.connect_client("guest").end_session(),
    );
    assert_metrics_grow(
        &hub,
        &[
            (
                r#"drawbridge_tool_calls_total {"client": "desk", "outcome": "ok", "server": "s", "tool": "echo"}"#,
                1.0,
            ),
            (
                r#"drawbridge_tool_call_duration_seconds_count {"client": "desk", "server": "s", "tool": "echo"}"#,
                1.0,
            ),
            // {"text":"12345678"} has 19 bytes, which count as 5 tokens.
            (
                r#"drawbridge_tool_call_tokens_total {"client": "desk", "direction": "sent", "server": "s", "tool": "echo"}"#,
                5.0,
            ),
            (r#"drawbridge_tool_calls_running {}"#, 0.0),
        ],
        || drop(client.call("s__echo", r#"{"text":"12345678"}"#)),
    );
    let results = |result: &str| {
        format!(r#"drawbridge_cache_requests_total {{"cache": "results", "result": "{result}"}}"#)
    };
    assert_metrics_grow(
        &hub,
        &[
            (&results("miss"), 1.0),
            (&results("hit"), 1.0),
            (
                r#"drawbridge_cache_refreshes_total {"cache": "results"}"#,
                1.0,
            ),
        ],
        || {
            client.call("s__read", "{}");
            client.call("s__read", "{}");
        },
    );
    assert_metrics_grow(
        &hub,
        &[(
            r#"drawbridge_cache_requests_total {"cache": "catalog", "result": "hit"}"#,
            1.0,
        )],
        || drop(client.list_tools()),
    );
    assert_metrics_grow(
        &hub,
        &[(
            r#"drawbridge_cache_refreshes_total {"cache": "catalog"}"#,
            1.0,
        )],
        || drop(home.cli(&["servers", "sync", "s"]).expect_success()),
    );
    assert_metrics_grow(
        &hub,
        &[(
            r#"drawbridge_tool_calls_total {"client": "desk", "outcome": "denied", "server": "", "tool": "unknown"}"#,
            2.0,
        )],
        || {
            client.call("made_up_1", "{}");
            client.call("made_up_2", "{}");
        },
    );
    assert_metrics_grow(
        &hub,
        &[(r#"drawbridge_client_session_errors_total {}"#, 1.0)],
        || {
            get(&hub, "/metrics", &[("Authorization", "Bearer wrong")]);
        },
    );
    // The server crashes during a call, and the next call starts it again.
    assert_metrics_grow(
        &hub,
        &[
            (
                r#"drawbridge_server_sessions_errors_total {"server": "s"}"#,
                1.0,
            ),
            (
                r#"drawbridge_server_sessions_created_total {"server": "s"}"#,
                1.0,
            ),
            (
                r#"drawbridge_server_sessions_closed_total {"server": "s"}"#,
                1.0,
            ),
            (
                r#"drawbridge_tool_calls_total {"client": "desk", "outcome": "unknown", "server": "s", "tool": "die"}"#,
                1.0,
            ),
        ],
        || {
            client.call("s__die", "{}");
            client.call("s__echo", "{}");
        },
    );
    hub.set_policy("s", "ask");
    let labels = |decision: &str| {
        format!(r#"{{"client": "desk", "decision": "{decision}", "server": "s", "tool": "echo"}}"#)
    };
    let approvals = |decision: &str| format!("drawbridge_approvals_total {}", labels(decision));
    assert_metrics_grow(
        &hub,
        &[
            (
                r#"drawbridge_approvals_asked_total {"client": "desk", "server": "s", "tool": "echo"}"#,
                3.0,
            ),
            (&approvals("approved"), 1.0),
            (&approvals("denied"), 1.0),
            (&approvals("no_screen"), 1.0),
            (r#"drawbridge_approval_wait_seconds_count {}"#, 3.0),
            (r#"drawbridge_approvals_waiting {}"#, 0.0),
        ],
        || {
            for decision in ["approve", "deny"] {
                let call = client.spawn_call("s__echo", "{}");
                let waiting = hub.wait_for_approval();
                let waiting_now = scrape(&hub)["drawbridge_approvals_waiting {}"];
                assert_eq!(waiting_now, 1.0, "a scrape decides nothing");
                let id = waiting["id"].as_str().expect("an id");
                home.cli(&["approvals", decision, id]).expect_success();
                call.join().expect("an answer");
            }
            hub.set_approval_timeout(5);
            let answer = client.call("s__echo", "{}");
            assert!(answer.is_error(), "{}", answer.raw);
        },
    );
    let now = scrape(&hub);
    for (key, at_least) in [
        (r#"drawbridge_server_sessions_active {"server": "s"}"#, 1.0),
        (r#"drawbridge_server_processes {"server": "s"}"#, 1.0),
        (r#"drawbridge_servers {"state": "active"}"#, 1.0),
        (
            r#"drawbridge_server_tool_list_tokens {"server": "s"}"#,
            10.0,
        ),
        (
            r#"drawbridge_client_tool_list_tokens {"client": "desk"}"#,
            10.0,
        ),
        (r#"drawbridge_journal_waiting_writes {}"#, 0.0),
        ("process_start_time_seconds {}", 1_600_000_000.0),
    ] {
        assert!(now[key] >= at_least, "{key}: {:?}", now.get(key));
    }
}

#[test]
fn only_an_administrator_reads_metrics_and_progress() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let token = format!("Bearer {}", hub.add_client("desk"));
    for path in ["/metrics", "/ws/progress"] {
        assert_eq!(get(&hub, path, &[]).status, 401, "{path}");
        let as_client = get(&hub, path, &[("Authorization", &token)]);
        assert_eq!(as_client.status, 403, "{path}");
        let foreign = [
            ("Authorization", admin_header()),
            ("Host", "evil.example".into()),
        ];
        let foreign = foreign
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        assert_eq!(get(&hub, path, &foreign).status, 403, "{path}");
    }
    let plain = get(&hub, "/ws/progress", &[("Authorization", &admin_header())]);
    assert_eq!(plain.status, 400, "no WebSocket");
}

#[test]
fn health_covers_each_part_and_hides_paths_from_programs_without_a_token() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    home.cli(&["servers", "enable", "memory"]).expect_success();
    let mut spec = json!({"name": "later", "visibility": "deferred"});
    spec["command"] = paths::path_text(paths::built_binary("upstream-faulty")).into();
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced("later");
    let folder = paths::path_text(home.data_dir());
    let read = |headers: &[(&str, &str)]| -> (String, Value) {
        let text = get(&hub, "/health", headers).text().expect("a text");
        let health = serde_json::from_str(&text).expect("JSON");
        (text, health)
    };

    let (text, health) = read(&[]);
    assert!(!text.contains(&folder), "{text}");
    assert_eq!(health["ready"], true, "{text}");
    assert_eq!(health["status"], "ok", "{text}");
    let names = health["builtin_tools"]["names"].as_array().expect("names");
    for tool in ["tool_search", "tool_call", "store_memory"] {
        assert!(names.contains(&json!(tool)), "{tool}: {text}");
    }
    assert_eq!(health["builtin_tools"]["total"], names.len());
    assert_eq!(health["servers"]["states"], json!([]));
    let names = health["transports"].as_array().expect("a list").iter();
    let names: Vec<_> = names.map(|transport| &transport["name"]).collect();
    assert_eq!(names, ["http", "local"]);

    let (_, health) = read(&[("Authorization", &admin_header())]);
    let states = json!([{"id": "later", "state": "active"}]);
    assert_eq!(health["servers"]["states"], states);
    let by_cli = home.cli(&["health", "--json"]).expect_json();
    assert_eq!(by_cli["servers"]["states"], states);
    let shown = home.cli(&["health"]).expect_success().stdout();
    assert!(
        shown.contains("server later") && shown.contains("database"),
        "{shown}"
    );

    std::fs::rename(home.data_dir().join("servers"), home.file("away")).expect("moved");
    let (text, health) = read(&[]);
    assert_eq!(health["ready"], false, "{text}");
    assert_eq!(health["status"], "degraded", "{text}");
    assert!(!text.contains(&folder), "{text}");
    std::fs::rename(home.file("away"), home.data_dir().join("servers")).expect("moved back");
    assert_eq!(read(&[]).1["ready"], true);
}

#[test]
fn stats_count_calls_by_tool_client_and_time() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    FaultyServer::add(&hub, "s", &json!({}), &[]).wait_until_synced();
    let (desk, phone) = (hub.connect_client("desk"), hub.connect_client("phone"));
    for _ in 0..3 {
        desk.call("s__echo", r#"{"text":"12345678"}"#);
    }
    phone.call("s__die", "{}");
    hub.set_policy("s/echo", "deny");
    phone.call("s__echo", "{}");

    let stats = hub.run_verb(
        "calls.stats",
        &json!({"period": "hour", "group_by": "tool"}),
    );
    let total = &stats["total"];
    assert_eq!(
        (&total["calls"], &total["errors"], &total["not_allowed"]),
        (&json!(5), &json!(1), &json!(1)),
        "{stats}"
    );
    assert_eq!(total["sent_tokens"], 15);
    assert!(
        total["p50_ms"].is_u64() && total["p95_ms"].is_u64(),
        "{stats}"
    );
    let series = stats["series"].as_array().expect("a series");
    let in_series: u64 = series
        .iter()
        .filter_map(|step| step["calls"].as_u64())
        .sum();
    assert_eq!((series.len(), in_series), (12, 5));
    let first = &stats["groups"][0];
    assert_eq!(
        (&first["name"], &first["server"], &first["stats"]["calls"]),
        (&json!("echo"), &json!("s"), &json!(4))
    );

    let by_client = [
        "calls", "stats", "--period", "month", "--by", "client", "--json",
    ];
    let by_client = home.cli(&by_client).expect_json();
    let groups = by_client["groups"].as_array().expect("groups");
    let counts: Vec<_> = groups
        .iter()
        .map(|group| (group["name"].as_str(), group["stats"]["calls"].as_u64()))
        .collect();
    assert_eq!(counts, [(Some("desk"), Some(3)), (Some("phone"), Some(2))]);
    let only = ["calls", "stats", "--client", "phone", "--tool", "die"];
    let shown = home.cli(&only).expect_success().stdout();
    assert!(
        shown.lines().any(|line| line.starts_with("total")),
        "{shown}"
    );
}

/// Connects to `/ws/progress`.
fn watch_progress(hub: &Hub<'_>) -> WebSocket<TcpStream> {
    let authority = Url::parse(&hub.url).authority;
    let mut request = format!("ws://{authority}/ws/progress")
        .into_client_request()
        .expect("a request");
    let bearer = admin_header().parse().expect("a header");
    request.headers_mut().insert("Authorization", bearer);
    let stream = TcpStream::connect(authority).expect("connected");
    tungstenite::client(request, stream).expect("a WebSocket").0
}

/// Returns the next message of this type.
fn next_of_type(socket: &mut WebSocket<TcpStream>, kind: &str) -> Value {
    loop {
        if let Message::Text(text) = socket.read().expect("a message") {
            let message: Value = serde_json::from_str(&text).expect("JSON");
            if message["type"] == kind {
                return message;
            }
        }
    }
}

#[test]
fn progress_of_a_long_call_is_seen_and_a_person_cancels_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_everything();
    let mut socket = watch_progress(&hub);
    assert_eq!(next_of_type(&mut socket, "running")["calls"], json!([]));
    let client = hub.connect_client("desk");
    let params = json!({
        "name": LONG_TOOL,
        "arguments": {"duration": 60, "steps": 120},
        "_meta": {"progressToken": 7},
    });
    let call = std::thread::spawn(move || client.request("tools/call", &params.to_string()));
    let started = next_of_type(&mut socket, "started");
    let id = started["call"]["id"].as_str().expect("an id").to_owned();
    let progress = next_of_type(&mut socket, "progress");
    assert_eq!(
        (&progress["id"], &progress["total"]),
        (&json!(id), &json!(120.0)),
        "{progress}"
    );
    let mut second_socket = watch_progress(&hub);
    let running = next_of_type(&mut second_socket, "running");
    assert_eq!(running["calls"][0]["call"]["id"], json!(id));
    let shown = home.cli(&["calls", "running"]).expect_success().stdout();
    assert!(shown.contains(&id) && shown.contains("of 120"), "{shown}");

    home.cli(&["calls", "cancel", &id]).expect_success();
    let answer = call.join().expect("an answer");
    assert!(answer.is_error(), "{}", answer.raw);
    assert!(
        answer.text().contains("The user cancelled this call"),
        "{}",
        answer.raw
    );
    let end_event = next_of_type(&mut socket, "ended");
    assert_eq!(
        (&end_event["id"], &end_event["outcome"]),
        (&json!(id), &json!("cancelled"))
    );
    let record = home.cli(&["calls", "show", &id, "--json"]).expect_json();
    assert_eq!(record["error"], "the user cancelled the call");
    let second_output = home.cli(&["calls", "cancel", &id]);
    assert_eq!(second_output.exit_code(), 1);
    assert!(
        second_output.stderr().contains("is not running"),
        "{}",
        second_output.stderr()
    );
}

#[test]
fn a_reader_of_the_progress_is_told_that_the_port_changes() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let mut socket = watch_progress(&hub);
    next_of_type(&mut socket, "running");
    let port = find_free_port().to_string();
    home.cli(&["settings", "set", "port", &port])
        .expect_success();
    let reason = loop {
        if let Message::Close(frame) = socket.read().expect("a message") {
            break frame.expect("a reason").reason;
        }
    };
    assert!(reason.contains("listens on another port"), "{reason}");
}

#[test]
fn a_cancelled_call_is_cancelled_at_its_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = FaultyServer::add(&hub, "s", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let call = client.spawn_call("s__hang", "{}");
    let received_call = wait_until("the server has the call", || {
        server.received_calls("hang").first().cloned()
    });
    let running = hub.run_verb("calls.running", &json!({}));
    hub.run_verb("calls.cancel", &json!({"id": running[0]["call"]["id"]}));
    let answer = call.join().expect("an answer");
    assert!(answer.is_error(), "{}", answer.raw);
    let cancelled = wait_until("the server is told", || {
        server.received_by_method("notifications/cancelled").pop()
    });
    assert_eq!(cancelled["params"]["requestId"], received_call["id"]);
    assert_eq!(hub.run_verb("calls.running", &json!({})), json!([]));
}

/// Calls a tool with a `traceparent`, and with a text that is easily found.
fn call_traced(client: &McpClient, tool: &str) -> Value {
    let params = json!({
        "name": tool,
        "arguments": {"text": "only-in-arguments"},
        "_meta": {"traceparent": TRACEPARENT, "tracestate": "a=b", "other": 1.50},
    });
    client.request("tools/call", &params.to_string()).result()
}

fn start_traces(hub: &Hub<'_>, collector: &Collector, change: Value) {
    let mut settings = json!({"otlp_endpoint": collector.url()});
    let members = change.as_object().expect("an object").clone();
    settings.as_object_mut().expect("an object").extend(members);
    hub.run_verb("settings.change", &settings);
}

/// Waits for the spans of a call: of the client's request, of the approval and of Drawbridge's
/// request to the server.
fn wait_for_call_spans(collector: &Collector) -> [ReceivedSpan; 3] {
    wait_until("the collector has all spans", || {
        let spans = collector.spans();
        let find = |name: &str, kind| {
            let is_match = |span: &&ReceivedSpan| span.name == name && span.kind == kind;
            spans.iter().find(is_match).cloned()
        };
        Some([
            find("tools/call s__echo", "server")?,
            find("approval echo", "internal")?,
            find("tools/call echo", "client")?,
        ])
    })
}

#[test]
fn traces_show_the_call_the_person_and_the_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = FaultyServer::add(&hub, "s", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");

    // Without a collector, the client's trace context reaches the server as it was sent.
    call_traced(&client, "s__echo");
    let meta = &server.received_calls("echo")[0]["params"]["_meta"];
    assert_eq!(
        meta,
        &json!({"traceparent": TRACEPARENT, "tracestate": "a=b", "other": 1.50})
    );

    let collector = Collector::start();
    start_traces(&hub, &collector, json!({}));
    hub.set_policy("s", "ask");
    let calling_client = client.second_handle();
    let call = std::thread::spawn(move || call_traced(&calling_client, "s__echo"));
    let waiting = hub.wait_for_approval();
    let id = waiting["id"].as_str().expect("an id");
    home.cli(&["approvals", "approve", id]).expect_success();
    call.join().expect("an answer");
    let [request, approval, sent] = wait_for_call_spans(&collector);

    assert_eq!(request.trace_id, TRACE_ID);
    assert_eq!(request.parent, "b7ad6b7169203331");
    assert_eq!(request.trace_state, "a=b");
    for child in [&approval, &sent] {
        assert_eq!(
            (&child.trace_id, &child.parent),
            (&request.trace_id, &request.span_id)
        );
        assert!(child.start >= request.start && child.end <= request.end);
    }
    assert!(
        approval.end <= sent.start,
        "the person decides before the call is sent"
    );
    let session = client.session_id().expect("a session").to_owned();
    for (span, key, value) in [
        (&request, "mcp.method.name", "tools/call"),
        (&request, "gen_ai.tool.name", "s__echo"),
        (&request, "gen_ai.operation.name", "execute_tool"),
        (&request, "mcp.session.id", &session),
        (&request, "mcp.protocol.version", "2025-06-18"),
        (&request, "drawbridge.client", "desk"),
        (&approval, "drawbridge.approval.decision", "Allowed"),
        (&sent, "mcp.method.name", "tools/call"),
        (&sent, "gen_ai.tool.name", "echo"),
        (&sent, "network.transport", "pipe"),
        (&sent, "drawbridge.server", "s"),
    ] {
        assert_eq!(span.attribute(key), Some(value), "{key} of {}", span.name);
    }
    assert!(sent.attribute("jsonrpc.request.id").is_some());
    let meta = server.received_calls("echo")[1]["params"]["_meta"].clone();
    let parent = format!("00-{TRACE_ID}-{}-01", sent.span_id);
    assert_eq!(
        meta,
        json!({"traceparent": parent, "tracestate": "a=b", "other": 1.50}),
        "the server's spans belong below Drawbridge's own"
    );
    assert!(
        !collector.text().contains("only-in-arguments"),
        "no arguments by default"
    );
    assert_eq!(
        collector.resource("service.name").as_deref(),
        Some("drawbridge")
    );
}

#[test]
fn traces_have_failures_and_the_headers_and_arguments_that_the_settings_add() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    FaultyServer::add(&hub, "s", &json!({}), &[]).wait_until_synced();
    let collector = Collector::start();
    let refused = hub.try_verb(
        "settings.change",
        &json!({"otlp_headers": {"authorization": "Bearer plain"}}),
    );
    assert_eq!(refused.0, 400, "a secret in plain text: {}", refused.1);
    start_traces(
        &hub,
        &collector,
        json!({"otlp_headers": {"x-team": "tools"}, "otlp_content": true}),
    );
    let shown = home
        .cli(&["settings", "get", "otlp-headers"])
        .expect_success();
    assert_eq!(shown.stdout().trim(), "x-team=tools");
    let client = hub.connect_client("desk");
    call_traced(&client, "s__echo");
    client.call("s__die", "{}");
    let (echo, failed) = wait_until("the collector has the spans", || {
        let spans = collector.spans();
        let find = |name: &str| spans.iter().find(|span| span.name == name).cloned();
        Some((find("tools/call s__echo")?, find("tools/call die")?))
    });
    let arguments = echo.attribute("gen_ai.tool.call.arguments");
    assert!(arguments.is_some_and(|text| text.contains("only-in-arguments")));
    assert!(echo.attribute("gen_ai.tool.call.result").is_some());
    assert_eq!(failed.attribute("error.type"), Some("connection_lost"));
    assert!(failed.is_error);
    assert_eq!(collector.header("x-team").as_deref(), Some("tools"));

    // If a client does not record its span, Drawbridge records no span of that request either.
    let unsampled = TRACEPARENT.replace("-01", "-00");
    let params = json!({"name": "s__echo", "arguments": {}, "_meta": {"traceparent": unsampled}});
    client.request("tools/call", &params.to_string()).result();
    client.list_tools();
    let spans = wait_until("the span of a later request arrives", || {
        let spans = collector.spans();
        let is_later = |span: &ReceivedSpan| span.name == "tools/list";
        spans.iter().any(is_later).then_some(spans)
    });
    let below_client = |span: &&ReceivedSpan| span.parent == "b7ad6b7169203331";
    assert_eq!(spans.iter().filter(below_client).count(), 1);
}

#[test]
fn a_refusing_or_silent_collector_disturbs_no_call_and_dropped_spans_are_counted() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    FaultyServer::add(&hub, "s", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let collector = Collector::refusing();
    start_traces(&hub, &collector, json!({}));
    for _ in 0..5 {
        assert!(!client.call("s__echo", r#"{"text":"x"}"#).is_error());
    }
    let dropped = r#"drawbridge_spans_total {"result": "dropped"}"#;
    wait_until("the dropped spans are counted", || {
        some_if(
            scrape(&hub)
                .get(dropped)
                .is_some_and(|count| *count >= 10.0),
        )
    });
    let lines = home.cli(&["logs", "--json"]).expect_success().stdout();
    assert!(lines.contains("spans were dropped"), "{lines}");

    // The hub ends although the collector never answers.
    let silent = Collector::silent();
    start_traces(&hub, &silent, json!({}));
    assert!(!client.call("s__echo", r#"{"text":"x"}"#).is_error());
    hub.stop(nix::sys::signal::Signal::SIGTERM);
}
