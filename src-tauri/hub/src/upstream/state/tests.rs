use super::*;

fn run(events: &[Event]) -> (State, Vec<Effect>) {
    events.iter().fold((State::Idle, Vec::new()), |(state, mut effects), event| {
        let (next, effect) = state.on(*event);
        effects.extend(effect);
        (next, effects)
    })
}

const FAILED: Event = Event::Failed { for_good: false };

#[test]
fn it_starts_when_it_is_wanted_and_only_once() {
    assert_eq!(run(&[Event::Wanted, Event::Wanted]), (State::Initializing { failures: 0 }, vec![Effect::Start]));
    assert_eq!(run(&[Event::Wanted, Event::Ready, Event::Wanted]).0, State::Active);
}

#[test]
fn a_failed_start_is_tried_three_times_more_with_longer_pauses_then_it_is_closed() {
    let mut events = vec![Event::Wanted, FAILED];
    for _ in 0..RETRIES {
        events.extend([Event::RetryDue, FAILED]);
    }
    let (state, effects) = run(&events);
    let pauses: Vec<_> =
        effects.iter().filter_map(|e| if let Effect::RetryAfter(p) = e { Some(p.as_millis()) } else { None }).collect();
    assert_eq!((state, pauses), (State::Closed, vec![100, 200, 400]));
    assert_eq!(effects.iter().filter(|e| **e == Effect::Start).count(), 4);
}

#[test]
fn a_failure_that_no_retry_can_help_closes_it_at_once() {
    assert_eq!(run(&[Event::Wanted, Event::Failed { for_good: true }]), (State::Closed, vec![Effect::Start]));
}

#[test]
fn after_a_crash_the_next_call_begins_anew() {
    let (state, effects) = run(&[Event::Wanted, Event::Ready, Event::Ended, Event::Wanted]);
    assert_eq!((state, effects), (State::Initializing { failures: 0 }, vec![Effect::Start, Effect::Start]));
}

#[test]
fn an_idle_one_is_stopped_and_can_be_wanted_again() {
    let (state, effects) = run(&[Event::Wanted, Event::Ready, Event::IdleTimeout]);
    assert_eq!((state, effects), (State::Idle, vec![Effect::Start, Effect::Stop]));
}

#[test]
fn closing_ends_it_from_every_state_and_a_late_start_does_not_revive_it() {
    assert_eq!(run(&[Event::Wanted, Event::Ready, Event::Close]).1, [Effect::Start, Effect::Stop]);
    assert_eq!(run(&[Event::Wanted, Event::Close, Event::Ready]).0, State::Closed);
    assert_eq!(run(&[Event::Wanted, FAILED, Event::Close, Event::RetryDue]).0, State::Closed);
}
