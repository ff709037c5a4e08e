//! The `drawbridge` command: everything except for the desktop app. [`args`] defines the arguments,
//! [`cmd`] has a file for each noun and for each command without a noun, [`context`] finds the hub,
//! and [`exit`] sets the exit code.

mod args;
mod cmd;
mod confirm;
mod context;
mod exit;
mod output;
mod spec_fields;
mod stop_signal;
mod table;
mod text;
mod time;

use std::process::ExitCode;

use clap::Parser;

/// A thread often frees memory that another thread allocated. The system's allocator is slow in
/// this case.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    drawbridge_store::crashes::install_panic_hook("drawbridge");
    drawbridge_upstream::transport::process::guard::run_if_started_as_guard();
    let args = args::Args::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(e) => return exit::exit_code(Err(e.into())),
    };
    let outcome = runtime.block_on(args.run());
    // A read of stdin may still block a thread. Do not wait for it.
    runtime.shutdown_background();
    exit::exit_code(outcome)
}
