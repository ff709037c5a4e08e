//! Servers whose lists change often, or at the wrong moment.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{
    FaultyServer, Home, Hub, McpClient, wait::some_if, wait_until, wait_until_within,
};
use serde_json::json;

use super::measure;

/// How long a test watches for messages that must not arrive.
const WATCH_TIME: Duration = Duration::from_secs(3);

/// Returns a channel with the times at which the client learns that the tools changed. The thread
/// behind it runs until the hub ends.
fn watch_list_changes(client: &McpClient) -> mpsc::Receiver<Instant> {
    let (told, tells) = mpsc::channel();
    let listening = client.listen(None);
    thread::spawn(move || {
        let changes = listening
            .filter(|event| event.message()["method"] == "notifications/tools/list_changed");
        for _ in changes {
            let _ = told.send(Instant::now());
        }
    });
    tells
}

/// Checks that the client is notified once a second at most. The bound is lower because the times
/// are taken at arrival.
#[track_caller]
fn assert_rate_limited(told: &[Instant]) {
    for pair in told.windows(2) {
        let apart = pair[1] - pair[0];
        assert!(
            apart >= Duration::from_millis(900),
            "the client was told again after {apart:?}"
        );
    }
}

#[test]
fn ten_thousand_changes_cause_at_most_two_refreshes_and_notifications() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &["--grow"]).wait_until_synced();
    let client = hub.connect_client("desk");
    let tells = watch_list_changes(&client);
    assert!(!client.list_tools().contains(&"faulty__grown-1".to_owned()));
    let before = faulty.received_by_method("tools/list").len();
    let flood = json!({"kind": "list_changed", "count": 10_000}).to_string();
    let (answer, took) = measure(|| client.call("faulty__flood", &flood));
    assert_eq!(answer.text(), "the flood is over");
    wait_until("the change is seen", || {
        some_if(client.list_tools().contains(&"faulty__grown-1".to_owned()))
    });
    thread::sleep(WATCH_TIME);
    let reads = faulty.received_by_method("tools/list").len() - before;
    let told: Vec<_> = tells.try_iter().collect();
    println!(
        "10,000 changes in {took:?} were read {reads} times and told {} times",
        told.len()
    );
    assert!((1..=2).contains(&reads), "they were read {reads} times");
    assert!(
        (1..=reads).contains(&told.len()),
        "{reads} reads were told {} times",
        told.len()
    );
    assert_rate_limited(&told);
}

#[test]
fn endless_changes_are_refreshed_and_notified_at_most_once_a_second() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &["--grow"]).wait_until_synced();
    let client = hub.connect_client("desk");
    let tells = watch_list_changes(&client);
    let before = faulty.received_by_method("tools/list").len();
    let start = Instant::now();
    while start.elapsed() < WATCH_TIME {
        client.call("faulty__flood", r#"{"kind":"list_changed","count":1000}"#);
    }
    let reads = faulty.received_by_method("tools/list").len() - before;
    let most = usize::try_from(start.elapsed().as_millis() / 1000).expect("a short time") + 1;
    let told: Vec<_> = tells.try_iter().collect();
    println!(
        "in {:?} they were read {reads} times and told {} times",
        start.elapsed(),
        told.len()
    );
    assert!(
        (2..=most).contains(&reads),
        "they were read {reads} times in {:?}",
        start.elapsed()
    );
    assert!(told.len() >= 2, "the client is told while it goes on");
    assert_rate_limited(&told);
}

#[test]
fn a_change_during_a_refresh_is_read_too() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let options = ["--grow", "--change-while-listed", "1500"];
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &options).wait_until_synced();
    let client = hub.connect_client("desk");
    wait_until_within(
        Duration::from_secs(10),
        "what changed meanwhile is there",
        || some_if(client.list_tools().contains(&"faulty__grown-1".to_owned())),
    );
    assert_eq!(faulty.received_by_method("tools/list").len(), 2);
}
