//! A server that misbehaves on request. MCP over stdio, legacy era; each call runs on its own
//! thread.
//!
//! | option | meaning |
//! |---|---|
//! | `--record FILE` | records its pid at each start, and each line that it receives; comes first |
//! | `--check-decisions-in DIR` | records each call whose decision is not in the data folder DIR |
//! | `--mute` | answers nothing |
//! | `--child` | starts a child process that ignores `SIGTERM` |
//! | `--escaped-child` | as `--child`, outside of the process group, with the server's pipes |
//! | `--hidden-child` | as `--child`, in a session of its own, without parent or environment |
//! | `--hopping-child` | as `--hidden-child`, but a new process replaces the child repeatedly |
//! | `--crash` | exits at once |
//! | `--late-start MS` | reads nothing for MS milliseconds |
//! | `--stay` | keeps running after its stdin is closed |
//! | `--grow` | has one more tool each time the tools are listed |
//! | `--tools FILE` | also lists the tools of the file, read each time; each tool echoes its call |
//! | `--more-pages N` | lists N more pages of tools, of 4 MiB each |
//! | `--script FILE` | answers as the file defines, and writes its lines (see `script.rs`) |
//! | `--claims-modern` | claims the modern revision, but refuses calls before `initialize` |
//! | `--extensions JSON` | declares these extensions in its capabilities |
//! | `--in-two-steps` | is modern only; refuses the first `server/discover`, naming its revision |
//! | `--change-while-listed MS` | sends `list_changed` MS ms before it first lists its tools |

mod calls;
mod floods;
mod output;
mod recorder;
mod script;

use std::{
    collections::{HashMap, HashSet},
    env,
    io::{self, BufRead},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio, exit},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{output::write_line, recorder::Message, script::Script};

const MODERN: &str = "2026-07-28";

#[derive(Default)]
struct Options {
    record: Option<PathBuf>,
    hub_data_dir: Option<PathBuf>,
    mute: bool,
    crash: bool,
    stay: bool,
    grow: bool,
    claims_modern: bool,
    in_two_steps: bool,
    extensions: Option<Value>,
    tools: Option<PathBuf>,
    more_pages: usize,
    script: Option<PathBuf>,
    late_start: u64,
    change_while_listed: u64,
}

/// The state that the threads share.
#[derive(Default)]
struct Server {
    options: Options,
    /// The ids of calls that are answered after they are cancelled.
    hanging: Mutex<HashSet<String>>,
    /// The senders that pass on the answers to the server's own requests, by request id.
    pending_requests: Mutex<HashMap<String, mpsc::Sender<String>>>,
    list_count: AtomicU64,
    discover_count: AtomicU64,
    initialized: AtomicBool,
}

fn main() {
    let (options, children) = parse_options();
    recorder::record_line(
        options.record.as_deref(),
        &json!({"pid": std::process::id()}).to_string(),
    );
    if options.crash {
        exit(7);
    }
    thread::sleep(Duration::from_millis(options.late_start));
    if let Some(script) = options.script.as_deref().map(Script::read) {
        script.write_stderr_lines();
    }
    let server = Arc::new(Server {
        options,
        ..Server::default()
    });
    for line in io::stdin().lock().split(b'\n') {
        let Ok(line) = line else { break };
        let line = String::from_utf8_lossy(&line).into_owned();
        recorder::record_line(
            server.options.record.as_deref(),
            recorder::truncate_line(&line),
        );
        if let (false, Some(message)) = (server.options.mute, Message::read(&line)) {
            server.clone().handle_message(message);
        } else if let Some((id, answer)) = recorder::parse_response(&line)
            && let Some(sender) = server
                .pending_requests
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&id)
        {
            // The receiver may have given up.
            let _ = sender.send(answer);
        }
    }
    if server.options.stay {
        loop {
            thread::park();
        }
    }
    drop(children);
}

fn parse_options() -> (Options, Vec<Child>) {
    let (mut options, mut children) = (Options::default(), Vec::new());
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .unwrap_or_else(|| panic!("{argument} needs a value"))
        };
        match argument.as_str() {
            "--record" => options.record = Some(value().into()),
            "--check-decisions-in" => options.hub_data_dir = Some(value().into()),
            "--mute" => options.mute = true,
            "--child" => children.push(spawn_child(&options, &mut Command::new("sh"), Stdio::null)),
            "--escaped-child" => children.push(spawn_child(
                &options,
                Command::new("setsid").arg("sh"),
                Stdio::inherit,
            )),
            "--hidden-child" => start_hidden_child(
                &options,
                "trap '' TERM HUP INT; while :; do /bin/sleep 600; done",
            ),
            "--hopping-child" => start_hidden_child(
                &options,
                r#"trap '' TERM HUP INT; /bin/sleep 0.02; exec /usr/bin/setsid -f /bin/sh -c "$0" "$0" "$1""#,
            ),
            "--crash" => options.crash = true,
            "--stay" => options.stay = true,
            "--grow" => options.grow = true,
            "--claims-modern" => options.claims_modern = true,
            "--extensions" => {
                options.extensions = Some(serde_json::from_str(&value()).expect("JSON"))
            }
            "--in-two-steps" => options.in_two_steps = true,
            "--tools" => options.tools = Some(value().into()),
            "--more-pages" => options.more_pages = value().parse().expect("a number"),
            "--script" => options.script = Some(value().into()),
            "--late-start" => options.late_start = value().parse().expect("milliseconds"),
            "--change-while-listed" => {
                options.change_while_listed = value().parse().expect("milliseconds")
            }
            other => panic!("unknown option {other}"),
        }
    }
    (options, children)
}

fn spawn_child(options: &Options, shell: &mut Command, output: fn() -> Stdio) -> Child {
    shell.args(["-c", "trap '' TERM HUP INT; sleep 600"]);
    shell.env(
        "FAULTY_CHILD_OF",
        options.record.as_deref().unwrap_or(Path::new("")),
    );
    shell
        .stdin(Stdio::null())
        .stdout(output())
        .stderr(output())
        .spawn()
        .expect("start a child")
}

/// Starts a script in a session of its own, without an environment. The parent of the script ends
/// at once. Only the script's argument, the path of the record, shows to which server the script
/// belongs.
fn start_hidden_child(options: &Options, script: &str) {
    let record = options.record.as_deref().unwrap_or(Path::new(""));
    let status = Command::new("setsid")
        .args(["-f", "/usr/bin/env", "-i", "/bin/sh", "-c", script, script])
        .arg(record)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("start a hidden child");
    assert!(status.success(), "start a hidden child: {status}");
}

impl Server {
    fn handle_message(self: Arc<Self>, message: Message) {
        let Message { id, method, params } = message;
        let Some(id) = id else {
            if method == "notifications/cancelled" {
                self.answer_cancelled(&params);
            }
            return;
        };
        if self
            .options
            .script
            .as_deref()
            .is_some_and(|file| Script::read(file).answer(&id, &method, &params))
        {
            return;
        }
        if let Some(error) = self.refuse(&method) {
            return write_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
        }
        match method.as_str() {
            "server/discover" if self.options.claims_modern || self.options.in_two_steps => {
                answer(
                    &id,
                    &json!({"supportedVersions": [MODERN], "capabilities": self.with_extensions(json!({"tools": {}}))}),
                );
            }
            "initialize" => answer(
                &id,
                &json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": self.with_extensions(json!({"tools": {"listChanged": true}, "logging": {}})),
                    "serverInfo": {"name": "upstream-faulty", "version": "1"}
                }),
            ),
            "ping" | "logging/setLevel" => answer(&id, &json!({})),
            "tools/list" => self.answer_list(&id, &params),
            "tools/call" => {
                recorder::record_if_undecided(&self.options, &params);
                if recorder::is_call_of(&params, "stop_reading") {
                    self.answer_call(&id, &params);
                    loop {
                        thread::park();
                    }
                }
                thread::spawn(move || self.answer_call(&id, &params));
            }
            other => {
                let error = json!({"code": -32601, "message": format!("no method {other}")});
                write_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
            }
        }
    }

    fn with_extensions(&self, mut capabilities: Value) -> Value {
        if let Some(extensions) = &self.options.extensions {
            capabilities["extensions"] = extensions.clone();
        }
        capabilities
    }

    /// Returns the error for a method that the options refuse, or `None`. Remembers that
    /// `initialize` has arrived.
    fn refuse(&self, method: &str) -> Option<Value> {
        match method {
            "initialize" if self.options.in_two_steps => Some(
                json!({"code": -32022, "message": "no sessions here", "data": {"supported": [MODERN]}}),
            ),
            "initialize" => {
                self.initialized.store(true, Ordering::Relaxed);
                None
            }
            "server/discover"
                if self.options.in_two_steps
                    && self.discover_count.fetch_add(1, Ordering::Relaxed) == 0 =>
            {
                Some(
                    json!({"code": -32022, "message": "unsupported", "data": {"supported": [MODERN]}}),
                )
            }
            "tools/call"
                if self.options.claims_modern && !self.initialized.load(Ordering::Relaxed) =>
            {
                Some(json!({"code": -32600, "message": "initialize is required"}))
            }
            _ => None,
        }
    }

    /// Answers a cancelled call, late.
    fn answer_cancelled(&self, params: &recorder::Object) {
        let Some(id) = params.get("requestId").map(|id| id.get().to_owned()) else {
            return;
        };
        if self
            .hanging
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id)
        {
            answer(&id, &calls::text_result("too late"));
        }
    }

    fn answer_list(&self, id: &str, params: &recorder::Object) {
        let page: usize = params
            .get("cursor")
            .and_then(|cursor| cursor.get().trim_matches('"').parse().ok())
            .unwrap_or(0);
        if page > 0 {
            return answer(id, &self.large_page(page));
        }
        let earlier_lists = self.list_count.fetch_add(1, Ordering::Relaxed);
        let mut tools: Vec<Value> = calls::TOOLS
            .iter()
            .map(|name| tool_definition(name))
            .collect();
        if self.options.grow {
            tools.extend(
                (0..=earlier_lists).map(|number| tool_definition(&format!("grown-{number}"))),
            );
        }
        if let Some(file) = &self.options.tools {
            let text = std::fs::read_to_string(file).expect("the file of tools");
            tools.extend(serde_json::from_str::<Vec<Value>>(&text).expect("tools"));
        }
        if self.options.change_while_listed > 0 && earlier_lists == 0 {
            write_line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
            thread::sleep(Duration::from_millis(self.options.change_while_listed));
        }
        let mut result = json!({"tools": tools});
        if self.options.more_pages > 0 {
            result["nextCursor"] = "1".into();
        }
        answer(id, &result);
    }

    /// Returns one of the pages that `--more-pages` asks for.
    fn large_page(&self, page: usize) -> Value {
        const TOOLS: usize = 32;
        let description = "d".repeat((4 << 20) / TOOLS);
        let tools: Vec<_> = (0..TOOLS)
            .map(|number| {
                let mut tool = tool_definition(&format!("large-{page}-{number}"));
                tool["description"] = description.as_str().into();
                tool
            })
            .collect();
        let mut result = json!({"tools": tools});
        if page < self.options.more_pages {
            result["nextCursor"] = (page + 1).to_string().into();
        }
        result
    }
}

fn tool_definition(name: &str) -> Value {
    json!({"name": name, "description": name, "inputSchema": {"type": "object"}})
}

fn answer(id: &str, result: &Value) {
    write_line(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
    ));
}
