//! The time until the screens can be used, and how smoothly they scroll and accept text, if they
//! show much data: `cargo xtask bench screens`. Prints measurements; asserts nothing.
//!
//! The same screens are measured in a browser, and in the window of the app. Both show the same
//! data folder, and real servers that run. A screen counts as open when its content is painted.

#![expect(clippy::print_stdout, reason = "the bench prints a table")]

mod session;

use std::{fs, thread, time::Duration};

use drawbridge_tests::{
    DesktopSession, FaultyServer, Hub, WebDriver, paths,
    ports::find_free_port,
    screen_times::{self, ScreenTimes},
    wait::{some_if, unix_micros},
    wait_until_within,
};
use nix::sys::signal::Signal;
use serde_json::json;

use session::Session;

const SERVERS: usize = 100;
const TOOLS_PER_SERVER: usize = 50;
const CLIENTS: usize = 10;
const CALLS_PER_CLIENT: usize = 10_000;
const LOG_LINES: usize = 100_000;
/// The lines of one file of the hub's log. A file holds at most 10 MiB.
const LINES_PER_FILE: usize = 25_000;
const MEMORY_ENTRIES: usize = 1_000;
/// The longest time until all servers have started.
const SYNC_TIMEOUT: Duration = Duration::from_secs(180);

fn main() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    add_servers(&desktop, &hub);
    make_calls(&hub);
    for number in 0..MEMORY_ENTRIES {
        let content = format!("The staging server number {number} is restarted on Mondays.");
        hub.run_verb("memory.add", &json!({"content": content}));
    }
    hub.stop(Signal::SIGTERM);
    write_log_lines(&desktop);

    let hub = Hub::serve(&desktop);
    wait_until_synced(&desktop);
    let output = desktop.cli(&["open", "--print"]).expect_success().stdout();
    let in_browser = screen_times::measure_in_browser(&desktop, output.trim());
    hub.stop(Signal::SIGTERM);
    println!(
        "The window in a browser shows its first screen {:.0} ms after the page began to load.",
        in_browser.window
    );
    print_table("a browser", &in_browser.screens);

    let data_dir = paths::path_text(desktop.data_dir());
    let port = find_free_port().to_string();
    let arguments = [
        "--data-dir",
        &data_dir,
        "--port",
        &port,
        "--skip-config-gen",
    ];
    let driver = WebDriver::open_for_measurement(
        &desktop,
        &paths::built_binary("drawbridge-desktop"),
        &arguments.map(str::to_owned),
    );
    driver.switch_to_window("the main window", |url| !url.contains("#/popup"));
    driver.wait_for("nav-servers");
    wait_until_synced(&desktop);
    print_table("the app", &screen_times::measure_in_app(&driver));
}

/// Adds servers with many tools and an allow rule each, and the probe, which answers calls.
fn add_servers(desktop: &DesktopSession, hub: &Hub<'_>) {
    let tools: Vec<_> = (0..TOOLS_PER_SERVER).map(describe_tool).collect();
    let file = desktop.file("tools.json");
    fs::write(&file, json!(tools).to_string()).expect("write the tools");
    for number in 0..SERVERS {
        let name = format!("server-{number:03}");
        FaultyServer::add(
            hub,
            &name,
            &json!({}),
            &["--tools", &paths::path_text(&file)],
        );
    }
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    wait_until_synced(desktop);
}

fn describe_tool(number: usize) -> serde_json::Value {
    json!({
        "name": format!("read-record-{number:02}"),
        "description": format!("Reads record {number} of the archive, and returns its fields as text."),
        "inputSchema": {"type": "object", "required": ["key"], "properties": {
            "key": {"type": "string", "description": "The key of the record."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        }},
    })
}

fn make_calls(hub: &Hub<'_>) {
    let clients = (0..CLIENTS).map(|number| Session::open(hub, &format!("client-{number}")));
    let clients: Vec<_> = clients.collect();
    thread::scope(|scope| {
        for mut session in clients {
            scope.spawn(move || {
                for number in 0..CALLS_PER_CLIENT {
                    let arguments = format!(r#"{{"record":{number}}}"#);
                    session.call("probe__echo", &arguments).expect("an answer");
                }
            });
        }
    });
}

/// Writes the files of the hub's log, in the hub's format.
fn write_log_lines(desktop: &DesktopSession) {
    let folder = desktop.data_dir().join("logs");
    let now = i64::try_from(unix_micros() / 1000).expect("a time of this century");
    for first in (0..LOG_LINES).step_by(LINES_PER_FILE) {
        let lines = (first..first + LINES_PER_FILE).map(|number| {
            let at = now - i64::try_from(LOG_LINES - number).expect("a small number");
            let line = json!({
                "seq": number, "at": at, "level": "info", "server": null, "area": "hub",
                "text": format!("The server server-{:03} listed its tools again.", number % SERVERS),
            });
            format!("{line}\n")
        });
        let file = folder.join(format!(
            "drawbridge.2026-01-{:02}.log",
            1 + first / LINES_PER_FILE
        ));
        fs::write(file, lines.collect::<String>()).expect("write a log file");
    }
}

fn wait_until_synced(desktop: &DesktopSession) {
    wait_until_within(SYNC_TIMEOUT, "all servers are synced", || {
        let view = desktop.cli(&["servers", "list", "--json"]).expect_json();
        let synced = view["servers"]
            .as_array()?
            .iter()
            .filter(|server| server["sync_status"] == "SYNCED");
        some_if(synced.count() > SERVERS)
    });
}

fn print_table(place: &str, screens: &[ScreenTimes]) {
    println!("\nIn {place}, in ms:\n");
    println!("| screen | opened first | again | longest frame: scrolling | typing |");
    println!("|---|---|---|---|---|");
    for screen in screens {
        let [first, again] = screen.opened;
        println!(
            "| {} | {first:.0} | {again:.0} | {} | {} |",
            screen.name,
            describe_frames(screen.scrolling.as_deref()),
            describe_frames(screen.typing.as_deref()),
        );
    }
    println!("| target | ≤ 300 | ≤ 300 | ≤ 50 | ≤ 50 |");
}

/// Returns the longest frame and, if some frames took longer than the target, their number. Returns
/// an empty text if no frames were measured.
fn describe_frames(frames: Option<&[f64]>) -> String {
    const TARGET_MS: f64 = 50.0;
    let Some(frames) = frames else {
        return String::new();
    };
    let longest = frames.iter().copied().fold(0.0, f64::max);
    let over = frames.iter().filter(|time| **time > TARGET_MS).count();
    if over == 0 {
        format!("{longest:.0}")
    } else {
        format!("{longest:.0} ({over} of {} over {TARGET_MS})", frames.len())
    }
}
