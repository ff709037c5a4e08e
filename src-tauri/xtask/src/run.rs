//! `cargo xtask run`: from a clean checkout to a running Drawbridge.

use std::env;

use crate::{
    node,
    step::{self, Outcome, cargo},
    system,
};

pub(crate) fn run(release: bool, arguments: &[String]) -> Outcome {
    system::for_run()?;
    node::check()?;
    node::install("ui")?;
    node::ui("build")?;
    // Both, since what the app writes into clients' settings starts the other one.
    let mut build = cargo(&["build", "--package", "drawbridge-desktop", "--package", "drawbridge-cli"]);
    let mut start = if has_display() {
        cargo(&["run", "--package", "drawbridge-desktop", "--bin", "drawbridge-desktop"])
    } else {
        println!("There is no display (DISPLAY and WAYLAND_DISPLAY are not set), so Drawbridge runs headless:");
        println!("open the link that it prints in a browser.");
        cargo(&["run", "--package", "drawbridge-cli", "--bin", "drawbridge"])
    };
    if release {
        build.arg("--release");
        start.arg("--release");
    }
    step::run(&mut build)?;
    start.args(["--quiet", "--"]);
    if !has_display() {
        start.arg("serve");
    }
    step::run(start.args(arguments))
}

fn has_display() -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
