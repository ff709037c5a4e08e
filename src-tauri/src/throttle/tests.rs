use std::time::Duration;

use drawbridge_hub::model::{event::Event, ids::CallId};
use tokio::time::Instant;

use super::{EVENTS, PERIOD, Throttle};

#[test]
fn a_few_events_pass_and_nothing_is_owed() {
    let now = Instant::now();
    let mut throttle = Throttle::new(now);
    assert!((0..EVENTS).all(|_| throttle.fits(now, &Event::PolicyChanged)));
    assert_eq!(throttle.owes_at(), None);
}

#[test]
fn a_flood_is_cut_until_it_was_told() {
    let now = Instant::now();
    let mut throttle = Throttle::new(now);
    let passed = (0..1000)
        .filter(|_| throttle.fits(now, &Event::PolicyChanged))
        .count();
    assert_eq!(passed, EVENTS as usize);
    assert_eq!(throttle.owes_at(), Some(now + PERIOD));
    throttle.settle(now + PERIOD);
    assert!(throttle.fits(now + PERIOD, &Event::PolicyChanged));
    assert_eq!(throttle.owes_at(), None);
}

#[test]
fn an_approval_passes_in_a_flood() {
    let now = Instant::now();
    let mut throttle = Throttle::new(now);
    for _ in 0..1000 {
        throttle.fits(now, &Event::PolicyChanged);
    }
    assert!(throttle.fits(
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
        .filter(|i| throttle.fits(start + Duration::from_millis(5 * i), &Event::PolicyChanged));
    assert_eq!(passed.count(), 1000);
}
