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

/// Damages the database of a hub that has stored an allow, restarts the hub, and checks that
/// nothing is allowed by default.
fn assert_nothing_allowed_after(damage: impl FnOnce(&Home)) {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &[]).wait_until_synced();
    let token = hub.add_client("desk");
    let before = McpClient::connect(&hub.url, &token);
    assert!(
        !before.call("faulty__echo", "{}").is_error(),
        "it is allowed"
    );
    let starts = faulty.count_starts();
    drop(faulty);
    hub.stop(Signal::SIGTERM);
    // The checkpoint moves everything from the WAL into the database file.
    store::find_root_page(&home.data_dir(), "call").expect("write everything into the file");
    damage(&home);
    let damaged = fs::read(database_file(&home)).expect("read it");

    let hub = Hub::serve(&home);
    let moved: Vec<PathBuf> = fs::read_dir(home.data_dir())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            path.to_string_lossy().contains("drawbridge.corrupt-")
                && path.extension().is_some_and(|e| e == "db")
        })
        .collect();
    assert_eq!(moved.len(), 1, "it was moved aside: {moved:?}");
    assert!(
        fs::read(&moved[0]).expect("read it") == damaged,
        "as it was"
    );
    assert!(
        store::passes_integrity_check(&home.data_dir()).expect("read the store"),
        "the new one is sound"
    );
    let notice = home.cli(&["logs", "--level", "error", "--json"]).stdout();
    assert!(
        notice.contains("corrupt") && notice.contains("drawbridge.corrupt-"),
        "it says so: {notice}"
    );

    assert_eq!(
        hub.show_server("faulty")["state"],
        "needs_acceptance",
        "what would be started is to be accepted anew"
    );
    assert!(
        !hub.run_verb("policy.list", &json!({}))
            .to_string()
            .contains("faulty"),
        "no rule is remembered"
    );
    let bearer = format!("Bearer {token}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let knock = Request {
        method: "POST",
        url: &Url::parse(&hub.url),
        headers: &headers,
        body: b"{}",
    }
    .send();
    assert_eq!(
        knock.expect("an answer").status,
        401,
        "no client is remembered"
    );
    let client = hub.connect_client("new");
    assert!(
        client.call("faulty__echo", "{}").error_code().is_some(),
        "no tool is there to be called"
    );
    home.cli(&["servers", "accept", "faulty"]).expect_success();
    hub.wait_until_synced("faulty");
    assert!(
        client.list_tools().contains(&"faulty__echo".to_owned()),
        "the catalog is read anew"
    );
    let waiting = client.spawn_call("faulty__echo", "{}");
    let asked = hub.wait_for_approval();
    home.cli(&["approvals", "deny", asked["id"].as_str().expect("an id")])
        .expect_success();
    assert!(
        waiting.join().expect("an answer").is_error(),
        "a person is asked again"
    );
    let heard = fs::read_to_string(home.file("faulty.heard")).expect("what it heard");
    assert_eq!(
        heard.matches("{\"pid\"").count(),
        starts + 1,
        "it was started once more, when it was accepted"
    );
    assert_eq!(heard.matches("tools/call").count(), 1, "and not called");
}

fn overwrite(home: &Home, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new()
        .write(true)
        .open(database_file(home))
        .expect("open it");
    file.write_all_at(bytes, at).expect("damage it");
}

#[test]
fn a_file_that_is_no_database_is_moved_aside_and_allows_nothing() {
    assert_nothing_allowed_after(|home| overwrite(home, 0, &[b'x'; 4096]));
}

#[test]
fn a_truncated_database_is_moved_aside_and_allows_nothing() {
    assert_nothing_allowed_after(|home| {
        let file = OpenOptions::new()
            .write(true)
            .open(database_file(home))
            .expect("open it");
        file.set_len(6000).expect("cut it");
    });
}

/// Overwrites the root page of a table.
fn damage_table(home: &Home, table: &str) {
    let (at, size) = store::find_root_page(&home.data_dir(), table).expect("find its page");
    overwrite(home, at, &vec![0xa5; size]);
}

#[test]
fn a_database_with_a_damaged_table_is_moved_aside_and_allows_nothing() {
    for table in ["call", "rule", "server", "client", "setting"] {
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
    home.cli(&["servers", "accept", "faulty"]).expect_success();
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
    let whole = fs::read_to_string(spec_file(&home.data_dir(), "faulty")).expect("read the spec");
    let half = &whole[..whole.len() / 2];
    write_spec(&home, "faulty", half);
    let told = wait_until("the broken file is told", || {
        list_broken(&home).first().cloned()
    });
    assert!(
        told["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("faulty.json")),
        "{told}"
    );
    let (lines, last) = (
        half.lines().count(),
        half.lines().last().unwrap_or_default().len(),
    );
    assert_eq!(
        (told["line"].as_u64(), told["column"].as_u64()),
        (Some(lines as u64), Some(last as u64)),
        "{told}"
    );
    assert_eq!(
        client.call("faulty__echo", r#"{"n":1}"#).text(),
        r#"{"n":1}"#,
        "it goes on"
    );
    assert_eq!(faulty.count_starts(), 1);
    assert_eq!(
        fs::read_to_string(spec_file(&home.data_dir(), "faulty")).expect("read it"),
        half,
        "nobody mends it"
    );
    write_spec(&home, "faulty", &whole);
    wait_until("it is told no more", || {
        some_if(list_broken(&home).is_empty())
    });
    assert_eq!(
        client.call("faulty__echo", r#"{"n":2}"#).text(),
        r#"{"n":2}"#
    );
    assert_eq!(
        faulty.count_starts(),
        1,
        "what is as it was is not started anew"
    );
}
