//! The measurements.

use std::{
    env, io,
    net::TcpStream,
    time::{Duration, Instant},
};

use drawbridge_tests::{
    DesktopSession, Home, Hub, http::Url, paths, ports::find_free_port, process::Process,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::runtime::Runtime;

use crate::{
    client::{PipeSession, Session, Slice, Target, load, open_sessions},
    report::Row,
    stats::{median, percentile, read_processor_time, read_status},
};

/// The size of all measurements.
struct Scale {
    rounds: usize,
    /// The length of a slice of load.
    slice: Duration,
    /// The calls of one latency measurement. A measurement of opening takes at most 50.
    calls: usize,
    /// The numbers of sessions under load: few, more and most.
    sessions: [usize; 3],
    /// The progress notifications of one call.
    progress: usize,
    /// The tools of the larger idle hub.
    tools: usize,
    /// The counts in the large hubs: servers, tools, sessions, rules and records.
    growth: [usize; 5],
}

const FULL: Scale = Scale {
    rounds: 7,
    slice: Duration::from_secs(2),
    calls: 500,
    sessions: [64, 256, 1_000],
    progress: 500,
    tools: 1_000,
    growth: [100, 10_000, 1_000, 10_000, 1_000_000],
};

const SHORT: Scale = Scale {
    rounds: 1,
    slice: Duration::from_millis(100),
    calls: 3,
    sessions: [2, 3, 4],
    progress: 20,
    tools: 20,
    growth: [2, 20, 5, 3, 20],
};

/// A program that runs until this value is dropped.
struct RunningProgram {
    target: Target,
    _process: Process,
}

fn own_command(arguments: &[&str]) -> Vec<String> {
    let program = env::current_exe().expect("this program knows its own path");
    let mut command = vec![paths::path_text(program)];
    command.extend(arguments.iter().map(|&argument| argument.to_owned()));
    command
}

fn start(home: &Home, arguments: &[&str]) -> RunningProgram {
    let line = own_command(arguments);
    let mut command = home.command(&line[0]);
    command.args(&line[1..]);
    let mut process = Process::start(home, arguments[0], &mut command);
    let authority = process.read_line();
    let target = Target {
        authority,
        token: "none".to_owned(),
        prefix: String::new(),
        pid: process.pid(),
    };
    RunningProgram {
        target,
        _process: process,
    }
}

fn add_stdio_server(hub: &Hub<'_>, name: &str, tools: usize) {
    let command = own_command(&["upstream-stdio", &tools.to_string()]);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    hub.add_server(name, &[], &command);
    hub.set_policy(name, "allow");
    hub.wait_until_synced(name);
}

fn hub_target(hub: &Hub<'_>, server: &str, client: &str) -> Target {
    Target {
        authority: Url::parse(&hub.url).authority,
        token: hub.add_client(client),
        prefix: format!("{server}__"),
        pid: hub.pid(),
    }
}

/// Measures all rows.
///
/// # Errors
/// Returns an error if a program ends, or if a session cannot be opened.
pub(crate) fn measure_all(runtime: &Runtime, is_short: bool) -> io::Result<Vec<Row>> {
    let scale = if is_short { SHORT } else { FULL };
    let mut rows = measure_idle(&scale)?;
    let home = Home::new();
    let hub = Hub::serve(&home);
    let upstream = start_with_servers(&home, &hub, 10);
    let http_floor = start(&home, &["floor-http", &upstream.target.authority]);
    let child = own_command(&["upstream-stdio", "10"]);
    let floor_arguments: Vec<&str> = ["floor-stdio"]
        .into_iter()
        .chain(child.iter().map(String::as_str))
        .collect();
    let stdio_floor = start(&home, &floor_arguments);
    for is_modern in [false, true] {
        for (server, floor) in [("pipe", &stdio_floor), ("web", &http_floor)] {
            let era = if is_modern { "modern" } else { "legacy" };
            let client = format!("{server}-{era}");
            let comparison = Comparison {
                scale: &scale,
                targets: [floor.target.clone(), hub_target(&hub, server, &client)],
                direct: (server == "web").then(|| upstream.target.clone()),
                is_modern,
                variant: format!("{}, {era}", if server == "web" { "HTTP" } else { "stdio" }),
            };
            rows.extend(runtime.block_on(comparison.measure())?);
        }
    }
    rows.extend(measure_growth(runtime, &scale)?);
    Ok(rows)
}

/// Adds a stdio server, "pipe", and an HTTP server, "web", to a hub. Returns the HTTP server.
fn start_with_servers(home: &Home, hub: &Hub<'_>, tools: usize) -> RunningProgram {
    add_stdio_server(hub, "pipe", tools);
    let upstream = start(home, &["upstream-http", &tools.to_string()]);
    let url = format!("http://{}/mcp", upstream.target.authority);
    home.cli(&["servers", "add", "web", "--url", &url, "--json"])
        .expect_success();
    hub.set_policy("web", "allow");
    hub.wait_until_synced("web");
    upstream
}

/// Sends calls through a hub, and prints the id of its process before, and its speed after that.
///
/// # Errors
/// Returns an error if a program ends, or if a session cannot be opened.
pub(crate) fn load_hub(
    runtime: &Runtime,
    server: &str,
    is_modern: bool,
    sessions: usize,
    length: Duration,
    tools: usize,
) -> io::Result<()> {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let _upstream = start_with_servers(&home, &hub, tools);
    let target = hub_target(&hub, server, "load");
    println!("process {}", target.pid);
    let measured = runtime.block_on(async {
        let sessions = open_sessions(&target, is_modern, sessions).await?;
        measure_load(sessions, &target, length).await
    });
    let Measured {
        calls_per_second,
        cpu_ms_per_1000,
        p99_ms,
        errors,
    } = measured?.1;
    println!(
        "{calls_per_second:.0} calls per second, {cpu_ms_per_1000:.1} ms of CPU per 1,000 calls, \
         p99 {p99_ms:.1} ms, {errors} errors"
    );
    Ok(())
}

/// Measures hubs that no client calls.
fn measure_idle(scale: &Scale) -> io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, tools, target_ratio) in [
        ("idle memory, MiB", 1, "≤ 16"),
        ("idle memory with 1,000 tools, MiB", scale.tools, "≤ 22"),
    ] {
        let home = Home::new();
        let hub = Hub::serve(&home);
        add_stdio_server(&hub, "pipe", tools);
        std::thread::sleep(scale.slice * 5);
        let mib = read_status(hub.pid(), "VmRSS")? / 1024.0;
        rows.push(single_row(name, mib, target_ratio));
        if tools == 1 {
            let threads = read_status(hub.pid(), "Threads")?;
            rows.push(single_row("threads of an idle hub", threads, "≤ 8"));
        }
    }
    Ok(rows)
}

fn single_row(name: &'static str, value: f64, target_ratio: &'static str) -> Row {
    Row {
        name,
        variant: String::new(),
        floor: None,
        hub: value,
        ratio: value,
        target_ratio,
    }
}

/// A comparison of the hub with its floor, or of a large hub with a small hub.
struct Comparison<'a> {
    scale: &'a Scale,
    /// The floor and the hub, or the small hub and the large hub.
    targets: [Target; 2],
    /// The server itself if it is an HTTP server.
    direct: Option<Target>,
    is_modern: bool,
    variant: String,
}

/// The measured values of a slice of load.
struct Measured {
    calls_per_second: f64,
    cpu_ms_per_1000: f64,
    p99_ms: f64,
    errors: f64,
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
async fn measure_load(
    sessions: Vec<Session>,
    target: &Target,
    length: Duration,
) -> io::Result<(Vec<Session>, Measured)> {
    let (before, begin) = (read_processor_time(target.pid)?, Instant::now());
    let (sessions, Slice { durations, errors }) = load(sessions, length).await;
    let cpu = read_processor_time(target.pid)?.saturating_sub(before);
    let calls = durations.len() as f64;
    let measured = Measured {
        calls_per_second: calls / begin.elapsed().as_secs_f64(),
        cpu_ms_per_1000: cpu.as_secs_f64() * 1e6 / calls,
        p99_ms: percentile(&durations, 99),
        errors: errors as f64,
    };
    Ok((sessions, measured))
}

impl Comparison<'_> {
    async fn measure(&self) -> io::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let [few, more, most] = self.scale.sessions;
        let at_few = self.measure_sessions(few).await?;
        rows.push(self.row(
            "CPU per 1,000 calls at 64 sessions, ms",
            &at_few,
            |measured| measured.cpu_ms_per_1000,
            "≤ 1.7",
        ));
        rows.push(self.row(
            "calls per second at 64 sessions",
            &at_few,
            |measured| measured.calls_per_second,
            "≥ 0.7",
        ));
        let at_more = self.measure_sessions(more).await?;
        rows.push(self.row(
            "calls per second at 256 sessions",
            &at_more,
            |measured| measured.calls_per_second,
            "≥ 0.7",
        ));
        rows.push(self.row(
            "p99 at 256 sessions, ms",
            &at_more,
            |measured| measured.p99_ms,
            "≤ 1.5",
        ));
        rows.push(self.count_errors("errors at 256 sessions", &at_more));
        let at_most = self.measure_sessions(most).await?;
        rows.push(self.row(
            "p99 at 1,000 sessions, ms",
            &at_most,
            |measured| measured.p99_ms,
            "",
        ));
        rows.push(self.count_errors("errors at 1,000 sessions", &at_most));
        rows.push(self.measure_latency().await?);
        let long = format!(r#"{{"message":"{}"}}"#, "x".repeat(1 << 20));
        let calls = [
            ("1 MiB answer, ms", "blob", "{}"),
            ("1 MiB both ways, ms", "echo", long.as_str()),
        ];
        for (name, tool, arguments) in calls {
            let times = self.time_calls(tool, arguments, 5).await?;
            rows.push(self.row(name, &times, |&ms| ms, "≤ 1.5"));
        }
        rows.push(self.measure_progress().await?);
        rows.push(self.measure_opening().await?);
        Ok(rows)
    }

    /// Sends calls through the two targets, in turn.
    async fn measure_sessions(&self, count: usize) -> io::Result<Vec<[Measured; 2]>> {
        let mut sessions = Vec::new();
        for target in &self.targets {
            sessions.push(open_sessions(target, self.is_modern, count).await?);
        }
        let mut rounds = Vec::new();
        for _ in 0..self.scale.rounds {
            let mut round = Vec::new();
            for (target, sessions) in self.targets.iter().zip(&mut sessions) {
                let taken = std::mem::take(sessions);
                let (returned, measured) = measure_load(taken, target, self.scale.slice).await?;
                *sessions = returned;
                round.push(measured);
            }
            rounds.extend(<[Measured; 2]>::try_from(round).ok());
        }
        Ok(rounds)
    }

    /// Returns the median times of the calls of one session, in ms: for each round, the time of the
    /// floor and the time of the hub.
    async fn time_calls(
        &self,
        tool: &str,
        arguments: &str,
        calls: usize,
    ) -> io::Result<Vec<[f64; 2]>> {
        let [floor, hub] = &self.targets;
        let mut sessions = [
            Session::open(floor, self.is_modern).await?,
            Session::open(hub, self.is_modern).await?,
        ];
        let mut rounds = Vec::new();
        for _ in 0..self.scale.rounds {
            let mut round = [0.0; 2];
            for (time, session) in round.iter_mut().zip(&mut sessions) {
                *time = time_median(session, tool, arguments, calls).await?;
            }
            rounds.push(round);
        }
        Ok(rounds)
    }

    /// Measures how much longer a call takes through the floor and through the hub than directly.
    async fn measure_latency(&self) -> io::Result<Row> {
        let arguments = r#"{"message":"hello"}"#;
        let mut times = self.time_calls("echo", arguments, self.scale.calls).await?;
        let direct = match &self.direct {
            Some(direct) => {
                let mut session = Session::open(direct, self.is_modern).await?;
                time_median(&mut session, "echo", arguments, self.scale.calls).await?
            }
            None => {
                let mut session = PipeSession::open(&own_command(&["upstream-stdio", "10"]))?;
                let mut durations = Vec::new();
                for _ in 0..self.scale.calls {
                    let begin = Instant::now();
                    session.call("echo", arguments).await?;
                    durations.push(begin.elapsed());
                }
                percentile(&durations, 50)
            }
        };
        for time in times.as_flattened_mut() {
            *time -= direct;
        }
        Ok(self.row(
            "p50 in addition to a direct call, ms",
            &times,
            |&ms| ms,
            "≤ 2.5",
        ))
    }

    /// Measures the rate of the notifications of one call. The floor of a stdio server is a byte
    /// pump, because the floor with HTTP in front of a child does not pass notifications on.
    #[expect(clippy::cast_precision_loss, reason = "counts of messages are small")]
    async fn measure_progress(&self) -> io::Result<Row> {
        let arguments = format!(r#"{{"count":{}}}"#, self.scale.progress);
        let mut times = self.time_calls("notify", &arguments, 1).await?;
        if self.direct.is_none() {
            let child = own_command(&["upstream-stdio", "10"]);
            let command = [own_command(&["floor-bytes"]), child].concat();
            let mut session = PipeSession::open(&command)?;
            session.call("echo", "{}").await?;
            for round in &mut times {
                let begin = Instant::now();
                session.call("notify", &arguments).await?;
                round[0] = begin.elapsed().as_secs_f64() * 1e3;
            }
        }
        let rate = |ms: &f64| self.scale.progress as f64 / ms * 1e3;
        Ok(self.row(
            "progress notifications of one call per second",
            &times,
            rate,
            "≥ 0.4",
        ))
    }

    async fn measure_opening(&self) -> io::Result<Row> {
        let mut rounds = Vec::new();
        for _ in 0..self.scale.rounds {
            let mut round = [0.0; 2];
            for (time, target) in round.iter_mut().zip(&self.targets) {
                let mut durations = Vec::new();
                for _ in 0..self.scale.calls.min(50) {
                    let begin = Instant::now();
                    let mut session = Session::open(target, self.is_modern).await?;
                    session.call("echo", r#"{"message":"hello"}"#).await?;
                    durations.push(begin.elapsed());
                }
                *time = percentile(&durations, 50);
            }
            rounds.push(round);
        }
        Ok(self.row(
            "opening a session and a first call, ms",
            &rounds,
            |&ms| ms,
            "≤ 1.5",
        ))
    }

    /// Returns a row with the medians of a value, and the median of its ratios, over all rounds.
    fn row<T>(
        &self,
        name: &'static str,
        rounds: &[[T; 2]],
        value: impl Fn(&T) -> f64,
        target_ratio: &'static str,
    ) -> Row {
        let median_of = |at: usize| median(rounds.iter().map(|round| value(&round[at])).collect());
        let ratios = rounds.iter().map(|[floor, hub]| value(hub) / value(floor));
        Row {
            name,
            variant: self.variant.clone(),
            floor: Some(median_of(0)),
            hub: median_of(1),
            ratio: median(ratios.collect()),
            target_ratio,
        }
    }

    /// Returns a row with the errors of all rounds.
    fn count_errors(&self, name: &'static str, rounds: &[[Measured; 2]]) -> Row {
        let sum = |at: usize| rounds.iter().map(|round| round[at].errors).sum::<f64>();
        Row {
            name,
            variant: self.variant.clone(),
            floor: Some(sum(0)),
            hub: sum(1),
            ratio: sum(1),
            target_ratio: "0",
        }
    }
}

async fn time_median(
    session: &mut Session,
    tool: &str,
    arguments: &str,
    calls: usize,
) -> io::Result<f64> {
    let mut durations = Vec::new();
    for _ in 0..calls {
        let begin = Instant::now();
        session.call(tool, arguments).await?;
        durations.push(begin.elapsed());
    }
    Ok(percentile(&durations, 50))
}

/// Compares the cost of a call in the app, which starts in the tray, with the cost in the command.
///
/// # Errors
/// Returns an error if a program ends, or if a session cannot be opened.
pub(crate) fn measure_app(runtime: &Runtime) -> io::Result<Vec<Row>> {
    let home = Home::new();
    let hub = Hub::serve(&home);
    add_stdio_server(&hub, "pipe", 10);
    let command = hub_target(&hub, "pipe", "load");
    let desktop = DesktopSession::new();
    // The command sets the server and the client up, and then the app serves the same data folder.
    let first = Hub::serve(&desktop);
    add_stdio_server(&first, "pipe", 10);
    let mut target = hub_target(&first, "pipe", "load");
    first.stop(Signal::SIGTERM);
    let mut app = desktop.command(paths::built_binary("drawbridge-desktop"));
    let port = find_free_port();
    app.args(desktop.app_arguments(port));
    let app = Process::start(&desktop, "drawbridge-desktop", &mut app);
    target.authority = format!("127.0.0.1:{port}");
    target.pid = app.pid();
    wait_until("the app listens", || {
        TcpStream::connect(&target.authority).ok()
    });
    let comparison = Comparison {
        scale: &FULL,
        targets: [command, target],
        direct: None,
        is_modern: false,
        variant: "the app, beside the command".to_owned(),
    };
    let rounds = runtime.block_on(comparison.measure_sessions(FULL.sessions[0]))?;
    drop(app);
    Ok(vec![
        comparison.row(
            "CPU per 1,000 calls at 64 sessions, ms",
            &rounds,
            |measured| measured.cpu_ms_per_1000,
            "≤ 1.15",
        ),
        comparison.row(
            "calls per second at 64 sessions",
            &rounds,
            |measured| measured.calls_per_second,
            "≥ 0.87",
        ),
    ])
}

/// Compares the cost of a call in large hubs with the cost in a small hub.
fn measure_growth(runtime: &Runtime, scale: &Scale) -> io::Result<Vec<Row>> {
    let [servers, tools, sessions, rules, records] = scale.growth;
    Ok(vec![
        measure_large_hub(
            runtime,
            scale,
            "CPU per 1,000 calls with 100 servers, ms",
            10,
            |hub, _| {
                for number in 1..servers {
                    add_stdio_server(hub, &format!("other-{number}"), 3);
                }
                Ok(Vec::new())
            },
        )?,
        measure_large_hub(
            runtime,
            scale,
            "CPU per 1,000 calls with 10,000 tools, ms",
            tools,
            |_, _| Ok(Vec::new()),
        )?,
        measure_large_hub(
            runtime,
            scale,
            "CPU per 1,000 calls with 1,000 sessions, ms",
            10,
            |_, target| runtime.block_on(open_sessions(target, false, sessions)),
        )?,
        measure_large_hub(
            runtime,
            scale,
            "CPU per 1,000 calls with 10,000 rules, ms",
            10,
            |hub, _| {
                for number in 0..rules {
                    let scope = json!({"server": "pipe", "tool": format!("unused_{number}")});
                    hub.run_verb("policy.set", &json!({"scope": scope, "effect": "allow"}));
                }
                Ok(Vec::new())
            },
        )?,
        measure_large_hub(
            runtime,
            scale,
            "CPU per 1,000 calls with 1,000,000 records, ms",
            10,
            |_, target| {
                let mut callers =
                    runtime.block_on(open_sessions(target, false, 64.min(records)))?;
                let mut count = 0;
                while count < records {
                    let (returned, slice) = runtime.block_on(load(callers, scale.slice));
                    callers = returned;
                    count += slice.durations.len();
                }
                Ok(Vec::new())
            },
        )?,
    ])
}

/// Compares a hub that `grow` has made large with a small hub. The sessions that `grow` returns
/// stay open.
fn measure_large_hub(
    runtime: &Runtime,
    scale: &Scale,
    name: &'static str,
    tools: usize,
    grow: impl FnOnce(&Hub<'_>, &Target) -> io::Result<Vec<Session>>,
) -> io::Result<Row> {
    let homes = [Home::new(), Home::new()];
    let hubs = homes.each_ref().map(Hub::serve);
    for (hub, tools) in hubs.iter().zip([10, tools]) {
        add_stdio_server(hub, "pipe", tools);
    }
    let targets = hubs.each_ref().map(|hub| hub_target(hub, "pipe", "load"));
    let idle_sessions = grow(&hubs[1], &targets[1])?;
    let comparison = Comparison {
        scale,
        targets,
        direct: None,
        is_modern: false,
        variant: "beside a small hub".to_owned(),
    };
    let rounds = runtime.block_on(comparison.measure_sessions(scale.sessions[0].min(16)))?;
    drop(idle_sessions);
    Ok(comparison.row(name, &rounds, |measured| measured.cpu_ms_per_1000, "≤ 1.2"))
}
