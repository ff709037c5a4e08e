//! The cost of the app while nobody uses it, and the time until its windows are open again: `cargo
//! xtask bench idle [states|reopening|popup]`. Prints measurements; does not judge them. Uses the
//! real app on a virtual screen (X11 without a graphics card).
//!
//! The memory is the proportional set size of the app and of the processes of its web views: memory
//! that several processes share is divided among them. A window counts as reopened when its page
//! shows the navigation. The popup counts as shown when WebKit has painted its content. The app
//! destroys the popup two minutes after a client was last in use, and creates it when a client
//! connects or calls.

#![expect(clippy::print_stdout, reason = "the bench prints a table")]

use std::{
    env, fs, thread,
    time::{Duration, Instant},
};

use drawbridge_tests::{
    DesktopSession, Hub, McpClient, WebDriver, paths,
    ports::find_free_port,
    process::Process,
    wait::{some_if, unix_micros},
    wait_until,
};
use nix::sys::signal::Signal;

/// The time after which the app has finished its start, and has destroyed the popup.
const SETTLE: Duration = Duration::from_secs(135);
/// The time during which the processor time is measured.
const IDLE: Duration = Duration::from_secs(60);
const ROUNDS: usize = 10;
const POPUP_ROUNDS: usize = 3;
/// The time without polling the popup, so that polling does not slow it down.
const POLL_PAUSE: Duration = Duration::from_secs(1);
/// The global shortcut, which opens the main window if no call waits.
const OPEN: &str = "ctrl+alt+d";
/// The end of the title of the main window, after the name of its page.
const MAIN: &str = "Drawbridge$";

fn main() {
    let parts: Vec<String> = env::args().skip(1).collect();
    let is_chosen = |part: &str| parts.is_empty() || parts.iter().any(|name| name == part);
    if is_chosen("states") {
        measure_states();
    }
    println!("\n| in ms | p50 | maximum | target |");
    println!("|---|---|---|---|");
    if is_chosen("reopening") {
        measure_reopening();
    }
    if is_chosen("popup") {
        measure_popup();
    }
}

/// Measures the memory and the processor time of the idle app, with and without its window.
fn measure_states() {
    let desktop = DesktopSession::new();
    println!("| state | memory, MiB | processor, % of a core |");
    println!("|---|---|---|");
    let mut command = desktop.command(paths::built_binary("drawbridge-desktop"));
    command.args(desktop.app_arguments(0));
    let app = Process::start(&desktop, "drawbridge-desktop", &mut command);
    print_state(&desktop, "started in the tray");
    desktop.press(OPEN);
    wait_until("the window is open", || {
        some_if(desktop.count_visible_windows(MAIN) > 0)
    });
    print_state(&desktop, "with its window");
    desktop.close_window(".*Drawbridge");
    wait_until("the window is closed", || {
        some_if(desktop.count_visible_windows(MAIN) == 0)
    });
    print_state(&desktop, "after its window was closed");
    println!("| target | ≤ 160 without a window | ≤ 0.1 |");
    drop(app);
}

fn open_app(desktop: &DesktopSession, port: u16) -> WebDriver {
    let driver = WebDriver::open_for_measurement(
        desktop,
        &paths::built_binary("drawbridge-desktop"),
        &desktop.app_arguments(port),
    );
    driver.switch_to_window("the popup", |url| url.contains("#/popup"));
    driver
}

fn print_state(desktop: &DesktopSession, state: &str) {
    thread::sleep(SETTLE);
    let before = processor_time(desktop);
    thread::sleep(IDLE);
    let used = processor_time(desktop).saturating_sub(before);
    let percent = used.as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    println!("| {state} | {} | {percent:.2} |", memory_mib(desktop));
}

/// Returns the ids of the processes of the app and of its web views.
fn app_processes(desktop: &DesktopSession) -> Vec<u32> {
    let processes = desktop.processes();
    let matching = processes.iter().filter(|process| {
        process.command.contains("drawbridge-desktop") || process.command.contains("WebKit")
    });
    matching.map(|process| process.pid).collect()
}

fn memory_mib(desktop: &DesktopSession) -> u64 {
    let kib: u64 = app_processes(desktop)
        .into_iter()
        .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok())
        .filter_map(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
            line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
        })
        .sum();
    kib / 1024
}

/// Returns the processor time that the app has used so far.
fn processor_time(desktop: &DesktopSession) -> Duration {
    const TICKS_PER_SECOND: u64 = 100;
    let ticks: u64 = app_processes(desktop)
        .into_iter()
        .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok())
        .filter_map(|stat| {
            // The name of the program may contain spaces, and ends with the last parenthesis. The
            // times in user and kernel mode are the 14th and the 15th field.
            let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
            let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
            Some(field(14)? + field(15)?)
        })
        .sum();
    Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND)
}

fn measure_reopening() {
    let desktop = DesktopSession::new();
    let driver = open_app(&desktop, find_free_port());
    let times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            desktop.press(OPEN);
            driver.switch_to_window("the main window", |url| !url.contains("#/popup"));
            driver.wait_for("nav-servers");
            let time = begin.elapsed().as_secs_f64() * 1_000.0;
            desktop.close_window(".*Drawbridge");
            wait_until("the window is closed", || {
                some_if(desktop.count_visible_windows(MAIN) == 0)
            });
            time
        })
        .collect();
    print_times("from the shortcut to the window", times, "≤ 500");
}

fn measure_popup() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    let token = hub.add_client("asked");
    hub.stop(Signal::SIGTERM);
    let port = find_free_port();
    let driver = open_app(&desktop, port);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let times = (0..POPUP_ROUNDS).map(|_| {
        wait_until_popup_is_gone(&driver);
        let client = McpClient::connect(&url, &token);
        thread::sleep(POLL_PAUSE);
        measure_card(&driver, &client)
    });
    print_times(
        "from a call to the popup, just after the client connected",
        times.collect(),
        "≤ 300",
    );
    let client = McpClient::connect(&url, &token);
    let times = (0..POPUP_ROUNDS).map(|_| {
        wait_until_popup_is_gone(&driver);
        measure_card(&driver, &client)
    });
    print_times(
        "from a call to the popup, after two minutes without use",
        times.collect(),
        "",
    );
}

fn wait_until_popup_is_gone(driver: &WebDriver) {
    thread::sleep(SETTLE);
    assert!(driver.windows().is_empty(), "the popup is destroyed");
}

/// Makes a call, approves it, and returns the time until WebKit painted the card, in milliseconds.
fn measure_card(driver: &WebDriver, client: &McpClient) -> f64 {
    let sent = unix_micros();
    let call = client.spawn_call("probe__now", "{}");
    thread::sleep(POLL_PAUSE);
    driver.switch_to_window("the popup", |url| url.contains("#/popup"));
    driver.wait_for("approval-card");
    let painted = wait_until("WebKit has painted its content", || {
        driver
            .run_script(
                "const paint = performance.getEntriesByName('first-contentful-paint')[0]; \
                 return paint && performance.timeOrigin + paint.startTime",
            )
            .as_f64()
    });
    driver.click("approve-once");
    call.join().expect("the call ends");
    painted - sent as f64 / 1_000.0
}

fn print_times(label: &str, mut times: Vec<f64>, target: &str) {
    times.sort_by(f64::total_cmp);
    println!(
        "| {label} | {:.0} | {:.0} | {target} |",
        times[times.len() / 2],
        times[times.len() - 1]
    );
}
