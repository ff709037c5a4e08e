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

/// Returns a counter of the notifications that the tools changed. The thread behind it runs until
/// the hub ends.
fn count_list_changes(client: &McpClient) -> Arc<AtomicUsize> {
    let count = Arc::<AtomicUsize>::default();
    let (told, listening) = (count.clone(), client.listen(None));
    thread::spawn(move || {
        let changes = listening
            .filter(|event| event.message()["method"] == "notifications/tools/list_changed");
        for _ in changes {
            told.fetch_add(1, Ordering::Relaxed);
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
    let told = count_list_changes(&client);
    assert!(!client.list_tools().contains(&"faulty__grown-1".to_owned()));
    let before = count_reads(&faulty);
    let flood = |count: u32| {
        let arguments = json!({"kind": "list_changed", "count": count}).to_string();
        let answer = client.call("faulty__flood", &arguments);
        assert_eq!(answer.text(), "the flood is over");
    };
    flood(10_000);
    wait_until("the change is seen", || {
        some_if(client.list_tools().contains(&"faulty__grown-1".to_owned()))
    });
    // If the flood caused more reads, they would come before those of two later changes.
    for _ in 0..2 {
        let so_far = count_reads(&faulty);
        flood(1);
        wait_until("the later change is read", || {
            some_if(count_reads(&faulty) > so_far)
        });
    }
    wait_until("the client is notified", || {
        some_if(told.load(Ordering::Relaxed) > 0)
    });
    let told = told.load(Ordering::Relaxed);
    let reads = count_reads(&faulty) - before;
    println!("10,000 changes and two more were read {reads} times and told {told} times");
    assert!((1..=2 + 2).contains(&reads), "they were read {reads} times");
    assert!(told <= reads, "{reads} reads were told {told} times");
}

/// That there is at most one refresh a second is tested with a paused clock (`catalog/sync`).
#[test]
fn endless_changes_are_refreshed_together_and_notified_while_they_go_on() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &["--grow"]).wait_until_synced();
    let client = hub.connect_client("desk");
    let told = count_list_changes(&client);
    let before = count_reads(&faulty);
    let mut floods = 0;
    wait_until("the client is told twice while the changes go on", || {
        floods += 1;
        client.call("faulty__flood", r#"{"kind":"list_changed","count":1000}"#);
        some_if(told.load(Ordering::Relaxed) >= 2)
    });
    let (reads, told) = (count_reads(&faulty) - before, told.load(Ordering::Relaxed));
    println!("{floods} floods of changes were read {reads} times and told {told} times");
    assert!(
        (2..floods).contains(&reads),
        "{floods} floods were read {reads} times"
    );
    assert!(told <= reads, "{reads} reads were told {told} times");
}

#[test]
fn a_change_during_a_refresh_is_read_too() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let options = ["--grow", "--change-while-listed", "1500"];
    let faulty = FaultyServer::add(&hub, "faulty", &json!({}), &options).wait_until_synced();
    let client = hub.connect_client("desk");
    wait_until("what changed meanwhile is there", || {
        some_if(client.list_tools().contains(&"faulty__grown-1".to_owned()))
    });
    assert_eq!(count_reads(&faulty), 2);
}
