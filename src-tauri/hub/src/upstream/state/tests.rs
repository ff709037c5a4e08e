use super::*;

fn run(events: &[Event]) -> (State, Vec<Effect>) {
    events
        .iter()
        .fold((State::Idle, Vec::new()), |(state, mut effects), event| {
            let (next, effect) = state.on(*event);
            effects.extend(effect);
            (next, effects)
        })
}

const RETRIES: u32 = 3;
const FAILED: Event = failed(0);
const FOR_GOOD: Event = Event::Failed {
    for_good: true,
    retries: RETRIES,
    crashes: 0,
};
const CRASHED: Event = Event::Ended { crashes: 1 };

const fn failed(crashes: u32) -> Event {
    Event::Failed {
        for_good: false,
        retries: RETRIES,
        crashes,
    }
}

fn pauses(effects: &[Effect]) -> Vec<u128> {
    effects
        .iter()
        .filter_map(|e| {
            if let Effect::Pause(p) = e {
                Some(p.as_millis())
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn it_starts_when_it_is_wanted_and_only_once() {
    assert_eq!(
        run(&[Event::Wanted, Event::Wanted]),
        (State::Initializing { failures: 0 }, vec![Effect::Start])
    );
    assert_eq!(
        run(&[Event::Wanted, Event::Ready, Event::Wanted]).0,
        State::Active
    );
}

#[test]
fn a_failed_start_is_tried_three_times_more_with_longer_pauses_then_it_is_closed() {
    let mut events = vec![Event::Wanted, FAILED];
    for _ in 0..RETRIES {
        events.extend([Event::PauseOver, FAILED]);
    }
    let (state, effects) = run(&events);
    assert_eq!(
        (state, pauses(&effects)),
        (State::Closed, vec![100, 200, 400])
    );
    assert_eq!(effects.iter().filter(|e| **e == Effect::Start).count(), 4);
}

#[test]
fn a_spec_may_want_no_second_try() {
    let once = Event::Failed {
        for_good: false,
        retries: 0,
        crashes: 0,
    };
    assert_eq!(
        run(&[Event::Wanted, once]),
        (State::Closed, vec![Effect::Start])
    );
}

#[test]
fn a_failure_that_no_retry_can_help_closes_it_at_once() {
    assert_eq!(
        run(&[Event::Wanted, FOR_GOOD]),
        (State::Closed, vec![Effect::Start])
    );
}

#[test]
fn after_a_crash_it_is_left_alone_for_a_moment_then_the_next_call_begins_anew() {
    let crashed = [Event::Wanted, Event::Ready, CRASHED];
    assert_eq!(
        run(&crashed),
        (
            State::Error { failures: 0 },
            vec![Effect::Start, Effect::Pause(FIRST_PAUSE)]
        )
    );
    let wanted_at_once = [&crashed[..], &[Event::Wanted]].concat();
    assert_eq!(
        run(&wanted_at_once).0,
        State::Error { failures: 0 },
        "the pause comes first"
    );
    let wanted_after = [&crashed[..], &[Event::PauseOver, Event::Wanted]].concat();
    assert_eq!(run(&wanted_after).0, State::Initializing { failures: 0 });
}

#[test]
fn the_pause_after_a_crash_grows_with_each_of_the_last_minute() {
    let pause_after =
        |crashes| pauses(&run(&[Event::Wanted, Event::Ready, Event::Ended { crashes }]).1);
    assert_eq!([1, 2, 3, 4].map(pause_after), [[100], [200], [400], [800]]);
}

#[test]
fn the_fifth_crash_opens_the_breaker_which_nobody_closes_before_its_time() {
    for crashed in [
        run(&[
            Event::Wanted,
            Event::Ready,
            Event::Ended {
                crashes: MAX_CRASHES,
            },
        ]),
        run(&[Event::Wanted, failed(MAX_CRASHES)]),
    ] {
        assert_eq!(
            crashed,
            (State::Open, vec![Effect::Start, Effect::Pause(OPEN)])
        );
    }
    assert_eq!(State::Open.on(Event::Wanted), (State::Open, None));
    assert_eq!(State::Open.on(Event::PauseOver), (State::Idle, None));
    assert_eq!(State::Open.on(Event::Close), (State::Closed, None));
}

#[test]
fn an_idle_one_is_stopped_and_can_be_wanted_again() {
    let (state, effects) = run(&[Event::Wanted, Event::Ready, Event::IdleTimeout]);
    assert_eq!(
        (state, effects),
        (State::Idle, vec![Effect::Start, Effect::Stop])
    );
}

#[test]
fn closing_ends_it_from_every_state_and_a_late_start_does_not_revive_it() {
    assert_eq!(
        run(&[Event::Wanted, Event::Ready, Event::Close]).1,
        [Effect::Start, Effect::Stop]
    );
    assert_eq!(
        run(&[Event::Wanted, Event::Close, Event::Ready]).0,
        State::Closed
    );
    assert_eq!(
        run(&[Event::Wanted, FAILED, Event::Close, Event::PauseOver]).0,
        State::Closed
    );
}
