//! `cargo xtask fuzz`: runs the targets in `fuzz/`, one after another, each for a limited time.
//! `cargo xtask test` does not run them.

use std::fs;

use crate::step::{self, Outcome, cargo, output, root};

const CARGO_FUZZ_VERSION: &str = "0.13.2";
const DEFAULT_SECONDS: u32 = 60;

/// Runs one target, or all of them, each for the given number of seconds.
pub(crate) fn fuzz(arguments: &[&str]) -> Outcome {
    let targets = list_targets()?;
    let parse_seconds = |text: &str| {
        text.parse::<u32>()
            .map_err(|_| format!("'{text}' is not a number of seconds"))
    };
    let (chosen, seconds) = match arguments {
        [] => (targets, DEFAULT_SECONDS),
        [target] if targets.iter().any(|name| name == target) => {
            (vec![(*target).to_owned()], DEFAULT_SECONDS)
        }
        [time] if time.parse::<u32>().is_ok() => (targets, parse_seconds(time)?),
        [target, time] if targets.iter().any(|name| name == target) => {
            (vec![(*target).to_owned()], parse_seconds(time)?)
        }
        [other, ..] => {
            return Err(format!(
                "there is no target '{other}'; the targets are {}",
                targets.join(", ")
            ));
        }
    };
    install_cargo_fuzz()?;
    for target in &chosen {
        run_target(target, seconds)?;
    }
    Ok(())
}

/// Runs one target. The targets are safe code and need no sanitizer, so that a stable compiler
/// suffices.
fn run_target(target: &str, seconds: u32) -> Outcome {
    let mut command = cargo(&[
        "fuzz",
        "run",
        "--fuzz-dir",
        "fuzz",
        "--sanitizer",
        "none",
        target,
        "--",
    ]);
    command
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=10", "-print_final_stats=1"]);
    step::run(&mut command)
        .map_err(|reason| format!("{reason}; the failing input is in fuzz/artifacts/{target}"))
}

fn list_targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/targets");
    let files =
        fs::read_dir(&folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let names = files
        .flatten()
        .filter_map(|file| Some(file.path().file_stem()?.to_str()?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

fn install_cargo_fuzz() -> Outcome {
    if output(&mut cargo(&["fuzz", "--version"])).is_some() {
        return Ok(());
    }
    step::run(&mut cargo(&[
        "install",
        "cargo-fuzz",
        "--locked",
        "--debug",
        "--version",
        CARGO_FUZZ_VERSION,
    ]))
}
