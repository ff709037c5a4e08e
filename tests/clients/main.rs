//! Client programs that other people wrote, run against Drawbridge: `cargo xtask clients`. If no
//! client is named and nothing fails, the command writes docs/client-programs.md.
//!
//! All programs share a home folder that has only their settings for the test. Drawbridge connects
//! each program, the program lists its servers, and a stand-in for a model has the program call a
//! tool. Then Drawbridge tests the connection, and undoes its change of the program's files.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the program prints to a terminal"
)]

mod command;
mod model;
mod page;
mod programs;
mod protocols;
mod trial;

use std::{env, fs, path::PathBuf, process::ExitCode};

use drawbridge_tests::{Home, Hub, paths};

use model::{Model, Task};
use programs::PROGRAMS;
use trial::{Report, TrialRunner};

const SERVER: &str = "@modelcontextprotocol/server-everything/dist/index.js";

const TASK: Task = Task {
    tool: "everything__echo",
    arguments: r#"{"message":"over the bridge"}"#,
    result: "Echo: over the bridge",
};

fn main() -> ExitCode {
    let chosen: Vec<String> = env::args().skip(1).collect();
    let mut home = Home::new();
    let path = home.variable("PATH").expect("a home has a PATH");
    let commands = packages_dir().join(".bin");
    let path = format!("{}:{path}", commands.display());
    home.set_variable("PATH", path);
    for (name, value) in [
        ("NO_COLOR", "1"),
        ("TERM", "xterm-256color"),
        // The programs must not update themselves.
        ("DISABLE_AUTOUPDATER", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("DO_NOT_TRACK", "1"),
    ] {
        home.set_variable(name, value);
    }
    let hub = Hub::serve(&home);
    let server = paths::path_text(packages_dir().join(SERVER));
    hub.add_server("everything", &[], &["node", &server]);
    hub.wait_until_synced("everything");
    hub.set_policy("everything", "allow");
    let model = Model::start(TASK);
    let runner = TrialRunner::new(&home, &model);

    let is_chosen = |client: &str| chosen.is_empty() || chosen.iter().any(|name| name == client);
    let programs = PROGRAMS.iter().filter(|program| is_chosen(program.client));
    let reports: Vec<Report> = programs
        .map(|program| {
            println!("{} …", program.title);
            let report = runner.run(program);
            let file = paths::output_file(format!("clients/{}.txt", program.client));
            fs::write(&file, page::transcript(&report, usize::MAX))
                .unwrap_or_else(|e| panic!("write {}: {e}", file.display()));
            for failure in &report.failures {
                eprintln!("  {failure}");
            }
            report
        })
        .collect();
    hub.stop(nix::sys::signal::Signal::SIGTERM);
    println!("\n{}", page::table(&reports));
    if reports.is_empty() {
        eprintln!("there is no client program '{}'", chosen.join(" "));
        return ExitCode::FAILURE;
    }
    if reports.iter().any(|report| !report.failures.is_empty()) {
        eprintln!("the output of the programs is in test-output/clients");
        return ExitCode::FAILURE;
    }
    if chosen.is_empty() {
        let file = paths::repository_root().join("docs/client-programs.md");
        fs::write(&file, page::render(&reports))
            .unwrap_or_else(|e| panic!("write {}: {e}", file.display()));
        println!("docs/client-programs.md is written");
    }
    ExitCode::SUCCESS
}

/// Returns the folder of the pinned client programs.
fn packages_dir() -> PathBuf {
    paths::repository_root().join("tests/clients/node_modules")
}
