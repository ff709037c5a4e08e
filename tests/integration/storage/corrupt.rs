//! A corrupt database or spec file.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
    time::Duration,
};

use drawbridge_tests::{
    Faulty, Home, Hub, McpClient,
    http::{Request, Url},
    hub::{spec_file, write_spec},
    store,
    wait::yes,
    within,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

fn database(home: &Home) -> PathBuf {
    home.data_dir().join("drawbridge.db")
}

/// Damages the database of a hub that has stored an allow, restarts the hub, and checks that
/// nothing is allowed by default.
fn nothing_is_assumed_after(damage: impl FnOnce(&Home)) {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let token = hub.token("desk");
    let before = McpClient::connect(&hub.url, &token);
    assert!(
        !before.call("faulty__echo", "{}").is_error(),
        "it is allowed"
    );
    let starts = faulty.starts();
    drop(faulty);
    hub.end(Signal::SIGTERM);
    // The checkpoint moves everything from the WAL into the database file.
    store::root_page(&home.data_dir(), "call").expect("write everything into the file");
    damage(&home);
    let damaged = fs::read(database(&home)).expect("read it");

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
        store::is_sound(&home.data_dir()).expect("read the store"),
        "the new one is sound"
    );
    let notice = home.cli(&["logs", "--level", "error", "--json"]).stdout();
    assert!(
        notice.contains("corrupt") && notice.contains("drawbridge.corrupt-"),
        "it says so: {notice}"
    );

    assert_eq!(
        hub.server("faulty")["state"],
        "needs_acceptance",
        "what would be started is to be accepted anew"
    );
    assert!(
        !hub.verb("policy.list", &json!({}))
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
        url: &Url::of(&hub.url),
        headers: &headers,
        body: b"{}",
    }
    .send();
    assert_eq!(
        knock.expect("an answer").status,
        401,
        "no client is remembered"
    );
    let client = hub.client("new");
    assert!(
        client.call("faulty__echo", "{}").error_code().is_some(),
        "no tool is there to be called"
    );
    home.cli(&["servers", "accept", "faulty"]).ok();
    hub.until_synced("faulty");
    assert!(
        client.tools().contains(&"faulty__echo".to_owned()),
        "the catalog is read anew"
    );
    let waiting = client.call_meanwhile("faulty__echo", "{}");
    let asked = hub.approval();
    home.cli(&["approvals", "deny", asked["id"].as_str().expect("an id")])
        .ok();
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
        .open(database(home))
        .expect("open it");
    file.write_all_at(bytes, at).expect("damage it");
}

#[test]
fn a_database_that_is_none_is_moved_aside_and_nothing_of_it_is_assumed() {
    nothing_is_assumed_after(|home| overwrite(home, 0, &[b'x'; 4096]));
}

#[test]
fn a_database_that_was_cut_short_is_moved_aside_and_nothing_of_it_is_assumed() {
    nothing_is_assumed_after(|home| {
        let file = OpenOptions::new()
            .write(true)
            .open(database(home))
            .expect("open it");
        file.set_len(6000).expect("cut it");
    });
}

/// Overwrites the root page of a table.
fn damage_table(home: &Home, table: &str) {
    let (at, size) = store::root_page(&home.data_dir(), table).expect("find its page");
    overwrite(home, at, &vec![0xa5; size]);
}

#[test]
fn a_database_with_one_damaged_table_is_moved_aside_and_nothing_of_it_is_assumed() {
    for table in ["call", "rule", "server", "client", "setting"] {
        nothing_is_assumed_after(|home| damage_table(home, table));
    }
}

#[test]
fn a_hub_whose_copy_of_the_catalog_is_damaged_starts_and_reads_it_anew() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    drop(Faulty::add(&hub, "faulty", &json!({}), &[]).synced());
    hub.end(Signal::SIGTERM);
    damage_table(&home, "capability");
    let hub = Hub::serve(&home);
    home.cli(&["servers", "accept", "faulty"]).ok();
    home.cli(&["servers", "sync", "faulty"]).ok();
    let tools = hub.client("desk").tools();
    assert!(tools.contains(&"faulty__echo".to_owned()), "{tools:?}");
}

/// Returns the broken spec files that the command line reports.
fn broken(home: &Home) -> Vec<Value> {
    home.cli(&["servers", "list", "--json"]).json()["broken"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

#[test]
fn a_server_whose_spec_is_broken_by_hand_goes_on_as_it_was_accepted_and_the_place_is_told() {
    const SOON: Duration = Duration::from_secs(5);
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &[]).synced();
    let client = hub.client("desk");
    let whole = fs::read_to_string(spec_file(&home.data_dir(), "faulty")).expect("read the spec");
    let half = &whole[..whole.len() / 2];
    write_spec(&home, "faulty", half);
    let told = within(SOON, "the broken file is told", || {
        broken(&home).first().cloned()
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
    assert_eq!(faulty.starts(), 1);
    assert_eq!(
        fs::read_to_string(spec_file(&home.data_dir(), "faulty")).expect("read it"),
        half,
        "nobody mends it"
    );
    write_spec(&home, "faulty", &whole);
    within(SOON, "it is told no more", || yes(broken(&home).is_empty()));
    assert_eq!(
        client.call("faulty__echo", r#"{"n":2}"#).text(),
        r#"{"n":2}"#
    );
    assert_eq!(faulty.starts(), 1, "what is as it was is not started anew");
}
