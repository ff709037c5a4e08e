//! The cost of faulty servers for the calls of other servers: `cargo xtask bench neighbours`.
//! Prints measurements; asserts nothing.
//!
//! A hub has ten servers. Seven are healthy and are called at a steady rate. The other three are
//! faulty: in each call, one hangs, one crashes, and one floods its stderr or stdout. In the first
//! kind of round, the faulty servers are idle. In the second kind, they are called again and again.
//! In the third kind, three other faulty servers are called behind another hub, which shows how
//! much of the cost comes from sharing the machine. The three kinds alternate, so that other load
//! on the machine affects all kinds equally.
//!
//! A second table compares rounds with and without 1,500 connections without a token. Each of these
//! connections sends a byte a second, and is replaced if the hub closes it.

#![expect(clippy::print_stdout, reason = "the bench prints a table")]

mod faulty_servers;
mod session;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{Home, Hub, MemoryGrowth, paths, slow_connections::SlowConnections};

use faulty_servers::FaultyServers;
use session::Session;

/// The number of healthy servers.
const HEALTHY: usize = 7;
/// The number of sessions that call the healthy servers.
const SESSIONS: usize = 5;
/// The interval between the calls of a session: 250 calls a second in all.
const CALL_INTERVAL: Duration = Duration::from_millis(20);
const ROUND_LENGTH: Duration = Duration::from_secs(4);
const ROUNDS: usize = 9;
const SLOW_CONNECTIONS: usize = 1_500;
/// The pause between two bytes of a slow connection.
const BYTE_PAUSE: Duration = Duration::from_secs(1);

/// The results of the calls of a round.
#[derive(Default)]
struct Round {
    durations: Vec<Duration>,
    errors: usize,
}

fn main() {
    let (home, other_home) = (Home::new(), Home::new());
    let (hub, other_hub) = (Hub::serve(&home), Hub::serve(&other_home));
    let probe = paths::path_text(paths::built_binary("upstream-probe"));
    for number in 1..=HEALTHY {
        let name = format!("well-{number}");
        hub.add_server(&name, &[], &[&probe]);
        hub.set_policy(&name, "allow");
        hub.wait_until_synced(&name);
    }
    let (same_hub, elsewhere) = (FaultyServers::add(&hub), FaultyServers::add(&other_hub));
    let mut sessions: Vec<_> = (1..=SESSIONS)
        .map(|number| Session::open(&hub, &format!("desk-{number}")))
        .collect();
    // The first calls start the servers.
    run_round(&mut sessions);
    let memory = MemoryGrowth::new(hub.pid());
    let rounds: Vec<[Round; 3]> = (0..ROUNDS)
        .map(|_| {
            let alone = run_round(&mut sessions);
            let beside = same_hub.run_during(|| run_round(&mut sessions));
            [
                alone,
                beside,
                elsewhere.run_during(|| run_round(&mut sessions)),
            ]
        })
        .collect();
    print_table(&rounds);
    println!(
        "\nMeanwhile {same_hub}; the hub grew by at most {} MiB. Behind the other hub {elsewhere}.",
        memory.peak_growth_mib()
    );
    measure_slow_connections(&hub, &mut sessions);
}

/// Compares rounds with and without slow connections.
fn measure_slow_connections(hub: &Hub<'_>, sessions: &mut [Session]) {
    let memory = MemoryGrowth::new(hub.pid());
    let rounds: Vec<[Round; 2]> = (0..ROUNDS)
        .map(|_| {
            let alone = run_round(sessions);
            [alone, run_beside_slow_connections(hub, sessions)]
        })
        .collect();
    println!("\n| calls | alone | beside {SLOW_CONNECTIONS} slow connections | ratio |");
    println!("|---|---|---|---|");
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let times: Vec<_> = rounds
            .iter()
            .map(|pair| pair.each_ref().map(|round| quantile(round, share)))
            .collect();
        let median_of = |kind: usize| median(times.iter().map(|pair| pair[kind]).collect());
        let ratio = median(times.iter().map(|pair| pair[1] / pair[0]).collect());
        println!(
            "| {name} | {:.2} ms | {:.2} ms | {ratio:.2} |",
            median_of(0),
            median_of(1)
        );
    }
    let errors = [0, 1].map(|kind| rounds.iter().map(|pair| pair[kind].errors).sum::<usize>());
    println!("| errors | {} | {} | |", errors[0], errors[1]);
    println!(
        "\nMeanwhile the hub grew by at most {} MiB.",
        memory.peak_growth_mib()
    );
}

fn run_beside_slow_connections(hub: &Hub<'_>, sessions: &mut [Session]) -> Round {
    let is_over = AtomicBool::new(false);
    let mut connections = SlowConnections::open(hub, SLOW_CONNECTIONS);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                connections.send_another_byte();
                thread::sleep(BYTE_PAUSE);
            }
        });
        let round = run_round(sessions);
        is_over.store(true, Ordering::Relaxed);
        round
    })
}

/// Calls the healthy servers at the steady rate for the length of a round.
fn run_round(sessions: &mut [Session]) -> Round {
    let count = u32::try_from(sessions.len()).expect("a small number");
    let begin = Instant::now();
    thread::scope(|scope| {
        let all = (0..).zip(sessions).map(|(at, session)| {
            scope.spawn(move || {
                call_steadily(session, at as usize, begin + CALL_INTERVAL / count * at)
            })
        });
        let all: Vec<_> = all.collect();
        all.into_iter().fold(Round::default(), |mut sum, thread| {
            let round = thread.join().expect("a session");
            sum.durations.extend(round.durations);
            sum.errors += round.errors;
            sum
        })
    })
}

/// Makes the calls of one session. The time of a call is measured from the moment at which the call
/// was due, so it includes the delay that earlier calls caused.
fn call_steadily(session: &mut Session, number: usize, begin: Instant) -> Round {
    let mut round = Round::default();
    let mut due = begin;
    while due < begin + ROUND_LENGTH {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let server = (round.durations.len() + number) % HEALTHY + 1;
        let arguments = format!(r#"{{"n":{}}}"#, round.durations.len());
        let answer = session.call(&format!("well-{server}__echo"), &arguments);
        round.durations.push(due.elapsed());
        let echoed = format!(r#""text":{:?}"#, arguments);
        if !answer
            .is_ok_and(|answer| answer.contains(&echoed) && !answer.contains(r#""isError":true"#))
        {
            round.errors += 1;
        }
        due += CALL_INTERVAL;
    }
    round
}

fn print_table(rounds: &[[Round; 3]]) {
    println!(
        "| calls to the healthy servers | alone | with the faulty servers | ratio | faulty servers behind another hub | ratio |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        let times: Vec<_> = rounds
            .iter()
            .map(|triple| triple.each_ref().map(|round| quantile(round, share)))
            .collect();
        let median_of = |kind: usize| median(times.iter().map(|triple| triple[kind]).collect());
        let ratio = |kind: usize| {
            median(
                times
                    .iter()
                    .map(|triple| triple[kind] / triple[0])
                    .collect(),
            )
        };
        println!(
            "| {name} | {:.2} ms | {:.2} ms | {:.2} | {:.2} ms | {:.2} |",
            median_of(0),
            median_of(1),
            ratio(1),
            median_of(2),
            ratio(2)
        );
    }
    let sum = |count: fn(&Round) -> usize| {
        [0, 1, 2].map(|kind| {
            rounds
                .iter()
                .map(|triple| count(&triple[kind]))
                .sum::<usize>()
        })
    };
    for (name, [alone, beside, elsewhere]) in [
        ("calls", sum(|round| round.durations.len())),
        ("errors", sum(|round| round.errors)),
    ] {
        println!("| {name} | {alone} | {beside} | | {elsewhere} | |");
    }
}

/// Returns the quantile of a round's times, in milliseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is an index"
)]
fn quantile(round: &Round, share: f64) -> f64 {
    let mut times = round.durations.clone();
    times.sort();
    times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
