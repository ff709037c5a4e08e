//! The latency from a call to its prompt on the screen, and from the click to the server: `cargo
//! xtask bench prompt`. Prints measurements; does not judge them. Uses the real app in a real
//! window, and a real server.
//!
//! A call counts as seen when the popup has painted its card. This is two frames after the card was
//! added to the visible page. A call counts as received at the time that the server puts into its
//! result. For comparison, a rule allows the same call of another client.

#![expect(clippy::print_stdout, reason = "the bench prints a table")]

use std::{thread, time::Duration};

use drawbridge_tests::{
    DesktopSession, Hub, McpClient, WebDriver, paths, ports::find_free_port, wait::unix_micros,
    wait_until,
};
use nix::sys::signal::Signal;

const ROUNDS: usize = 40;
/// The time without polling the page, so that polling does not slow down the call.
const POLL_PAUSE: Duration = Duration::from_millis(600);

/// Records the time at which the card of each call is painted, and the time of the last click, in
/// milliseconds since 1970.
const WATCH_SCRIPT: &str = "
    window.bench = {painted: {}, clicked: 0};
    const recordCard = () => {
        const id = document.querySelector('[data-testid=approval-card]')?.dataset.id;
        if (!id || id in bench.painted || document.visibilityState !== 'visible') return;
        bench.painted[id] = 0;
        requestAnimationFrame(() => requestAnimationFrame(() => { bench.painted[id] = now() }));
    };
    const now = () => performance.timeOrigin + performance.now();
    new MutationObserver(recordCard).observe(document.body, {subtree: true, childList: true, attributes: true});
    document.addEventListener('visibilitychange', recordCard);
    document.addEventListener('click', () => { bench.clicked = now() }, true)";

/// The times of a call that a person approved and of a call that a rule allowed, in milliseconds.
struct Round {
    /// From sending the call to its card.
    seen: f64,
    /// From the click to the server.
    sent_on: f64,
    /// From sending the call to the server, if a rule allows the call.
    by_rule: f64,
}

fn main() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let tokens = ["asked", "trusted"].map(|name| hub.add_client(name));
    desktop
        .cli(&["policy", "set", "probe/now", "allow", "--client", "trusted"])
        .expect_success();
    hub.stop(Signal::SIGTERM);
    let port = find_free_port();
    let driver = WebDriver::open_for_measurement(
        &desktop,
        &paths::built_binary("drawbridge-desktop"),
        &desktop.app_arguments(port),
    );
    driver.switch_to_window("the popup", |url| url.contains("#/popup"));
    driver.wait_for("popup-empty");
    driver.run_script(WATCH_SCRIPT);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let [asked, trusted] = tokens.map(|token| McpClient::connect(&url, &token));
    // The first call starts the server.
    let first = run_round(&desktop, &driver, &asked, &trusted);
    let rounds: Vec<Round> = (0..ROUNDS)
        .map(|_| run_round(&desktop, &driver, &asked, &trusted))
        .collect();
    println!(
        "{ROUNDS} calls after a first call, whose card was seen after {:.0} ms.\n",
        first.seen
    );
    println!("| in ms | p50 | p95 | maximum | target |");
    println!("|---|---|---|---|---|");
    print_row(
        "from the call to its card on the screen",
        "≤ 300",
        rounds.iter().map(|round| round.seen),
    );
    print_row(
        "from the click to the server",
        "≤ 50",
        rounds.iter().map(|round| round.sent_on),
    );
    print_row(
        "from the call to the server, allowed by a rule",
        "",
        rounds.iter().map(|round| round.by_rule),
    );
}

fn run_round(
    desktop: &DesktopSession,
    driver: &WebDriver,
    asked: &McpClient,
    trusted: &McpClient,
) -> Round {
    let sent = unix_micros();
    let by_rule = parse_arrival(&trusted.call("probe__now", "{}").text()) - millis(sent);
    let sent = unix_micros();
    let call = asked.spawn_call("probe__now", "{}");
    thread::sleep(POLL_PAUSE);
    let seen = wait_until("the card of the call is painted", || {
        let at = driver
            .run_script("return Object.values(bench.painted).at(-1)")
            .as_f64()?;
        (at > millis(sent)).then_some(at)
    });
    assert_eq!(
        desktop.count_visible_windows("Drawbridge: a call waits"),
        1,
        "the popup is on the screen"
    );
    driver.click("approve-once");
    let answer = call.join().expect("the call ends");
    let clicked = driver
        .run_script("return bench.clicked")
        .as_f64()
        .expect("a time");
    wait_until("the popup is gone", || (!driver.is_visible()).then_some(()));
    Round {
        seen: seen - millis(sent),
        sent_on: parse_arrival(&answer.text()) - clicked,
        by_rule,
    }
}

/// Reads the time at which the server received the call, in milliseconds since 1970.
fn parse_arrival(text: &str) -> f64 {
    millis(
        text.parse()
            .unwrap_or_else(|e| panic!("no time ({e}): {text}")),
    )
}

fn millis(micros: u128) -> f64 {
    micros as f64 / 1_000.0
}

fn print_row(label: &str, target: &str, times: impl Iterator<Item = f64>) {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    println!(
        "| {label} | {:.1} | {:.1} | {:.1} | {target} |",
        at(0.5),
        at(0.95),
        at(1.0)
    );
}
