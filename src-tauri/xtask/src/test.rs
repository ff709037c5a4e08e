//! `cargo xtask test`: every check that a change has to pass, in the order that shows failures
//! soonest.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    bundle, fuzz, node, run,
    step::{self, Outcome, cargo, command, read_stdout, root},
    system,
};

const NEXTEST_VERSION: &str = "0.9.143";

/// The name of a check, and the function that runs the check.
type Check = (&'static str, Box<dyn Fn() -> Outcome>);

pub(crate) fn test(filters: &[String]) -> Outcome {
    let chosen = filters.to_vec();
    let tests: Check = ("tests", Box::new(move || run_nextest(&chosen)));
    let mut checks: Vec<Check> = vec![
        ("system packages", Box::new(system::install_for_test)),
        (
            "packages of the UI",
            Box::new(|| node::check_version().and_then(|()| node::install_packages("ui"))),
        ),
        ("packages of the tests", Box::new(install_packages)),
        ("nextest", Box::new(install_nextest)),
    ];
    if filters.is_empty() {
        checks.extend([
            ("format", cargo_check(&["fmt", "--all", "--check"])),
            (
                "types of the UI",
                Box::new(|| node::run_ui_script("check")) as Box<dyn Fn() -> Outcome>,
            ),
            (
                "format of the UI",
                Box::new(|| node::run_ui_script("format:check")),
            ),
            ("lints of the UI", Box::new(|| node::run_ui_script("lint"))),
            ("tests of the UI", Box::new(|| node::run_ui_script("test"))),
        ]);
    }
    checks.push(("build of the UI", Box::new(|| node::run_ui_script("build"))));
    checks.push(("lints and build", Box::new(lint_and_build)));
    if filters.is_empty() {
        checks.push(("package", Box::new(|| bundle::package(false, &["deb"]))));
        checks.push(("supply chain", Box::new(check_supply_chain)));
    }
    checks.push(tests);
    if filters.is_empty() {
        checks.push(("fuzzing", Box::new(fuzz::fuzz_all)));
    }
    run_checks(&checks)
}

fn run_checks(checks: &[Check]) -> Outcome {
    let mut durations: Vec<(&str, Duration)> = Vec::new();
    let mut outcome = Ok(());
    for (name, check) in checks {
        let start = Instant::now();
        outcome = check().map_err(|reason| format!("{name}: {reason}"));
        durations.push((name, start.elapsed()));
        if outcome.is_err() {
            break;
        }
    }
    println!();
    for (name, time) in &durations {
        println!("{:>8.1} s  {name}", time.as_secs_f64());
    }
    println!(
        "{:>8.1} s  in total",
        durations
            .iter()
            .map(|(_, time)| time.as_secs_f64())
            .sum::<f64>()
    );
    outcome
}

fn cargo_check(arguments: &'static [&'static str]) -> Box<dyn Fn() -> Outcome> {
    Box::new(move || step::run(&mut cargo(arguments)))
}

/// Builds everything, with the features that the tests need.
fn lint_and_build() -> Outcome {
    step::run(&mut linting_cargo(&[
        "build",
        "--workspace",
        "--all-targets",
    ]))
}

/// Runs the tests with the filters of nextest.
fn run_nextest(filters: &[String]) -> Outcome {
    step::run(linting_cargo(&["nextest", "run", "--workspace"]).args(filters))
}

/// Returns a Cargo command that compiles the crates of the workspace with Clippy's driver: the
/// compiler with Clippy's lints, of which each is an error here. `cargo clippy` does the same, but
/// produces no programs, so the compiler would have to read all dependencies a second time.
fn linting_cargo(arguments: &[&str]) -> Command {
    let mut cargo = cargo(arguments);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver").env(
        "CLIPPY_ARGS",
        "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    );
    cargo
}

/// Installs the public servers and clients that the tests run against.
pub(crate) fn install_packages() -> Outcome {
    node::install_packages("tests/real").and_then(|()| install_python())
}

fn install_nextest() -> Outcome {
    if read_stdout(&mut cargo(&["nextest", "--version"])).is_some() {
        return Ok(());
    }
    // The debug build takes a fraction of the time, and nextest mostly waits for the tests.
    step::run(&mut cargo(&[
        "install",
        "cargo-nextest",
        "--locked",
        "--debug",
        "--version",
        NEXTEST_VERSION,
    ]))
}

/// Checks the licences and sources of the dependencies, and writes the bill of materials.
fn check_supply_chain() -> Outcome {
    step::run(&mut command(run::program_path(false, "supply-chain")?, &[]))
}

/// Creates the Python environments: one for the clients, and one for each file in
/// `tests/real/python`.
fn install_python() -> Outcome {
    let folder = root().join("tests/real");
    create_environment(&folder, ".venv", "requirements.txt", &[])?;
    let entries = fs::read_dir(folder.join("python"))
        .map_err(|e| format!("cannot read tests/real/python: {e}"))?;
    let mut files: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    files.sort();
    for file in files {
        let Some(name) = file.strip_suffix(".txt") else {
            continue;
        };
        // Each file pins all packages, so that no dependencies have to be resolved. The first
        // environment's pip installs them, because installing pip itself would take longer than
        // installing most of the packages.
        let pip_target = ["--python", &format!("python/{name}/bin/python")].map(str::to_owned);
        create_environment(
            &folder,
            &format!("python/{name}"),
            &format!("python/{file}"),
            &pip_target,
        )?;
    }
    Ok(())
}

/// Creates the environment `name` with the packages that `file` pins, unless the environment is up
/// to date. The pip of `.venv` installs the packages. For every environment but `.venv` itself,
/// `pip_target` has the arguments with which that pip installs into the environment.
fn create_environment(folder: &Path, name: &str, file: &str, pip_target: &[String]) -> Outcome {
    let requirements =
        fs::read_to_string(folder.join(file)).map_err(|e| format!("cannot read {file}: {e}"))?;
    let installed_file = folder.join(name).join(".xtask-requirements");
    if fs::read_to_string(&installed_file).is_ok_and(|text| text == requirements) {
        return Ok(());
    }
    let without_pip: &[&str] = if pip_target.is_empty() {
        &[]
    } else {
        &["--without-pip"]
    };
    let venv_arguments = [&["-m", "venv", "--clear"], without_pip, &[name]].concat();
    step::run(command("python3", &venv_arguments).current_dir(folder))?;
    let mut install = command(folder.join(".venv/bin/python"), &["-m", "pip"]);
    install.args(pip_target).args([
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        "--no-deps",
        "-r",
        file,
    ]);
    step::run(install.current_dir(folder))?;
    fs::write(&installed_file, requirements)
        .map_err(|e| format!("cannot write {}: {e}", installed_file.display()))
}
