//! Servers whose lists change: often, or at the wrong moment.

use std::{
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{Faulty, Home, Hub, until, wait::yes, within};
use serde_json::json;

/// How long is looked for what must not come.
const WATCHED: Duration = Duration::from_secs(3);

#[test]
fn ten_thousand_changes_are_read_at_most_twice_and_told_to_a_client_at_most_once_a_second() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &["--grow"]).synced();
    let client = hub.client("desk");
    let lists = || faulty.heard_of("tools/list").len();
    let listening = client.listen(None);
    let (told, tells) = std::sync::mpsc::channel();
    // Ends with the hub.
    thread::spawn(move || {
        for event in listening {
            let _ = told.send((Instant::now(), event.message()));
        }
    });
    assert!(!client.tools().contains(&"faulty__grown-1".to_owned()));
    let before = lists();
    let start = Instant::now();
    let flood = json!({"kind": "list_changed", "count": 10_000});
    assert_eq!(client.call("faulty__flood", &flood.to_string()).text(), "the flood is over");
    let flooded = start.elapsed();
    until("the change is seen", || yes(client.tools().contains(&"faulty__grown-1".to_owned())));
    thread::sleep(WATCHED);
    let reads = lists() - before;
    println!("10,000 changes in {flooded:?} were read {reads} times");
    assert!((1..=2).contains(&reads), "they were read {reads} times");
    let told: Vec<_> =
        tells.try_iter().filter(|(_, told)| told["method"] == "notifications/tools/list_changed").collect();
    assert!((1..=reads).contains(&told.len()), "{reads} reads were told {} times", told.len());
    for pair in told.windows(2) {
        let apart = pair[1].0 - pair[0].0;
        assert!(apart >= Duration::from_millis(900), "the client was told again after {apart:?}");
    }
}

#[test]
fn a_server_that_tells_of_changes_without_end_is_read_a_few_times_a_second_at_most() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let faulty = Faulty::add(&hub, "faulty", &json!({"call_ms": 60_000}), &["--grow"]).synced();
    let client = hub.client("desk");
    let before = faulty.heard_of("tools/list").len();
    let start = Instant::now();
    while start.elapsed() < WATCHED {
        client.call("faulty__flood", &json!({"kind": "list_changed", "count": 1_000}).to_string());
    }
    let reads = faulty.heard_of("tools/list").len() - before;
    let most = usize::try_from(start.elapsed().as_millis() / 300).expect("a short time") + 1;
    assert!((1..=most).contains(&reads), "it was read {reads} times in {:?}", start.elapsed());
}

#[test]
#[ignore = "who waits for a sync takes the one that had begun before the change for its own"]
fn a_change_that_is_told_while_the_list_is_being_read_is_read_too() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let options = ["--grow", "--change-while-listed", "1500"];
    let faulty = Faulty::add(&hub, "faulty", &json!({}), &options).synced();
    let client = hub.client("desk");
    within(Duration::from_secs(10), "what changed meanwhile is there", || {
        yes(client.tools().contains(&"faulty__grown-1".to_owned()))
    });
    assert_eq!(faulty.heard_of("tools/list").len(), 2);
}
