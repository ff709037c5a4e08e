use std::time::Duration;

use drawbridge_model::{event::Event, ids::CallId};
use tokio::time::Instant;

use super::{MAX_EVENTS, PERIOD, Throttle};

#[test]
fn a_few_events_pass_and_lagged_is_not_due() {
    let now = Instant::now();
    let mut throttle = Throttle::new(now);
    assert!((0..MAX_EVENTS).all(|_| throttle.admit(now, &Event::PolicyChanged)));
    assert_eq!(throttle.lagged_at(), None);
}

#[test]
fn a_flood_is_dropped_until_lagged_was_sent() {
    let now = Instant::now();
    let mut throttle = Throttle::new(now);
    let passed = (0..1000)
        .filter(|_| throttle.admit(now, &Event::PolicyChanged))
        .count();
    assert_eq!(passed, MAX_EVENTS as usize);
    assert_eq!(throttle.lagged_at(), Some(now + PERIOD));
    throttle.record_lagged(now + PERIOD);
    assert!(throttle.admit(now + PERIOD, &Event::PolicyChanged));
    assert_eq!(throttle.lagged_at(), None);
}

#[test]
fn an_event_about_an_approval_passes_in_a_flood() {
    let now = Instant::now();
    let mut throttle = Throttle::new(now);
    for _ in 0..1000 {
        throttle.admit(now, &Event::PolicyChanged);
    }
    assert!(throttle.admit(
        now,
        &Event::ApprovalEnded {
            id: CallId::new("1")
        }
    ));
}

#[test]
fn events_over_time_all_pass() {
    let start = Instant::now();
    let mut throttle = Throttle::new(start);
    let passed = (0..1000)
        .filter(|i| throttle.admit(start + Duration::from_millis(5 * i), &Event::PolicyChanged));
    assert_eq!(passed.count(), 1000);
}
