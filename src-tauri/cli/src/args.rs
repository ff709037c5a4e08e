//! What can be asked of `drawbridge`. Scripts rely on it: nothing here changes its meaning.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::cmd::{
    approvals::Approvals, audit::Audit, calls::Calls, clients::Clients, logs::Logs, open::Open,
    policy::Policy, profiles::Profiles, secrets::Secrets, serve::Serve, servers::Servers,
    stdio::Stdio, tools::Tools,
};

/// One local door between AI clients and MCP servers.
///
/// Without a command it opens the desktop app where there is a display, and serves without one.
#[derive(Parser)]
#[command(name = "drawbridge", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// Print one JSON document, and nothing else, to stdout.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The data folder [default: the platform's].
    #[arg(long, global = true, value_name = "DIR", env = "DRAWBRIDGE_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the hub without a window.
    Serve(Serve),
    /// Carry messages between a client on stdin and stdout and the hub.
    Stdio(Stdio),
    /// The MCP servers behind the door.
    #[command(subcommand)]
    Servers(Servers),
    /// The AI clients that may knock.
    #[command(subcommand)]
    Clients(Clients),
    /// What may cross without asking, and what never may.
    #[command(subcommand)]
    Policy(Policy),
    /// Which servers and tools a client sees.
    #[command(subcommand)]
    Profiles(Profiles),
    /// The calls that wait for a person.
    #[command(subcommand)]
    Approvals(Approvals),
    /// The calls that were made.
    #[command(subcommand)]
    Calls(Calls),
    /// The record of every call: whether it holds together, and all of it.
    #[command(subcommand)]
    Audit(Audit),
    /// What hub and servers said.
    Logs(Logs),
    /// The tools that clients see.
    #[command(subcommand)]
    Tools(Tools),
    /// The values in the keyring that servers refer to.
    #[command(subcommand)]
    Secrets(Secrets),
    /// Raise the drawbridge: no call crosses, what waits is denied, what is on its way is cancelled.
    Pause,
    /// Lower it again.
    Resume,
    /// Open the screens in a browser.
    Open(Open),
}
