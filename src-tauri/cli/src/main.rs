//! The `drawbridge` command: everything without a window. [`args`] says what can be asked,
//! [`cmd`] has a file for each noun, [`connection`] finds the hub, [`exit`] has the last word.

mod args;
mod cmd;
mod connection;
mod exit;
mod moment;
mod output;
mod text;

use std::process::ExitCode;

use clap::Parser;

/// What one thread has taken another often gives back here, which the system's own allocator is slow at.
#[cfg(not(windows))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    drawbridge_hub::guard::run_if_asked();
    let args = args::Args::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(e) => return exit::code(Err(e.into())),
    };
    let outcome = runtime.block_on(cmd::run(args));
    // A read of stdin may still block a thread.
    runtime.shutdown_background();
    exit::code(outcome)
}
