//! The logs: the history over restarts, floods, the lines of a call, the files, and `/api/logs`.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use drawbridge_tests::{
    FaultyServer, Home, Hub,
    http::{Request, Url},
    hub::ADMIN_TOKEN,
    wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// Adds a server that writes to stderr on request.
#[track_caller]
fn add_server(hub: &Hub<'_>, id: &str) {
    FaultyServer::add(hub, id, &json!({}), &[]).wait_until_synced();
}

#[track_caller]
fn list_lines(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let lines = home
        .cli(&[&["logs", "--json"], arguments].concat())
        .expect_json();
    lines.as_array().expect("a list").clone()
}

fn get_logs(hub: &Hub<'_>, query: &str, token: &str) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let request = Request {
        method: "GET",
        url: &Url::parse(&hub.url).with_path(&format!("/api/logs{query}")),
        headers: &[("Authorization", &bearer)],
        body: b"",
    };
    let response = request.send().expect("an answer");
    let status = response.status;
    let text = response.text().expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

#[test]
fn lines_from_before_a_restart_are_shown_with_and_without_a_hub() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_server(&hub, "one");
    let before = list_lines(&home, &["--server", "one"]);
    assert!(!before.is_empty());
    hub.stop(Signal::SIGTERM);

    let offline = list_lines(&home, &["--limit", "5000"]);
    // Each start of the hub logs that the hub opened the data folder.
    let count_openings = |lines: &[Value]| {
        let is_opening = |line: &&Value| {
            line["text"]
                .as_str()
                .is_some_and(|text| text.contains(" opened "))
        };
        lines.iter().filter(is_opening).count()
    };
    assert_eq!(
        list_lines(&home, &["--limit", "5000"]).len(),
        offline.len(),
        "reading the folder adds no lines"
    );
    assert!(
        offline.iter().any(|line| *line == before[0]),
        "{:?}",
        before[0]
    );

    let hub = Hub::serve(&home);
    let all = list_lines(&home, &["--limit", "5000"]);
    assert_eq!(
        count_openings(&all),
        count_openings(&offline) + 1,
        "one more start"
    );
    assert_eq!(list_lines(&home, &["--server", "one"])[0], before[0]);
    let numbers: Vec<_> = all.iter().map(|line| line["seq"].as_u64()).collect();
    assert!(
        numbers.is_sorted_by(|a, b| a < b),
        "the numbers go on: {numbers:?}"
    );

    let last = all.last().expect("a line");
    let since = last["at"].as_i64().expect("a time");
    let recent = hub.run_verb("logs.list", &json!({"since": since}));
    assert!(
        recent["lines"]
            .as_array()
            .is_some_and(|lines| lines.len() < all.len()
                && lines.iter().all(|line| line["at"].as_i64() >= Some(since))),
        "{recent}"
    );
    home.cli(&["servers", "remove", "one"]).expect_success();
    let folder = home.data_dir().join("logs/servers");
    wait_until("the log is deleted with its server", || {
        some_if(!folder.join("one.log").exists())
    });
}

#[test]
fn a_flood_of_one_server_is_counted_and_leaves_the_lines_of_another_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_server(&hub, "quiet");
    add_server(&hub, "loud");
    hub.set_policy("loud", "allow");
    let quiet = list_lines(&home, &["--server", "quiet"]);
    let client = hub.connect_client("desk");
    client.call(
        "loud__flood",
        &json!({"kind": "stderr", "bytes": 4 << 20}).to_string(),
    );
    wait_until(
        "the dropped lines are counted, without another line of the server",
        || {
            let counted = list_lines(
                &home,
                &["--server", "loud", "--text", "because there were too many"],
            );
            some_if(!counted.is_empty())
        },
    );
    assert_eq!(list_lines(&home, &["--server", "quiet"]), quiet);
}

#[test]
fn decisions_and_messages_name_their_call_and_are_found_after_a_restart() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_server(&hub, "one");
    hub.set_policy("one", "allow");
    let client = hub.connect_client("desk");
    client.call(
        "one__flood",
        &json!({"kind": "message", "count": 20}).to_string(),
    );
    let calls = hub.run_verb("calls.list", &json!({"limit": 1}));
    let id = calls[0]["id"].as_str().expect("an id").to_owned();
    hub.set_policy("one", "deny");
    client.call("one__echo", r#"{"text": "not-for-the-log"}"#);

    let call_lines = list_lines(&home, &["--call", &id]);
    assert!(call_lines.iter().all(|line| line["call"] == id.as_str()));
    let count_containing = |part: &str| {
        let has_part = |line: &&Value| line["text"].as_str().is_some_and(|t| t.contains(part));
        call_lines.iter().filter(has_part).count()
    };
    assert_eq!(
        count_containing("was allowed by the rule"),
        1,
        "{call_lines:?}"
    );
    assert!(
        call_lines.iter().any(|line| line["kind"] == "message"),
        "{call_lines:?}"
    );
    let denied = list_lines(&home, &["--text", "one__echo"]);
    assert_eq!(denied.len(), 1, "{denied:?}");
    assert_eq!(denied[0]["level"], "info");
    assert!(list_lines(&home, &["--text", "not-for-the-log"]).is_empty());

    hub.stop(Signal::SIGTERM);
    assert_eq!(
        list_lines(&home, &["--call", &id]),
        call_lines,
        "without a hub"
    );
    let hub = Hub::serve(&home);
    assert_eq!(
        list_lines(&home, &["--call", &id]),
        call_lines,
        "after a restart"
    );
    let mut newest_first = Vec::new();
    let mut before = Value::Null;
    loop {
        let page = hub.run_verb("logs.list", &json!({"limit": 3, "before": before}));
        let lines = page["lines"].as_array().expect("lines");
        assert!(lines.len() <= 3, "{lines:?}");
        newest_first.extend(lines.iter().rev().cloned());
        before = page["older"].clone();
        if before.is_null() {
            break;
        }
    }
    for line in &call_lines {
        let count = newest_first.iter().filter(|other| *other == line).count();
        assert_eq!(count, 1, "{line}");
    }
}

#[test]
fn only_this_user_can_read_the_files_of_the_log() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_server(&hub, "one");
    let folder = home.data_dir().join("logs");
    wait_until("the server has a file", || {
        some_if(folder.join("servers/one.log").is_file())
    });
    let mode = |path: &Path| {
        let metadata = fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        metadata.permissions().mode() & 0o777
    };
    for place in [&folder, &folder.join("servers")] {
        assert_eq!(mode(place), 0o700);
        for entry in fs::read_dir(place).expect("the folder") {
            let path = entry.expect("an entry").path();
            assert!(path.is_dir() || mode(&path) == 0o600, "{}", path.display());
        }
    }
}

#[test]
fn a_script_reads_the_log_over_http() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_server(&hub, "one");
    let (status, lines) = get_logs(&hub, "?server=one&level=info&limit=1&since=0", ADMIN_TOKEN);
    assert_eq!(status, 200);
    assert_eq!(lines.as_array().map(Vec::len), Some(1), "{lines}");
    assert_eq!(lines[0]["server"], "one", "{lines}");
    for bad in ["?level=loud", "?limit=many", "?colour=red", "?since=today"] {
        assert_eq!(get_logs(&hub, bad, ADMIN_TOKEN).0, 400, "{bad}");
    }
    assert_eq!(get_logs(&hub, "", "wrong").0, 401);
    let client = hub.add_client("desk");
    assert_eq!(get_logs(&hub, "", &client).0, 403, "clients read no log");
}
