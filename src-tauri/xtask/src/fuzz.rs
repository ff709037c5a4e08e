//! `cargo xtask fuzz`: builds the targets in `fuzz/` with coverage instrumentation, and runs each
//! for a limited time, several side by side.
//!
//! Only the crates of this repository are instrumented, so that the build shares its dependencies
//! with other builds. For these crates, Cargo starts this program in place of rustc, and the
//! program starts rustc with additional options.

use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::available_parallelism,
    time::Duration,
};

use crate::{
    run,
    step::{self, Outcome, cargo, command, read_stdout, root},
};

const DEFAULT_SECONDS: u32 = 60;
const PROGRAM: &str = "drawbridge-fuzz";
/// The largest input that libFuzzer generates, in bytes. Larger inputs are slower and find little
/// more.
const MAX_INPUT: u32 = 4096;
/// The variable that makes this program act as rustc.
const AS_RUSTC: &str = "DRAWBRIDGE_XTASK_AS_RUSTC";
/// The options of rustc that let libFuzzer see which parts of the code an input reaches, and that
/// make integer overflows panic.
const INSTRUMENTATION: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Coverflow-checks=on",
];

/// Whether the new inputs that a run finds are kept. Failing inputs are always stored in
/// `fuzz/artifacts`.
#[derive(Clone, Copy, PartialEq)]
enum NewInputs {
    Discard,
    /// Add the inputs that reach more code to `fuzz/corpus`.
    Keep,
}

/// How targets run.
#[derive(Clone, Copy)]
struct RunOptions {
    seconds: u32,
    /// The seed of the random numbers. `None` if libFuzzer chooses one.
    seed: Option<u32>,
    new_inputs: NewInputs,
}

/// Runs one target, or all of them, each for the given number of seconds.
pub(crate) fn fuzz(arguments: &[&str]) -> Outcome {
    let (new_inputs, arguments) = match arguments {
        ["--keep", rest @ ..] => (NewInputs::Keep, rest),
        rest => (NewInputs::Discard, rest),
    };
    let program = build_program()?;
    let targets = list_targets(&program)?;
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
    let options = RunOptions {
        seconds,
        seed: None,
        new_inputs,
    };
    run_targets(&program, &chosen, options)
}

/// Runs every target for a minute. The random numbers are the same each time, so that a change does
/// not fail because of an input that has nothing to do with the change.
pub(crate) fn fuzz_all() -> Outcome {
    let program = build_program()?;
    let targets = list_targets(&program)?;
    let options = RunOptions {
        seconds: DEFAULT_SECONDS,
        seed: Some(1),
        new_inputs: NewInputs::Discard,
    };
    run_targets(&program, &targets, options)
}

/// Builds the program that contains the targets, with instrumentation, and returns its path.
fn build_program() -> Result<PathBuf, String> {
    // A build of the whole workspace replaces the file of this program while the program runs.
    let this_program = run::program_path(false, "xtask")?;
    // With all packages chosen, the dependencies have the same features as in other builds.
    step::run(
        cargo(&["build", "--workspace", "--bin", PROGRAM])
            .env("RUSTC_WORKSPACE_WRAPPER", this_program)
            .env(AS_RUSTC, "1"),
    )?;
    run::program_path(false, PROGRAM)
}

/// If Cargo started this program in place of rustc, starts rustc, with instrumentation for the
/// crates of this repository. Returns `None` if this program was started in another way.
pub(crate) fn act_as_rustc() -> Option<Outcome> {
    env::var_os(AS_RUSTC)?;
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    let (rustc, arguments) = arguments.split_first()?;
    let find_value = |option: &str| {
        let at = arguments.iter().position(|argument| argument == option)?;
        arguments.get(at + 1)?.to_str()
    };
    // Build scripts and procedural macros run during the build, without libFuzzer.
    let is_instrumented = find_value("--crate-name")
        .is_some_and(|name| name.starts_with("drawbridge_"))
        && find_value("--crate-type") != Some("proc-macro");
    let mut rustc = Command::new(rustc);
    rustc.args(arguments);
    if is_instrumented {
        rustc.args(INSTRUMENTATION);
    }
    Some(match rustc.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("rustc failed ({status})")),
        Err(error) => Err(format!("rustc cannot be started: {error}")),
    })
}

fn list_targets(program: &PathBuf) -> Result<Vec<String>, String> {
    let list = read_stdout(Command::new(program).env("DRAWBRIDGE_FUZZ_COMMAND", "list"));
    let list = list.ok_or("the program with the targets does not list them")?;
    Ok(list.lines().map(str::to_owned).collect())
}

struct RunningTarget {
    target: String,
    log: PathBuf,
    process: Child,
}

/// Runs the targets, as many at once as there are processors. Continues after a failure, so that
/// one run shows all failures.
fn run_targets(program: &PathBuf, targets: &[String], options: RunOptions) -> Outcome {
    let at_once = available_parallelism().map_or(1, usize::from);
    println!(
        "\nfuzzing {} targets for {} s each, {at_once} at once",
        targets.len(),
        options.seconds
    );
    let mut waiting = targets.iter();
    let mut running: Vec<RunningTarget> = Vec::new();
    let mut failures = Vec::new();
    loop {
        while running.len() < at_once
            && let Some(target) = waiting.next()
        {
            match start_target(program, target, options) {
                Ok(run) => running.push(run),
                Err(reason) => failures.push(reason),
            }
        }
        if running.is_empty() {
            break;
        }
        let ended = running
            .iter_mut()
            .position(|run| !matches!(run.process.try_wait(), Ok(None)));
        let Some(ended) = ended else {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        let run = running.swap_remove(ended);
        if let Err(reason) = finish_target(program, run, options.new_inputs) {
            println!("{reason}");
            failures.push(reason);
        }
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("\n"))
    }
}

/// Makes the folder `target/fuzz/NAME/TARGET`, or empties it if it exists.
fn make_empty_folder(name: &str, target: &str) -> Result<PathBuf, String> {
    let folder = root().join("target/fuzz").join(name).join(target);
    let made = match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(&folder),
    };
    made.map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    Ok(folder)
}

/// Makes the program with the targets run a command about a target's inputs, such as
/// `unpack FOLDER`, instead of libFuzzer.
fn run_fuzz_command(program: &PathBuf, target: &str, text: &str) -> Outcome {
    let mut command = Command::new(program);
    command
        .env("DRAWBRIDGE_FUZZ_TARGET", target)
        .env("DRAWBRIDGE_FUZZ_COMMAND", text);
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "{target}: `{text}` failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => Err(format!("{target}: cannot start {PROGRAM}: {error}")),
    }
}

/// Starts libFuzzer on a target, with the inputs in `fuzz/corpus`.
fn start_target(
    program: &PathBuf,
    target: &str,
    options: RunOptions,
) -> Result<RunningTarget, String> {
    let corpus = make_empty_folder("corpus", target)?;
    run_fuzz_command(program, target, &format!("unpack {}", corpus.display()))?;
    let artifacts = root().join("fuzz/artifacts").join(target);
    let log = corpus.with_extension("log");
    let failed = |e| format!("{target}: {e}");
    fs::create_dir_all(&artifacts).map_err(failed)?;
    let output = fs::File::create(&log).map_err(failed)?;
    let process = command(program, &[])
        .env("DRAWBRIDGE_FUZZ_TARGET", target)
        .arg(&corpus)
        .arg(format!("-max_total_time={}", options.seconds))
        // 0 makes libFuzzer choose a seed.
        .arg(format!("-seed={}", options.seed.unwrap_or(0)))
        .arg(format!("-max_len={MAX_INPUT}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1"])
        .args(["-verbosity=1", "-reload=0"])
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(failed)?)
        .stderr(output)
        .spawn()
        .map_err(failed)?;
    Ok(RunningTarget {
        target: target.to_owned(),
        log,
        process,
    })
}

/// Prints the statistics of a run that has ended, and keeps its new inputs if `new_inputs` says so.
/// Returns an error if the run failed.
fn finish_target(program: &PathBuf, mut run: RunningTarget, new_inputs: NewInputs) -> Outcome {
    let target = &run.target;
    let status = run.process.wait().map_err(|e| format!("{target}: {e}"))?;
    let log = fs::read(&run.log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    if !status.success() {
        let tail: Vec<&str> = log.lines().rev().take(30).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        return Err(format!(
            "{}\n{target} failed ({status}). The failing input is in fuzz/artifacts/{target}. To \
             run it again, add it as a line in hex to fuzz/corpus/{target}.hex, and run \
             `cargo xtask fuzz {target} 1`",
            tail.join("\n")
        ));
    }
    let statistic = |name: &str| {
        let line = log.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.rsplit(' ').next());
        value.unwrap_or("?").to_owned()
    };
    let coverage =
        (log.lines().rev()).find_map(|line| line.split_once("cov: ")?.1.split(' ').next());
    println!(
        "{target:>16}: {:>9} runs, {:>6} a second, {:>6} edges, {:>5} new inputs",
        statistic("stat::number_of_executed_units:"),
        statistic("stat::average_exec_per_sec:"),
        coverage.unwrap_or("?"),
        statistic("stat::new_units_added:"),
    );
    if new_inputs == NewInputs::Keep {
        keep_inputs(program, target)?;
    }
    Ok(())
}

/// Replaces the target's inputs in `fuzz/corpus` by a small selection of the old and the new inputs
/// that reaches the same code as all of them.
fn keep_inputs(program: &PathBuf, target: &str) -> Outcome {
    let corpus = root().join("target/fuzz/corpus").join(target);
    let merged = make_empty_folder("merged", target)?;
    let mut merge = command(program, &["-merge=1", "-timeout=20"]);
    merge
        .env("DRAWBRIDGE_FUZZ_TARGET", target)
        .args([&merged, &corpus])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match merge.status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("{target}: the merge failed ({status})")),
        Err(error) => return Err(format!("{target}: {error}")),
    }
    run_fuzz_command(program, target, &format!("keep {}", merged.display()))
}
