//! The two commands of the README, and smaller development commands. Without dependencies, so that
//! the program builds in seconds on a bare machine.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the program prints to a terminal"
)]

mod bench;
mod fuzz;
mod node;
mod run;
mod step;
mod system;
mod test;
mod tools;

use std::{env, process::ExitCode};

use step::Outcome;

const USAGE: &str = "cargo xtask COMMAND

  run [--release] [-- ARGS]   install what is missing, build, and start Drawbridge
  test [-- FILTERS]           install what the tests need, and run every check and test;
                              with FILTERS only those tests
  bindings                    write the UI's types from the hub's verbs
  compatibility               write docs/compatibility.md from what real clients and servers do
  screenshots                 take the pictures of docs/screenshots anew
  fuzz [TARGET] [SECONDS]     feed the parsers what no test thought of: one target or all, a minute each
  bench [catalog|neighbours|prompt]
                              how fast it is: what the catalog costs by the number of tools, what servers that
                              go wrong cost the calls of the others, and how soon a person sees a call";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (own, rest) = match arguments.iter().position(|argument| argument == "--") {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (&arguments[..], &[][..]),
    };
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let done = match own.as_slice() {
        ["run"] => run::run(false, rest),
        ["run", "--release"] => run::run(true, rest),
        ["test"] => test::test(rest),
        ["bindings"] => tools::bindings(),
        ["compatibility"] => tools::compatibility(),
        ["screenshots"] => tools::screenshots(),
        ["fuzz", rest @ ..] => fuzz::fuzz(rest),
        ["bench", rest @ ..] => bench::bench(rest),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    exit_code(done)
}

fn exit_code(done: Outcome) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
