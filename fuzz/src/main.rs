//! Runs the target that the variable `DRAWBRIDGE_FUZZ_TARGET` names with libFuzzer.
//! `cargo xtask fuzz` builds this program with coverage instrumentation and starts it.
//!
//! If `DRAWBRIDGE_FUZZ_COMMAND` is set, the program runs this command instead, and exits. `list`
//! prints the names of the targets. `unpack FOLDER` writes each kept input of the target into a
//! file in the folder. `keep FOLDER` replaces the kept inputs of the target by the files in the
//! folder.

#![no_main]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for developers"
)]

use std::{env, error::Error, fs, path::Path, process, sync::OnceLock};

use drawbridge_fuzz::{TARGETS, Target, read_corpus, write_corpus};

static CHOSEN: OnceLock<Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        let name = env::var("DRAWBRIDGE_FUZZ_TARGET").unwrap_or_default();
        if let Ok(command) = env::var("DRAWBRIDGE_FUZZ_COMMAND") {
            let outcome = run_command(&command, &name);
            if let Err(error) = &outcome {
                eprintln!("{command}: {error}");
            }
            process::exit(i32::from(outcome.is_err()));
        }
        let Some((_, target)) = TARGETS.iter().find(|(known, _)| *known == name) else {
            eprintln!("DRAWBRIDGE_FUZZ_TARGET has to name a target, not '{name}'");
            process::exit(2);
        };
        CHOSEN.get_or_init(|| *target);
    },
    |input: &[u8]| {
        CHOSEN.get().expect("the initialization has chosen a target")(input);
    }
);

fn run_command(command: &str, target: &str) -> Result<(), Box<dyn Error>> {
    match command.split_once(' ') {
        None if command == "list" => {
            for (name, _) in TARGETS {
                println!("{name}");
            }
            Ok(())
        }
        Some(("unpack", folder)) => {
            for (number, input) in read_corpus(target)?.iter().enumerate() {
                fs::write(Path::new(folder).join(format!("kept-{number:05}")), input)?;
            }
            Ok(())
        }
        Some(("keep", folder)) => {
            let mut inputs = Vec::new();
            for entry in fs::read_dir(folder)? {
                inputs.push(fs::read(entry?.path())?);
            }
            Ok(write_corpus(target, inputs)?)
        }
        _ => Err("the command is unknown".into()),
    }
}
