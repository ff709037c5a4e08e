//! `cargo xtask test`: everything that must hold before a change lands, in the order in which a
//! fault shows soonest.

use std::time::{Duration, Instant};

use crate::{
    node,
    step::{self, Outcome, cargo, command, output, root},
    system,
};

const NEXTEST: &str = "0.9.143";

type Check = (&'static str, Box<dyn Fn() -> Outcome>);

pub(crate) fn test(filters: &[String]) -> Outcome {
    let chosen = filters.to_vec();
    let tests: Check = ("tests", Box::new(move || nextest(&chosen)));
    let mut checks: Vec<Check> = vec![
        ("system packages", Box::new(system::for_test)),
        ("packages of the UI", Box::new(|| node::check().and_then(|()| node::install("ui")))),
        ("packages of the tests", Box::new(install_packages)),
        ("nextest", Box::new(install_nextest)),
    ];
    if filters.is_empty() {
        checks.extend([
            ("format", cargo_check(&["fmt", "--all", "--check"])),
            ("types of the UI", Box::new(|| node::ui("check")) as Box<dyn Fn() -> Outcome>),
            ("lints of the UI", Box::new(|| node::ui("lint"))),
            ("tests of the UI", Box::new(|| node::ui("test"))),
        ]);
    }
    checks.push(("build of the UI", Box::new(|| node::ui("build"))));
    if filters.is_empty() {
        checks.push(("lints", cargo_check(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])));
    }
    // With the tests' own features from the start: else whatever stands on tokio is built twice.
    checks.push(("build", cargo_check(&["build", "--workspace", "--all-targets"])));
    if filters.is_empty() {
        checks.push(("licences", Box::new(deny)));
    }
    checks.push(tests);
    all(&checks)
}

fn all(checks: &[Check]) -> Outcome {
    let mut took: Vec<(&str, Duration)> = Vec::new();
    let mut done = Ok(());
    for (name, check) in checks {
        let start = Instant::now();
        done = check().map_err(|why| format!("{name}: {why}"));
        took.push((name, start.elapsed()));
        if done.is_err() {
            break;
        }
    }
    println!();
    for (name, time) in &took {
        println!("{:>8.1} s  {name}", time.as_secs_f64());
    }
    println!("{:>8.1} s  in all", took.iter().map(|(_, time)| time.as_secs_f64()).sum::<f64>());
    done
}

fn cargo_check(arguments: &'static [&'static str]) -> Box<dyn Fn() -> Outcome> {
    Box::new(move || step::run(&mut cargo(arguments)))
}

/// Runs the tests; `filters` as nextest takes them.
pub(crate) fn nextest(filters: &[String]) -> Outcome {
    step::run(cargo(&["nextest", "run", "--workspace"]).args(filters))
}

/// The public servers and clients that the tests run against.
pub(crate) fn install_packages() -> Outcome {
    node::install("tests/real").and_then(|()| python())
}

fn install_nextest() -> Outcome {
    if output(&mut cargo(&["nextest", "--version"])).is_some() {
        return Ok(());
    }
    // Unoptimized it builds in a fraction of the time, and it mostly waits for tests anyway.
    step::run(&mut cargo(&["install", "cargo-nextest", "--locked", "--debug", "--version", NEXTEST]))
}

fn deny() -> Outcome {
    if output(&mut cargo(&["deny", "--version"])).is_none() {
        println!("cargo-deny is not installed: licences are not checked");
        return Ok(());
    }
    step::run(&mut cargo(&["deny", "check", "licenses", "bans", "sources"]))
}

/// The Python SDK, in a folder of its own, as `requirements.txt` pins it.
fn python() -> Outcome {
    let folder = root().join("tests/real");
    let wanted =
        std::fs::read_to_string(folder.join("requirements.txt")).map_err(|e| format!("requirements.txt: {e}"))?;
    let stamp = folder.join(".venv/.xtask-requirements");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    step::run(command("python3", &["-m", "venv", "--clear", ".venv"]).current_dir(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
    step::run(command(folder.join(".venv/bin/python"), &pip).current_dir(&folder))?;
    std::fs::write(&stamp, wanted).map_err(|e| format!("write {}: {e}", stamp.display()))
}
