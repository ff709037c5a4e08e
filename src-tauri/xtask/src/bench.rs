//! `cargo xtask bench`: performance measurements, printed as tables. Only measurements of the same
//! run can be compared.

use crate::{
    node, run,
    step::{self, Outcome, cargo, command},
    system,
};

/// Runs one benchmark, or all of them.
pub(crate) fn bench(arguments: &[&str]) -> Outcome {
    match arguments {
        [] => measure_catalog()
            .and_then(|()| measure_without_the_app("bench-call", &[]))
            .and_then(|()| measure_without_the_app("bench-neighbours", &[]))
            .and_then(|()| measure_in_the_app("bench-prompt", &[]))
            .and_then(|()| measure_in_the_app("bench-screens", &[]))
            .and_then(|()| measure_in_the_app("bench-idle", &[])),
        ["catalog"] => measure_catalog(),
        // The cost of a call in the app, beside that in the command.
        ["call", "--app"] => measure_in_the_app("bench-call", &["--app"]),
        // The cost of a call, beside that of the simplest possible proxies.
        ["call", options @ ..] => measure_without_the_app("bench-call", options),
        // How faulty servers affect the calls of other servers.
        ["neighbours"] => measure_without_the_app("bench-neighbours", &[]),
        // How soon a call is visible to a person, and how soon it continues after the person's
        // click.
        ["prompt"] => measure_in_the_app("bench-prompt", &[]),
        // How soon the screens can be used if there is much to show.
        ["screens"] => measure_in_the_app("bench-screens", &[]),
        // The cost of the idle app, and how soon its windows are back.
        ["idle", parts @ ..] => measure_in_the_app("bench-idle", parts),
        other => Err(format!(
            "there is no benchmark '{}'; the benchmarks are catalog, call, neighbours, prompt, screens and idle",
            other.join(" ")
        )),
    }
}

/// Measures how the cost of the catalog depends on the number of tools.
fn measure_catalog() -> Outcome {
    step::run(&mut cargo(&[
        "bench",
        "--package",
        "drawbridge-hub",
        "--bench",
        "catalog",
    ]))
}

/// Runs a benchmark that uses only the `drawbridge` command, not the app.
fn measure_without_the_app(program: &str, options: &[&str]) -> Outcome {
    let mut build = cargo(&["build", "--release", "--bins"]);
    step::run(build.args([
        "--package",
        "drawbridge-cli",
        "--package",
        "drawbridge-tests",
    ]))?;
    step::run(&mut command(run::program_path(true, program)?, options))
}

/// Runs a benchmark that uses the app, in some cases beside a browser.
fn measure_in_the_app(program: &str, options: &[&str]) -> Outcome {
    system::install_for_test()?;
    node::check_version()?;
    node::install_packages("ui")?;
    node::install_packages("tests/real")?;
    node::run_ui_script("build")?;
    let mut build = cargo(&["build", "--release", "--bins"]);
    let packages = ["drawbridge-desktop", "drawbridge-cli", "drawbridge-tests"];
    step::run(build.args(packages.map(|package| ["--package", package]).concat()))?;
    step::run(&mut command(run::program_path(true, program)?, options))
}

/// Runs a hub under load and with random faults, for an hour or the given number of seconds.
pub(crate) fn soak(arguments: &[&str]) -> Outcome {
    system::install_for_soak()?;
    step::run(&mut cargo(&["build", "--workspace", "--bins"]))?;
    step::run(&mut command(run::program_path(false, "soak")?, arguments))
}
