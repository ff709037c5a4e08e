//! The commands of `cargo xtask`, which build, install, run and test Drawbridge. This crate has no
//! dependencies, so that it builds in seconds on a bare machine.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the program prints to a terminal"
)]

mod bench;
mod bundle;
mod clients;
mod fuzz;
mod install;
mod node;
mod run;
mod step;
mod system;
mod test;
mod tools;

use std::{env, process::ExitCode};

use step::Outcome;

const USAGE: &str = "cargo xtask COMMAND

  run [--release] [-- ARGS]   install missing packages, build, and start Drawbridge
  install                     build the optimized app, and install it for this user with a menu entry (Linux)
  uninstall                   remove the files that install has installed
  bundle [--debug] [FORMAT...]
                              build the packages that users install: in these formats, or in all formats of this
                              system (deb, rpm and appimage on Linux)
  test [-- FILTERS]           install what the tests need, and run every check and test;
                              with FILTERS, only the tests that match
  bindings                    write the UI's types from the hub's verbs
  compatibility               write docs/compatibility.md from the results of tests with real clients and servers
  clients [CLIENT...]         install client programs of other vendors (3 GB), and run them against Drawbridge: all
                              programs, which writes docs/client-programs.md, or only the programs of these clients
  screenshots                 take the pictures of docs/screenshots again
  fuzz [--keep] [TARGET] [SECONDS]
                              run the parsers on generated input: one target or all, each for a minute by default;
                              with --keep, keep the inputs that reach more of the code
  soak [SECONDS]              run a hub with 20 clients and 50 servers for an hour, with random faults, and check
                              that no call is lost, duplicated or undecided and that nothing grows
  bench [catalog|call|neighbours|prompt|screens|idle]
                              measure a release build: the cost of the catalog by the number of tools, the cost of
                              a call, how much faulty servers slow down the others, how soon a person sees a call,
                              how soon the screens can be used if there is much to show, and the cost of the idle app
                              (idle [states|reopening|popup] measures only those parts)";

fn main() -> ExitCode {
    if let Some(outcome) = fuzz::act_as_rustc() {
        return exit_code(outcome);
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (xtask_arguments, rest) = match arguments.iter().position(|argument| argument == "--") {
        Some(index) => (&arguments[..index], &arguments[index + 1..]),
        None => (&arguments[..], &[][..]),
    };
    let xtask_arguments: Vec<&str> = xtask_arguments.iter().map(String::as_str).collect();
    let outcome = match xtask_arguments.as_slice() {
        ["run"] => run::run(false, rest),
        ["run", "--release"] => run::run(true, rest),
        ["install"] => install::install(),
        ["uninstall"] => install::uninstall(),
        ["bundle", "--debug", formats @ ..] => bundle::bundle(false, formats),
        ["bundle", formats @ ..] => bundle::bundle(true, formats),
        ["test"] => test::test(rest),
        ["bindings"] => tools::bindings(),
        ["compatibility"] => tools::compatibility(),
        ["clients", rest @ ..] => clients::clients(rest),
        ["screenshots"] => tools::screenshots(),
        ["fuzz", rest @ ..] => fuzz::fuzz(rest),
        ["soak"] => bench::soak(&[]),
        ["soak", seconds] => bench::soak(&[seconds]),
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
    exit_code(outcome)
}

fn exit_code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
