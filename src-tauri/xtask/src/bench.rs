//! `cargo xtask bench`: how fast it is, as tables. Figures, no tests: those of one run can be compared with each other.

use crate::{
    node, run,
    step::{self, Outcome, cargo, command},
    system,
};

/// Measures one of them, or all.
pub(crate) fn bench(arguments: &[&str]) -> Outcome {
    match arguments {
        [] => catalog()
            .and_then(|()| neighbours())
            .and_then(|()| prompt()),
        ["catalog"] => catalog(),
        ["neighbours"] => neighbours(),
        ["prompt"] => prompt(),
        other => Err(format!(
            "there is no benchmark '{}'; there are catalog, neighbours, prompt",
            other.join(" ")
        )),
    }
}

/// What the catalog costs by the number of tools.
fn catalog() -> Outcome {
    step::run(&mut cargo(&[
        "bench",
        "--package",
        "drawbridge-hub",
        "--bench",
        "catalog",
    ]))
}

/// What servers that go wrong cost the calls of the others.
fn neighbours() -> Outcome {
    let mut build = cargo(&["build", "--release", "--bins"]);
    step::run(build.args([
        "--package",
        "drawbridge-cli",
        "--package",
        "drawbridge-tests",
    ]))?;
    step::run(&mut command(run::built(true, "bench-neighbours")?, &[]))
}

/// How soon a call is on the screen of a person, and how soon it goes on once that person has clicked.
fn prompt() -> Outcome {
    system::for_test()?;
    node::check()?;
    node::install("ui")?;
    node::ui("build")?;
    let mut build = cargo(&["build", "--release", "--bins"]);
    let packages = ["drawbridge-desktop", "drawbridge-cli", "drawbridge-tests"];
    step::run(build.args(packages.map(|package| ["--package", package]).concat()))?;
    step::run(&mut command(run::built(true, "bench-prompt")?, &[]))
}
