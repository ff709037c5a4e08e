//! The audit log: changes of the records are detected, calls can be found and exported, and unknown
//! tokens and changes by hand are listed.

use drawbridge_tests::{
    Home, Hub,
    http::{Request, Url},
    hub, paths,
    wait::{some_if, wait_until},
};
use nix::sys::signal::Signal;
use serde_json::Value;
use sqlx::{Connection, SqliteConnection, sqlite::SqliteConnectOptions};

/// Changes the database as an attacker without the key can.
#[track_caller]
fn run_sql(home: &Home, sql: &'static str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let file = SqliteConnectOptions::new().filename(home.data_dir().join("drawbridge.db"));
        let mut connection = SqliteConnection::connect_with(&file)
            .await
            .expect("open the database");
        sqlx::raw_sql(sql)
            .execute(&mut connection)
            .await
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
        connection.close().await.expect("close the database");
    });
}

#[test]
fn verification_finds_the_position_of_a_forged_call() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    for round in 0..5 {
        client.call("probe__echo", &format!(r#"{{"round":{round}}}"#));
    }
    let output = home.cli(&["audit", "verify"]).expect_success().stdout();
    assert!(
        output.contains("entries from 20") && output.starts_with("Verified"),
        "{output}"
    );
    let verified = home.cli(&["audit", "verify", "--json"]).expect_json();
    assert!(
        verified["entries"].as_u64() >= Some(10),
        "each call has two entries: {verified}"
    );

    run_sql(
        &home,
        "UPDATE call SET tool = 'delete' WHERE id = (SELECT id FROM call ORDER BY id LIMIT 1 OFFSET 2)",
    );
    let changed = home.cli(&["audit", "verify"]);
    assert_eq!(changed.exit_code(), 1, "the running hub finds the change");
    hub.stop(Signal::SIGTERM);
    let offline = home.cli(&["audit", "verify"]);
    assert_eq!(
        (offline.exit_code(), offline.stdout().as_str()),
        (1, ""),
        "the change is found without a running hub"
    );
    assert_eq!(offline.stderr(), changed.stderr());
    let json_output = home.cli(&["audit", "verify", "--json"]);
    let report: Value = serde_json::from_str(&json_output.stdout()).expect("one JSON document");
    let calls = home.cli(&["audit", "export"]).expect_success().stdout();
    let third: Value =
        serde_json::from_str(calls.lines().nth(2).expect("a third entry")).expect("JSON");
    assert_eq!(
        report["broken"]["seq"], third["seq"],
        "the report names the changed entry: {report}"
    );
    assert!(
        offline
            .stderr()
            .contains(third["id"].as_str().expect("an id")),
        "the error names the changed call: {}",
        offline.stderr()
    );

    run_sql(&home, "UPDATE call SET tool = 'echo' WHERE tool = 'delete'");
    home.cli(&["audit", "verify"]).expect_success();
    run_sql(
        &home,
        "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
    );
    let truncated = home.cli(&["audit", "verify"]);
    assert_eq!(truncated.exit_code(), 1);
    assert!(
        truncated.stderr().contains("cut off at its end"),
        "{}",
        truncated.stderr()
    );
}

#[test]
fn calls_are_found_by_their_arguments_and_exported_without_their_secrets() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    let client = hub.connect_client("desk");
    client.call(
        "probe__echo",
        r#"{"path":"/srv/report","password":"hunter2","n":1.50}"#,
    );
    client.call("probe__echo", r#"{"path":"=2+3"}"#);
    let calls = home
        .cli(&[
            "calls",
            "list",
            "--text",
            "SRV/Report",
            "--decision",
            "allowed",
            "--json",
        ])
        .expect_json();
    let [call] = &calls.as_array().expect("calls")[..] else {
        panic!("expected one call: {calls}")
    };
    assert!(
        call.get("arguments").is_none(),
        "the list contains no arguments: {call}"
    );
    let details = home
        .cli(&[
            "calls",
            "show",
            call["id"].as_str().expect("an id"),
            "--json",
        ])
        .expect_json();
    assert_eq!(
        details["arguments"],
        r#"{"path":"/srv/report","password":"•••","n":1.50}"#
    );
    assert_eq!(
        home.cli(&["calls", "list", "--until", "1h", "--json"])
            .expect_json(),
        serde_json::json!([])
    );

    let file = home.file("calls.csv");
    let name = paths::path_text(&file);
    std::fs::write(&file, "an earlier file\n".repeat(1_000)).expect("write a file");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&file, everybody).expect("set the mode");
    home.cli(&[
        "audit", "export", "--format", "csv", "--since", "1h", "--output", &name,
    ])
    .expect_success();
    let metadata = std::fs::metadata(&file).expect("the export");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777,
        0o600,
        "nobody else can read a file that existed before"
    );
    let csv = std::fs::read_to_string(&file).expect("the export");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(
        !csv.contains("hunter2") && csv.contains(r#"""password"":""•••"""#),
        "{csv}"
    );
    let lines = home.cli(&["audit", "export"]).expect_success().stdout();
    assert_eq!(lines.lines().count(), 2);
    let exported = home.cli(&["audit", "export", "--json"]).expect_json();
    assert_eq!(
        exported.as_array().map(Vec::len),
        Some(2),
        "the export is one JSON array: {exported}"
    );
    assert!(
        lines
            .lines()
            .all(|line| line.contains(r#""arguments_digest":"#) && line.contains(r#""hash":"#)),
        "{lines}"
    );
}

/// Starts a hub, makes calls, waits until `audit.head` names an entry of the last call, and stops
/// the hub with `signal`.
fn make_calls_and_stop(home: &Home, count: u32, signal: Signal) {
    let hub = Hub::serve(home);
    let head = home.data_dir().join("audit.head");
    let read_head = || -> u32 {
        let text = std::fs::read_to_string(&head).expect("the head file");
        let number = text.split(' ').next().expect("a number");
        number.parse().expect("a number")
    };
    let before = read_head();
    let client = hub.connect_client(&format!("desk-{count}"));
    for _ in 0..count {
        client.call("probe__echo", "{}");
    }
    // Each call has two entries.
    wait_until("the head of the audit log is saved", || {
        some_if(read_head() >= before + 2 * count)
    });
    hub.stop(signal);
}

#[test]
fn an_older_database_and_a_lost_write_ahead_log_are_detected_and_a_crash_is_not_reported() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.stop(Signal::SIGTERM);
    make_calls_and_stop(&home, 3, Signal::SIGKILL);
    home.cli(&["audit", "verify"]).expect_success();

    let database = home.data_dir().join("drawbridge.db");
    let copy = home.file("copy.db");
    run_sql(&home, "PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::copy(&database, &copy).expect("copy the database");
    make_calls_and_stop(&home, 5, Signal::SIGTERM);
    home.cli(&["audit", "verify"]).expect_success();
    let latest = home.file("latest.db");
    run_sql(&home, "PRAGMA wal_checkpoint(TRUNCATE)");
    std::fs::copy(&database, &latest).expect("copy the database");
    let head = std::fs::read(home.data_dir().join("audit.head")).expect("the head file");
    std::fs::copy(&copy, &database).expect("put the copy back");
    let verified = home.cli(&["audit", "verify"]);
    assert_eq!(verified.exit_code(), 1);
    assert!(
        verified
            .stderr()
            .contains("the database is older than the file audit.head: ")
            && verified.stderr().contains("are missing"),
        "{}",
        verified.stderr()
    );

    for file in ["drawbridge.db-wal", "drawbridge.db-shm"] {
        let _ = std::fs::remove_file(home.data_dir().join(file));
    }
    std::fs::copy(&latest, &database).expect("restore the database");
    std::fs::write(home.data_dir().join("audit.head"), head).expect("restore the file");
    home.cli(&["audit", "verify"]).expect_success();
    make_calls_and_stop(&home, 7, Signal::SIGKILL);
    std::fs::remove_file(home.data_dir().join("drawbridge.db-wal"))
        .expect("remove the write-ahead log");
    let verified = home.cli(&["audit", "verify"]);
    assert_eq!(verified.exit_code(), 1);
    assert!(
        verified.stderr().contains("the database is older"),
        "{}",
        verified.stderr()
    );
    let broken = home
        .cli(&["audit", "list", "--kind", "broken", "--json"])
        .expect_json();
    assert_eq!(
        broken["entries"].as_array().map(Vec::len),
        Some(1),
        "{broken}"
    );
}

#[test]
fn unknown_tokens_and_changes_by_hand_are_listed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let send = |path: &str, headers: &[(&str, &str)], body: &str| {
        let url = Url::parse(&hub.url).with_path(path);
        let request = Request {
            method: "POST",
            url: &url,
            headers,
            body: body.as_bytes(),
        };
        request.send().expect("an answer").status
    };
    let json = ("Content-Type", "application/json");
    for path in ["/mcp", "/api/verbs/servers.list", "/sse"] {
        let guess = ("Authorization", "Bearer guess");
        let status = send(path, &[guess, json], "{}");
        assert!([401, 405].contains(&status), "{path}: {status}");
    }
    assert_eq!(send("/api/login", &[json], r#"{"code":"guess"}"#), 401);
    hub::write_spec(&home, "dropped", r#"{"command":"true"}"#);
    let list = |kind: &str| {
        let page = home
            .cli(&["audit", "list", "--kind", kind, "--json"])
            .expect_json();
        let entries = page["entries"].as_array().expect("entries").clone();
        entries
            .into_iter()
            .map(|entry| entry["body"].clone())
            .collect::<Vec<Value>>()
    };
    let added = wait_until("the file is recorded", || list("server_added").pop());
    assert_eq!(
        (&added["server"], &added["by"]),
        (&Value::from("dropped"), &Value::from("file"))
    );
    assert_eq!(
        list("token_refused").len(),
        1,
        "the other refusals are recorded later"
    );
    assert_eq!(list("browser_refused").len(), 1);
    hub.stop(Signal::SIGTERM);
    let refused = list("token_refused");
    let counts = refused.iter().filter_map(|body| body["count"].as_u64());
    assert!(counts.sum::<u64>() >= 2, "{refused:?}");
    let text = home.cli(&["audit", "list"]).expect_success().stdout();
    assert!(
        text.contains("server_added") && !text.contains("guess"),
        "{text}"
    );
}
