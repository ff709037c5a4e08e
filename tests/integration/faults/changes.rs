//! Servers whose lists change often, or at the wrong moment.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use drawbridge_tests::{FaultyServer, Home, Hub, McpClient, wait::some_if, wait_until};
use serde_json::json;

/// Returns a counter of the notifications about changed tools. The thread that counts runs until
/// the hub ends.
fn count_list_changes(client: &McpClient) -> Arc<AtomicUsize> {
    let count = Arc::<AtomicUsize>::default();
    let (counter, events) = (count.clone(), client.listen(None));
    thread::spawn(move || {
        let changes =
            events.filter(|event| event.message()["method"] == "notifications/tools/list_changed");
        for _ in changes {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    count
}

fn count_reads(faulty: &FaultyServer<'_>) -> usize {
    faulty.received_by_method("tools/list").len()
}

#[test]
fn ten_thousand_changes_cause_at_most_two_refreshes_and_notifications() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &["--grow"]).wait_until_synced();
    let client = hub.connect_client("desk");
    let notifications = count_list_changes(&client);
    assert!(!client.list_tools().contains(&"faulty__grown-1".to_owned()));
    let reads_before = count_reads(&faulty);
    let flood = |count: u32| {
        let arguments = json!({"kind": "list_changed", "count": count}).to_string();
        let answer = client.call("faulty__flood", &arguments);
        assert_eq!(answer.text(), "the flood is over");
    };
    flood(10_000);
    wait_until("the client sees the change", || {
        some_if(client.list_tools().contains(&"faulty__grown-1".to_owned()))
    });
    // If the flood caused more reads, these would come before the reads of two later changes.
    for _ in 0..2 {
        let reads_so_far = count_reads(&faulty);
        flood(1);
        wait_until("the later change is read", || {
            some_if(count_reads(&faulty) > reads_so_far)
        });
    }
    wait_until("the client is notified", || {
        some_if(notifications.load(Ordering::Relaxed) > 0)
    });
    let notifications = notifications.load(Ordering::Relaxed);
    let reads = count_reads(&faulty) - reads_before;
    println!("10,000 changes and two more caused {reads} reads and {notifications} notifications");
    assert!(
        (1..=2 + 2).contains(&reads),
        "the changes caused {reads} reads"
    );
    assert!(
        notifications <= reads,
        "{reads} reads caused {notifications} notifications"
    );
}

/// Another test, which pauses the clock, shows that there is at most one refresh a second
/// (`catalog/sync`).
#[test]
fn endless_changes_are_refreshed_together_and_notified_while_they_go_on() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &["--grow"]).wait_until_synced();
    let client = hub.connect_client("desk");
    let notifications = count_list_changes(&client);
    let reads_before = count_reads(&faulty);
    let mut floods = 0;
    wait_until(
        "the client is notified twice while the changes go on",
        || {
            floods += 1;
            client.call("faulty__flood", r#"{"kind":"list_changed","count":1000}"#);
            some_if(notifications.load(Ordering::Relaxed) >= 2)
        },
    );
    let (reads, notifications) = (
        count_reads(&faulty) - reads_before,
        notifications.load(Ordering::Relaxed),
    );
    println!("{floods} floods of changes caused {reads} reads and {notifications} notifications");
    assert!(
        (2..floods).contains(&reads),
        "{floods} floods caused {reads} reads"
    );
    assert!(
        notifications <= reads,
        "{reads} reads caused {notifications} notifications"
    );
}

#[test]
fn a_change_during_a_refresh_is_read_too() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let options = ["--grow", "--change-while-listed", "1500"];
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &options).wait_until_synced();
    let client = hub.connect_client("desk");
    wait_until("the change during the refresh is listed", || {
        some_if(client.list_tools().contains(&"faulty__grown-1".to_owned()))
    });
    assert_eq!(count_reads(&faulty), 2);
}
