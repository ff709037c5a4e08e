use super::*;

fn run(events: &[StateEvent]) -> (State, Vec<StateEffect>) {
    events
        .iter()
        .fold((State::Idle, Vec::new()), |(state, mut effects), event| {
            let (next, effect) = state.apply(*event);
            effects.extend(effect);
            (next, effects)
        })
}

const RETRIES: u32 = 3;
const FAILED: StateEvent = failed(0);
const PERMANENT_FAILURE: StateEvent = StateEvent::Failed {
    is_permanent: true,
    retries: RETRIES,
    crashes: 0,
};
const CRASHED: StateEvent = StateEvent::Ended { crashes: 1 };

const fn failed(crashes: u32) -> StateEvent {
    StateEvent::Failed {
        is_permanent: false,
        retries: RETRIES,
        crashes,
    }
}

fn pauses(effects: &[StateEffect]) -> Vec<u128> {
    effects
        .iter()
        .filter_map(|e| {
            if let StateEffect::Pause(p) = e {
                Some(p.as_millis())
            } else {
                None
            }
        })
        .collect()
}

#[test]
fn a_server_that_is_needed_starts_only_once() {
    assert_eq!(
        run(&[StateEvent::Needed, StateEvent::Needed]),
        (
            State::Initializing { failures: 0 },
            vec![StateEffect::Start]
        )
    );
    assert_eq!(
        run(&[StateEvent::Needed, StateEvent::Ready, StateEvent::Needed]).0,
        State::Active
    );
}

#[test]
fn a_failed_start_is_retried_three_times_with_longer_pauses_and_then_the_session_closes() {
    let mut events = vec![StateEvent::Needed, FAILED];
    for _ in 0..RETRIES {
        events.extend([StateEvent::PauseOver, FAILED]);
    }
    let (state, effects) = run(&events);
    assert_eq!(
        (state, pauses(&effects)),
        (State::Closed, vec![100, 200, 400])
    );
    assert_eq!(
        effects.iter().filter(|e| **e == StateEffect::Start).count(),
        4
    );
}

#[test]
fn a_spec_can_disable_retries() {
    let failed_without_retries = StateEvent::Failed {
        is_permanent: false,
        retries: 0,
        crashes: 0,
    };
    assert_eq!(
        run(&[StateEvent::Needed, failed_without_retries]),
        (State::Closed, vec![StateEffect::Start])
    );
}

#[test]
fn a_permanent_failure_closes_the_session_at_once() {
    assert_eq!(
        run(&[StateEvent::Needed, PERMANENT_FAILURE]),
        (State::Closed, vec![StateEffect::Start])
    );
}

#[test]
fn a_crashed_server_pauses_and_then_the_next_call_starts_it() {
    let crashed = [StateEvent::Needed, StateEvent::Ready, CRASHED];
    assert_eq!(
        run(&crashed),
        (
            State::Error { failures: 0 },
            vec![StateEffect::Start, StateEffect::Pause(FIRST_PAUSE)]
        )
    );
    let needed_at_once = [&crashed[..], &[StateEvent::Needed]].concat();
    assert_eq!(
        run(&needed_at_once).0,
        State::Error { failures: 0 },
        "a server that crashed starts only after its pause"
    );
    let needed_after = [&crashed[..], &[StateEvent::PauseOver, StateEvent::Needed]].concat();
    assert_eq!(run(&needed_after).0, State::Initializing { failures: 0 });
}

#[test]
fn the_pause_grows_with_each_crash_of_the_last_minute() {
    let pause_after = |crashes| {
        pauses(
            &run(&[
                StateEvent::Needed,
                StateEvent::Ready,
                StateEvent::Ended { crashes },
            ])
            .1,
        )
    };
    assert_eq!([1, 2, 3, 4].map(pause_after), [[100], [200], [400], [800]]);
}

#[test]
fn the_fifth_crash_opens_the_breaker_until_its_pause_is_over() {
    for crashed in [
        run(&[
            StateEvent::Needed,
            StateEvent::Ready,
            StateEvent::Ended {
                crashes: MAX_CRASHES,
            },
        ]),
        run(&[StateEvent::Needed, failed(MAX_CRASHES)]),
    ] {
        assert_eq!(
            crashed,
            (
                State::BreakerOpen,
                vec![StateEffect::Start, StateEffect::Pause(BREAKER_PAUSE)]
            )
        );
    }
    assert_eq!(
        State::BreakerOpen.apply(StateEvent::Needed),
        (State::BreakerOpen, None)
    );
    assert_eq!(
        State::BreakerOpen.apply(StateEvent::PauseOver),
        (State::Idle, None)
    );
    assert_eq!(
        State::BreakerOpen.apply(StateEvent::Close),
        (State::Closed, None)
    );
}

#[test]
fn an_idle_server_is_stopped_and_its_session_becomes_idle() {
    let (state, effects) = run(&[
        StateEvent::Needed,
        StateEvent::Ready,
        StateEvent::IdleTimeout,
    ]);
    assert_eq!(
        (state, effects),
        (State::Idle, vec![StateEffect::Start, StateEffect::Stop])
    );
}

#[test]
fn closing_ends_a_session_and_a_late_start_does_not_revive_it() {
    assert_eq!(
        run(&[StateEvent::Needed, StateEvent::Ready, StateEvent::Close]).1,
        [StateEffect::Start, StateEffect::Stop]
    );
    assert_eq!(
        run(&[StateEvent::Needed, StateEvent::Close, StateEvent::Ready]).0,
        State::Closed
    );
    assert_eq!(
        run(&[
            StateEvent::Needed,
            FAILED,
            StateEvent::Close,
            StateEvent::PauseOver
        ])
        .0,
        State::Closed
    );
}

/// Renders the transitions of [`State::apply`] as the table of ARCHITECTURE.md. A pair of a state
/// and an event that changes nothing has no row.
fn render_table() -> String {
    let failed = |is_permanent, crashes| StateEvent::Failed {
        is_permanent,
        retries: 1,
        crashes,
    };
    let ended = |crashes| StateEvent::Ended { crashes };
    let states = [
        ("Idle", State::Idle),
        (
            "Initializing, retries left",
            State::Initializing { failures: 0 },
        ),
        (
            "Initializing, last try",
            State::Initializing { failures: 1 },
        ),
        ("Active", State::Active),
        ("Error after a crash", State::Error { failures: 0 }),
        ("Error after a failed start", State::Error { failures: 1 }),
        ("BreakerOpen", State::BreakerOpen),
        ("Closed", State::Closed),
    ];
    let events = [
        ("Needed", StateEvent::Needed),
        ("Ready", StateEvent::Ready),
        ("Failed", failed(false, 0)),
        ("Failed permanently", failed(true, 0)),
        (
            "Failed, fifth crash in a minute",
            failed(false, MAX_CRASHES),
        ),
        ("Ended", ended(1)),
        ("Ended, fifth crash in a minute", ended(MAX_CRASHES)),
        ("PauseOver", StateEvent::PauseOver),
        ("IdleTimeout", StateEvent::IdleTimeout),
        ("Close", StateEvent::Close),
    ];
    let mut table = String::from("| state | event | next state | effect |\n|---|---|---|---|\n");
    for (name, state) in states {
        for (event_name, event) in events {
            let (next, effect) = state.apply(event);
            if (next, effect) == (state, None) {
                continue;
            }
            let next = match next {
                State::Idle => "Idle",
                State::Initializing { .. } => "Initializing",
                State::Active => "Active",
                State::Error { failures: 0 } => "Error after a crash",
                State::Error { .. } => "Error after a failed start",
                State::BreakerOpen => "BreakerOpen",
                State::Closed => "Closed",
            };
            let effect = match effect {
                Some(StateEffect::Start) => "start".to_owned(),
                Some(StateEffect::Stop) => "stop".to_owned(),
                Some(StateEffect::Pause(pause)) => format!("pause of {} s", pause.as_secs_f32()),
                None => String::new(),
            };
            table.push_str(&format!("| {name} | {event_name} | {next} | {effect} |\n"));
        }
    }
    table.replace("|  |", "| |")
}

#[test]
fn the_table_in_the_architecture_document_matches_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let document = std::fs::read_to_string(path).expect("read ARCHITECTURE.md");
    let table = render_table();
    assert!(
        document.contains(&table),
        "ARCHITECTURE.md must contain this table:\n{table}"
    );
}
