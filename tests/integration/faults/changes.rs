//! Servers whose lists change often, or at the wrong moment.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{Faulty, Home, Hub, McpClient, until, wait::yes, within};
use serde_json::json;

use super::timed;

/// How long a test watches for messages that must not arrive.
const WATCHED: Duration = Duration::from_secs(3);

/// Returns a channel with the times at which the client learns that the tools changed. The thread
/// behind it runs until the hub ends.
fn tells(client: &McpClient) -> mpsc::Receiver<Instant> {
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
fn are_apart(told: &[Instant]) {
    for pair in told.windows(2) {
        let apart = pair[1] - pair[0];
        assert!(
            apart >= Duration::from_millis(900),
            "the client was told again after {apart:?}"
        );
    }
}

#[test]
fn ten_thousand_changes_are_read_at_most_twice_and_told_to_a_client_no_more_often() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &["--grow"]).synced();
    let client = hub.client("desk");
    let tells = tells(&client);
    assert!(!client.tools().contains(&"faulty__grown-1".to_owned()));
    let before = faulty.heard_of("tools/list").len();
    let flood = json!({"kind": "list_changed", "count": 10_000}).to_string();
    let (answer, took) = timed(|| client.call("faulty__flood", &flood));
    assert_eq!(answer.text(), "the flood is over");
    until("the change is seen", || {
        yes(client.tools().contains(&"faulty__grown-1".to_owned()))
    });
    thread::sleep(WATCHED);
    let reads = faulty.heard_of("tools/list").len() - before;
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
    are_apart(&told);
}

#[test]
fn changes_without_end_are_read_and_told_once_a_second_at_most() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &["--grow"]).synced();
    let client = hub.client("desk");
    let tells = tells(&client);
    let before = faulty.heard_of("tools/list").len();
    let start = Instant::now();
    while start.elapsed() < WATCHED {
        client.call("faulty__flood", r#"{"kind":"list_changed","count":1000}"#);
    }
    let reads = faulty.heard_of("tools/list").len() - before;
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
    are_apart(&told);
}

#[test]
fn a_change_that_is_told_while_the_list_is_being_read_is_read_too() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let options = ["--grow", "--change-while-listed", "1500"];
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &options).synced();
    let client = hub.client("desk");
    within(
        Duration::from_secs(10),
        "what changed meanwhile is there",
        || yes(client.tools().contains(&"faulty__grown-1".to_owned())),
    );
    assert_eq!(faulty.heard_of("tools/list").len(), 2);
}
