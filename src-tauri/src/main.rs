//! The `drawbridge-desktop` binary.

#![cfg_attr(all(windows, not(debug_assertions)), windows_subsystem = "windows")]

use std::process::ExitCode;

use clap::Parser;

/// A thread often frees memory that another thread allocated. The system's allocator is slow in
/// this case. It still serves the libraries of the system, such as GTK.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    drawbridge_store::crashes::install_panic_hook("drawbridge-desktop");
    drawbridge_upstream::transport::process::guard::run_if_started_as_guard();
    drawbridge_desktop::run(drawbridge_desktop::Args::parse())
}
