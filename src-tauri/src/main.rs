//! The `drawbridge-desktop` binary.

#![cfg_attr(all(windows, not(debug_assertions)), windows_subsystem = "windows")]

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    drawbridge_store::crashes::install_panic_hook("drawbridge-desktop");
    drawbridge_upstream::transport::process::guard::run_if_started_as_guard();
    drawbridge_desktop::run(drawbridge_desktop::Args::parse())
}
