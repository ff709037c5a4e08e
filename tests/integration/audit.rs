//! The audit: changes of the records are detected, and the audit can be exported.

use drawbridge_tests::{Home, Hub, paths};
use nix::sys::signal::Signal;
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
        connection.close().await.expect("close it");
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
    let said = home.cli(&["audit", "verify"]).expect_success().stdout();
    assert!(
        said.contains("entries from 20") && said.starts_with("Verified"),
        "{said}"
    );
    let before = home.cli(&["audit", "verify", "--json"]).expect_json();
    assert!(
        before["entries"].as_u64() >= Some(10),
        "two for each call: {before}"
    );

    run_sql(
        &home,
        "UPDATE call SET tool = 'delete' WHERE id = (SELECT id FROM call ORDER BY id LIMIT 1 OFFSET 2)",
    );
    let changed = home.cli(&["audit", "verify"]);
    assert_eq!(changed.exit_code(), 1, "the hub that runs finds it");
    hub.stop(Signal::SIGTERM);
    let offline = home.cli(&["audit", "verify"]);
    assert_eq!(
        (offline.exit_code(), offline.stdout().as_str()),
        (1, ""),
        "the folder itself is enough"
    );
    assert_eq!(offline.stderr(), changed.stderr());
    let told = home.cli(&["audit", "verify", "--json"]);
    let report: serde_json::Value =
        serde_json::from_str(&told.stdout()).expect("one JSON document");
    let calls = home.cli(&["audit", "export"]).expect_success().stdout();
    let third: serde_json::Value =
        serde_json::from_str(calls.lines().nth(2).expect("a third")).expect("JSON");
    assert_eq!(
        report["broken"]["seq"], third["seq"],
        "it says where: {report}"
    );
    assert!(
        offline
            .stderr()
            .contains(third["id"].as_str().expect("an id")),
        "and which call: {}",
        offline.stderr()
    );

    run_sql(&home, "UPDATE call SET tool = 'echo' WHERE tool = 'delete'");
    home.cli(&["audit", "verify"]).expect_success();
    run_sql(
        &home,
        "DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)",
    );
    let cut = home.cli(&["audit", "verify"]);
    assert_eq!(cut.exit_code(), 1);
    assert!(
        cut.stderr().contains("cut off at its end"),
        "{}",
        cut.stderr()
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
    let found = home
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
    let [call] = &found.as_array().expect("calls")[..] else {
        panic!("not one call: {found}")
    };
    assert!(call.get("arguments").is_none(), "a list is light: {call}");
    let shown = home
        .cli(&[
            "calls",
            "show",
            call["id"].as_str().expect("an id"),
            "--json",
        ])
        .expect_json();
    assert_eq!(
        shown["arguments"],
        r#"{"path":"/srv/report","password":"•••","n":1.50}"#
    );
    assert_eq!(
        home.cli(&["calls", "list", "--until", "1h", "--json"])
            .expect_json(),
        serde_json::json!([])
    );

    let file = home.file("calls.csv");
    let name = paths::path_text(&file);
    home.cli(&[
        "audit", "export", "--format", "csv", "--since", "1h", "--output", &name,
    ])
    .expect_success();
    let csv = std::fs::read_to_string(&file).expect("the export");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(
        !csv.contains("hunter2") && csv.contains(r#"""password"":""•••"""#),
        "{csv}"
    );
    let lines = home.cli(&["audit", "export"]).expect_success().stdout();
    assert_eq!(lines.lines().count(), 2);
    let all = home.cli(&["audit", "export", "--json"]).expect_json();
    assert_eq!(all.as_array().map(Vec::len), Some(2), "one document: {all}");
    assert!(
        lines
            .lines()
            .all(|line| line.contains(r#""arguments_digest":"#) && line.contains(r#""hash":"#)),
        "{lines}"
    );
}
