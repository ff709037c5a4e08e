//! A server that records the lines that it receives, and misbehaves on request. MCP over stdio,
//! legacy era.
//!
//! | option | meaning |
//! |---|---|
//! | `--record FILE` | appends its pid at each start, and every line that it receives |
//! | `--check-decisions-in DIR` | records each call whose decision is not in the data folder DIR, which `decision` also reads |
//! | `--result FILE` | the `result` with which `verbatim` answers, byte for byte |
//! | `--describe TEXT` | the description of `echo` |
//! | `--describe-from FILE` | the file with the description of `echo`, which is read each time |
//! | `--noisy` | prints non-JSON-RPC lines to stdout, before and between its answers |
//! | `--grandchild` | starts a child process that ignores `SIGTERM` |
//! | `--mute` | never answers `initialize` |
//! | `--guarded` | also offers a prompt, resources, completions, tasks, and a tool `ask` that sends a request to the client |

#![expect(clippy::print_stdout, reason = "stdout is the transport")]

use std::{
    collections::HashMap,
    env,
    fs::OpenOptions,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio, exit},
    thread,
    time::Duration,
};

mod guarded;

use drawbridge_tests::{store, wait::unix_micros};
use serde_json::{Value, json, value::RawValue};

#[derive(Default)]
struct Options {
    record: Option<PathBuf>,
    hub_data_dir: Option<PathBuf>,
    result: Option<PathBuf>,
    description: String,
    describe_from: Option<PathBuf>,
    noisy: bool,
    grandchild: bool,
    mute: bool,
    guarded: bool,
}

fn main() {
    let options = parse_options();
    let _grandchild = options.grandchild.then(spawn_grandchild);
    record_line(&options, &json!({"pid": std::process::id()}).to_string());
    if options.noisy {
        println!(
            "Welcome to the noisy server!\n  \u{feff}[ready] 100%\n{{\"level\":\"info\",\"msg\":\"not JSON-RPC\"}}"
        );
    }
    // Not `lines`, because `ask` reads lines too.
    while let Some(line) = read_line() {
        record_line(&options, &line);
        let Ok(message) = serde_json::from_str::<Object>(&line) else {
            continue;
        };
        if let Some(answer) = answer_request(&options, &message) {
            if options.noisy {
                println!("DEBUG about to answer\n");
            }
            println!("{answer}");
            io::stdout().flush().expect("write to stdout");
        }
    }
}

/// Returns the next line of the input, or `None` at its end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line).ok()?;
    (length > 0).then(|| line.trim_end_matches('\n').to_owned())
}

fn parse_options() -> Options {
    let mut options = Options {
        description: "Says what it was told".to_owned(),
        ..Options::default()
    };
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
            "--result" => options.result = Some(value().into()),
            "--describe" => options.description = value(),
            "--describe-from" => options.describe_from = Some(value().into()),
            "--noisy" => options.noisy = true,
            "--grandchild" => options.grandchild = true,
            "--mute" => options.mute = true,
            "--guarded" => options.guarded = true,
            other => panic!("unknown option {other}"),
        }
    }
    options
}

fn spawn_grandchild() -> Child {
    let mut stubborn = Command::new("sh");
    stubborn.args(["-c", "trap '' TERM HUP INT; sleep 600"]);
    stubborn
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    stubborn.spawn().expect("start a grandchild")
}

fn record_line(options: &Options, line: &str) {
    let Some(file) = &options.record else { return };
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .expect("open the record");
    writeln!(file, "{line}").expect("write to the record");
}

/// An object whose values stay raw, because a value may be one that no JSON type can hold.
type Object = HashMap<String, Box<RawValue>>;

fn string_member(object: &Object, key: &str) -> Option<String> {
    serde_json::from_str(object.get(key)?.get()).ok()
}

fn answer_request(options: &Options, message: &Object) -> Option<String> {
    let id = message.get("id")?;
    let params: Object = message
        .get("params")
        .and_then(|p| serde_json::from_str(p.get()).ok())
        .unwrap_or_default();
    let result = match string_member(message, "method")?.as_str() {
        "initialize" if options.mute => return None,
        "initialize" => Ok(json!({
            "protocolVersion": if options.guarded { "2025-11-25" } else { "2025-06-18" },
            "capabilities": if options.guarded { guarded::capabilities() } else { json!({"tools": {}}) },
            "serverInfo": {"name": "upstream-probe", "version": "1"}
        })
        .to_string()),
        "ping" => Ok("{}".to_owned()),
        "tools/list" => Ok(list_tools(options).to_string()),
        "tools/call" => {
            if let Some(error) = guarded::required_url(options, &params) {
                return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
            }
            let arguments = params
                .get("arguments")
                .map_or("{}", |arguments| arguments.get());
            let undecided = options
                .hub_data_dir
                .as_deref()
                .and_then(|data_dir| store::find_undecided(data_dir, arguments));
            if let Some(undecided) = undecided {
                record_line(options, &undecided.to_string());
            }
            Ok(guarded::call(options, &params).unwrap_or_else(|| call_tool(options, &params)))
        }
        other => guarded::answer(options, other, &params).ok_or(format!("no method {other}")),
    };
    Some(match result {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        Err(reason) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": reason}})
                .to_string()
        }
    })
}

fn list_tools(options: &Options) -> Value {
    let tool = |name: &str, description: &str| json!({"name": name, "description": description, "inputSchema": {"type": "object"}, "x-unknown": {"kept": true}});
    let described = options
        .describe_from
        .as_deref()
        .map(|file| std::fs::read_to_string(file).expect("a description"));
    let mut tools = vec![
        tool("echo", described.as_deref().unwrap_or(&options.description)),
        tool("verbatim", "Answers with the content of a file"),
        tool(
            "decision",
            "Returns the recorded decisions on calls of this tool",
        ),
        tool("variable", "The value of a variable of its environment"),
        tool("now", "When it was called, in microseconds since 1970"),
        tool("slow", "Answers after `ms` milliseconds"),
        tool("crash", "Ends at once"),
    ];
    if options.guarded {
        tools.push(tool(
            "ask",
            "Sends `method` with `params` to the client, and returns the answer",
        ));
    }
    json!({ "tools": tools })
}

fn call_tool(options: &Options, params: &Object) -> String {
    let arguments = || {
        params.get("arguments").map_or(Value::Null, |a| {
            serde_json::from_str(a.get()).expect("JSON")
        })
    };
    match string_member(params, "name").unwrap_or_default().as_str() {
        "echo" => text_result(&arguments().to_string()),
        "verbatim" => {
            let file = options.result.as_deref().expect("--result is given");
            std::fs::read_to_string(file).expect("read the result")
        }
        "decision" => text_result(&read_decisions(
            options
                .hub_data_dir
                .as_deref()
                .expect("--check-decisions-in is given"),
        )),
        "variable" => text_result(
            &env::var(arguments()["name"].as_str().unwrap_or_default()).unwrap_or_default(),
        ),
        "now" => text_result(&unix_micros().to_string()),
        "slow" => {
            thread::sleep(Duration::from_millis(
                arguments()["ms"].as_u64().unwrap_or(0),
            ));
            text_result("at last")
        }
        "crash" => exit(3),
        other => panic!("the hub called the unknown tool {other}"),
    }
}

/// Returns the rows of the store, at this moment, for calls of `decision`.
fn read_decisions(data_dir: &Path) -> String {
    match store::read_calls(data_dir) {
        Ok(calls) => {
            let rows = calls.iter().filter(|call| call.tool == "decision").map(|call| {
                json!({
                    "decision": call.decision, "decided_by": call.decided_by, "outcome": call.outcome,
                    "client": call.client, "definition_digest": call.definition_digest,
                    "arguments_digest": call.arguments_digest,
                })
            });
            Value::Array(rows.collect()).to_string()
        }
        Err(error) => format!("the store cannot be read: {error}"),
    }
}

fn text_result(text: &str) -> String {
    json!({"content": [{"type": "text", "text": text}]}).to_string()
}
