//! Output other than answers: floods, and lines that are not JSON-RPC.

use std::{
    io::{self, Write},
    path::Path,
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    calls::number,
    output::{write_line, write_repeated},
};

/// The length of a line on stderr, in bytes.
const LINE_BYTES: usize = 120;
/// The number of lines in a portion of a flood. After each portion, the server checks again whether
/// the file that ends the flood exists.
const PORTION_LINES: usize = 1_000;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Returns whether the file that `until` names exists. Returns true if the arguments name no file.
fn is_released(arguments: &Value) -> bool {
    arguments["until"]
        .as_str()
        .is_none_or(|file| Path::new(file).exists())
}

/// Waits until the file that `until` names exists.
pub(crate) fn wait_until_released(arguments: &Value) {
    while !is_released(arguments) {
        thread::sleep(POLL_INTERVAL);
    }
}

/// Writes `bytes` bytes to stderr, or `count` messages of a `kind` to stdout, and goes on until the
/// file that `until` names exists. The text of a log message has `size` characters, at least 100.
pub(crate) fn write_flood(arguments: &Value, progress_token: Option<&str>) {
    let message = match arguments["kind"].as_str().unwrap_or_default() {
        "stderr" => {
            let line = format!("{}\n", "e".repeat(LINE_BYTES - 1));
            write_repeated(
                io::stderr().lock(),
                line.as_bytes(),
                number(arguments, "bytes"),
            );
            while !is_released(arguments) {
                write_repeated(
                    io::stderr().lock(),
                    line.as_bytes(),
                    line.len() * PORTION_LINES,
                );
            }
            return;
        }
        "progress" => {
            let token = progress_token.unwrap_or("0");
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
            )
        }
        "list_changed" => {
            r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned()
        }
        "message" => format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{}"}}}}"#,
            "m".repeat(number(arguments, "size").max(100))
        ),
        "stray" => r#"{"jsonrpc":"2.0","id":4000000000,"result":{"content":[]}}"#.to_owned(),
        "asking" => {
            r#"{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}"#.to_owned()
        }
        other => panic!("there is no kind of flood {other}"),
    };
    let line = format!("{message}\n");
    write_repeated(
        io::stdout().lock(),
        line.as_bytes(),
        line.len() * number(arguments, "count"),
    );
    while !is_released(arguments) {
        write_repeated(
            io::stdout().lock(),
            line.as_bytes(),
            line.len() * PORTION_LINES,
        );
    }
}

/// Writes lines to stdout. The argument `lines` is the number of lines, and `kind` is their kind.
/// Some kinds have further arguments. If `bom_before_answer` is true, a byte order mark follows the
/// lines.
pub(crate) fn write_non_jsonrpc_lines(arguments: &Value) {
    let kind = arguments["kind"].as_str().unwrap_or_default();
    for _ in 0..number(arguments, "lines") {
        match kind {
            "banner" => write_line("  Welcome to the server! [ready] 100%"),
            "bom" => write_line("\u{feff}\u{feff}a byte order mark, twice"),
            "utf8" => write_line(b"\xff\xfe invalid \xc3\x28"),
            "json" => write_line(r#"{"level":"info","msg":"JSON, but not JSON-RPC"}"#),
            "half" => write_line(r#"{"jsonrpc":"2.0","id":1,"resu"#),
            "nul" => write_line(b"\0\0\0\x1b[2J"),
            "endless" => {
                write_repeated(io::stdout().lock(), b"endless ", number(arguments, "bytes"));
                wait_until_released(arguments);
                write_line("");
            }
            "deep" => write_line("[".repeat(number(arguments, "levels"))),
            other => panic!("there is no kind of line {other}"),
        }
    }
    if arguments["bom_before_answer"] == true {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all("\u{feff}".as_bytes())
            .and_then(|()| stdout.flush())
            .expect("write to stdout");
    }
}
