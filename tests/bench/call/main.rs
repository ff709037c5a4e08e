//! The cost of a call: `cargo xtask bench call`. Sends calls through the hub and the floors, which
//! are the simplest possible proxies, in turn. Also measures idle hubs, and compares large hubs
//! with a small hub. Prints a table; asserts nothing.
//!
//! `--short` measures each row once, with a few sessions. `--out FILE` writes the rows as JSON.
//! `--write` writes the table to `docs/performance.md`.
//!
//! `--app`, as the only argument, compares the hub of the app with the hub of the command instead.
//!
//! `load SERVER ERA SESSIONS SECONDS TOOLS`, such as `load pipe legacy 64 10 10`, only sends calls
//! through a hub, for a profiler.
//!
//! With another first argument, the same program is the server behind the proxies (`upstream-…`) or
//! a floor: a reverse proxy (`floor-http`), HTTP in front of a stdio server (`floor-stdio`), or a
//! program that copies the bytes to and from a stdio server (`floor-bytes`).

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the bench prints a table, and why calls failed"
)]

mod client;
mod floor;
mod report;
mod rows;
mod stats;
mod upstream;
mod wire;

use std::{env, fs, io, time::Duration};

use drawbridge_tests::paths;
use tokio::runtime::Builder;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let role = arguments.first().map_or("", String::as_str);
    // The floors that serve HTTP may use all processors. The clients, the server and the floor that
    // copies bytes use one processor each.
    let runtime = match role {
        "floor-http" | "floor-stdio" => Builder::new_multi_thread().enable_all().build()?,
        _ => Builder::new_current_thread().enable_all().build()?,
    };
    let number = |at: usize| {
        let number = arguments.get(at).and_then(|number| number.parse().ok());
        number.ok_or(io::ErrorKind::InvalidInput)
    };
    match role {
        "upstream-stdio" => runtime.block_on(upstream::serve_stdio(number(1)?)),
        "upstream-http" => runtime.block_on(upstream::serve_http(number(1)?)),
        "floor-http" => {
            let address = arguments.get(1).and_then(|address| address.parse().ok());
            let address = address.ok_or(io::ErrorKind::InvalidInput)?;
            runtime.block_on(floor::serve_proxy(address))
        }
        "floor-stdio" => runtime.block_on(floor::serve_stdio(&arguments[1..])),
        "floor-bytes" => runtime.block_on(floor::copy_bytes(&arguments[1..])),
        "--app" => {
            let rows = rows::measure_app(&runtime)?;
            print!("{}", report::render_table(&rows));
            Ok(())
        }
        "load" => {
            let text = |at: usize| arguments.get(at).map_or("", String::as_str);
            let length = Duration::from_secs(number(4)? as u64);
            let (is_modern, sessions, tools) = (text(2) == "modern", number(3)?, number(5)?);
            rows::load_hub(&runtime, text(1), is_modern, sessions, length, tools)
        }
        _ => {
            let rows = rows::measure_all(
                &runtime,
                arguments.iter().any(|argument| argument == "--short"),
            )?;
            print!("{}", report::render_table(&rows));
            if let Some(at) = arguments.iter().position(|argument| argument == "--out") {
                let file = arguments.get(at + 1).ok_or(io::ErrorKind::InvalidInput)?;
                fs::write(file, report::render_json(&rows))?;
            }
            if arguments.iter().any(|argument| argument == "--write") {
                let page = paths::repository_root().join("docs/performance.md");
                let text = report::replace_table(&fs::read_to_string(&page)?, &rows)?;
                fs::write(&page, text)?;
            }
            Ok(())
        }
    }
}
