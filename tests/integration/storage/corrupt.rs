//! A corrupt database or spec file.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient,
    http::{Request, Url},
    hub::{spec_file, write_spec},
    store,
    wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

fn database_file(home: &Home) -> PathBuf {
    home.data_dir().join("drawbridge.db")
}

/// Damages the database of a hub that has stored an allow, restarts the hub, and checks that the
/// hub allows nothing until a person allows it again.
fn assert_nothing_allowed_after(damage: impl FnOnce(&Home)) {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let token = hub.add_client("desk");
    let client_before = McpClient::connect(&hub.url, &token);
    assert!(
        !client_before.call("faulty__echo", "{}").is_error(),
        "the call is allowed before the damage"
    );
    let starts = faulty.count_starts();
    drop(faulty);
    hub.stop(Signal::SIGTERM);
    store::checkpoint(&home.data_dir());
    damage(&home);
    let damaged = fs::read(database_file(&home)).expect("read the file");

    let hub = Hub::serve(&home);
    let moved_files: Vec<PathBuf> = fs::read_dir(home.data_dir())
        .expect("read the data folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.to_string_lossy().contains("drawbridge.corrupt-")
                && path.extension().is_some_and(|e| e == "db")
        })
        .collect();
    assert_eq!(
        moved_files.len(),
        1,
        "the damaged database was moved aside: {moved_files:?}"
    );
    assert!(
        fs::read(&moved_files[0]).expect("read the file") == damaged,
        "the moved database is unchanged"
    );
    assert!(
        store::passes_integrity_check(&home.data_dir()).expect("read the store"),
        "the new database is sound"
    );
    let log = home.cli(&["logs", "--level", "error", "--json"]).stdout();
    assert!(
        log.contains("corrupt") && log.contains("drawbridge.corrupt-"),
        "the log reports the damage: {log}"
    );

    assert_eq!(
        hub.show_server("faulty")["state"],
        "needs_acceptance",
        "the server needs acceptance again"
    );
    assert!(
        !hub.run_verb("policy.list", &json!({}))
            .to_string()
            .contains("faulty"),
        "no rule survives"
    );
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let response = Request {
        method: "POST",
        url: &Url::parse(&hub.url),
        headers: &headers,
        body: b"{}",
    }
    .send();
    assert_eq!(
        response.expect("an answer").status,
        401,
        "no client survives"
    );
    let client = hub.connect_client("new");
    assert!(
        client.call("faulty__echo", "{}").error_code().is_some(),
        "no tool can be called"
    );
    home.accept_server("faulty");
    hub.wait_until_synced("faulty");
    assert!(
        client.list_tools().contains(&"faulty__echo".to_owned()),
        "the catalog is refreshed"
    );
    let call = client.spawn_call("faulty__echo", "{}");
    let approval = hub.wait_for_approval();
    home.cli(&["approvals", "deny", approval["id"].as_str().expect("an id")])
        .expect_success();
    assert!(
        call.join().expect("an answer").is_error(),
        "the call needs an approval again"
    );
    let record =
        fs::read_to_string(home.file("faulty.record")).expect("read the record of the server");
    assert_eq!(
        record.matches("{\"pid\"").count(),
        starts + 1,
        "the server was started once more, after its acceptance"
    );
    assert_eq!(
        record.matches("tools/call").count(),
        1,
        "the server was not called again"
    );
}

fn overwrite_database(home: &Home, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new()
        .write(true)
        .open(database_file(home))
        .expect("open the database");
    file.write_all_at(bytes, offset)
        .expect("damage the database");
}

#[test]
fn a_file_that_is_no_database_is_moved_aside_and_allows_nothing() {
    assert_nothing_allowed_after(|home| overwrite_database(home, 0, &[b'x'; 4096]));
}

#[test]
fn a_truncated_database_is_moved_aside_and_allows_nothing() {
    assert_nothing_allowed_after(|home| {
        let file = OpenOptions::new()
            .write(true)
            .open(database_file(home))
            .expect("open the database");
        file.set_len(6000).expect("truncate the database");
    });
}

/// Overwrites the root page of a table.
fn damage_table(home: &Home, table: &str) {
    let (offset, size) =
        store::find_root_page(&home.data_dir(), table).expect("find the table's page");
    overwrite_database(home, offset, &vec![0xa5; size]);
}

#[test]
fn a_database_with_a_damaged_table_is_moved_aside_and_allows_nothing() {
    for table in [
        "call", "rule", "server", "client", "setting", "hook", "memory",
    ] {
        assert_nothing_allowed_after(|home| damage_table(home, table));
    }
}

#[test]
fn a_hub_with_a_damaged_catalog_cache_starts_and_refreshes() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    drop(FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced());
    hub.stop(Signal::SIGTERM);
    damage_table(&home, "capability");
    let hub = Hub::serve(&home);
    home.accept_server("faulty");
    home.cli(&["servers", "sync", "faulty"]).expect_success();
    let tools = hub.connect_client("desk").list_tools();
    assert!(tools.contains(&"faulty__echo".to_owned()), "{tools:?}");
}

/// Returns the broken spec files that the command line reports.
fn list_broken(home: &Home) -> Vec<Value> {
    home.cli(&["servers", "list", "--json"]).expect_json()["broken"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

#[test]
fn a_server_with_a_broken_spec_continues_as_accepted_and_the_error_is_reported() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let client = hub.connect_client("desk");
    let spec = fs::read_to_string(spec_file(&home.data_dir(), "faulty")).expect("read the spec");
    let truncated = spec[..spec.len() / 2].trim_end();
    write_spec(&home, "faulty", truncated);
    let reported = wait_until("the broken file is reported", || {
        list_broken(&home).first().cloned()
    });
    assert!(
        reported["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("faulty.json")),
        "{reported}"
    );
    let (lines, last_column) = (
        truncated.lines().count(),
        truncated.lines().last().unwrap_or_default().len(),
    );
    assert_eq!(
        (reported["line"].as_u64(), reported["column"].as_u64()),
        (Some(lines as u64), Some(last_column as u64)),
        "{reported}"
    );
    assert_eq!(
        client.call("faulty__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "the server still works"
    );
    assert_eq!(faulty.count_starts(), 1);
    assert_eq!(
        fs::read_to_string(spec_file(&home.data_dir(), "faulty")).expect("read the file"),
        truncated,
        "the hub does not change the file"
    );
    write_spec(&home, "faulty", &spec);
    wait_until("the repaired file is no longer reported", || {
        some_if(list_broken(&home).is_empty())
    });
    assert_eq!(
        client.call("faulty__echo", r#"{"n":2}"#).text(),
        r#"{"n":2}"#
    );
    assert_eq!(
        faulty.count_starts(),
        1,
        "a server with an unchanged spec is not restarted"
    );
}
