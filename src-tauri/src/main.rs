//! The `drawbridge-desktop` binary.

#![cfg_attr(all(windows, not(debug_assertions)), windows_subsystem = "windows")]

use std::process::ExitCode;

use clap::Parser;

/// What one thread has taken another often gives back here, which the system's own allocator is slow at.
#[cfg(not(windows))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    drawbridge_hub::guard::run_if_asked();
    drawbridge_desktop::run(drawbridge_desktop::Args::parse())
}
