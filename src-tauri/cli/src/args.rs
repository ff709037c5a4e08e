//! The command-line interface. Scripts depend on it, so existing arguments never change their
//! meaning.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::cmd::{
    approvals::Approvals, audit::Audit, calls::Calls, clients::Clients, logs::Logs, open::Open,
    policy::Policy, profiles::Profiles, secrets::Secrets, serve::Serve, servers::Servers,
    stdio::Stdio, tools::Tools,
};

/// A local gateway between AI clients and MCP servers
///
/// Without a command, opens the desktop app if there is a display, and otherwise runs the hub.
#[derive(Parser)]
#[command(name = "drawbridge", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The options that every command accepts.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// Print one JSON document, and nothing else, to stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The data folder [default: depends on the platform]
    #[arg(long, global = true, value_name = "DIR", env = "DRAWBRIDGE_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the hub without a window
    Serve(Serve),
    /// Connect a client on stdin and stdout to the hub
    Stdio(Stdio),
    /// Manage MCP servers
    #[command(subcommand)]
    Servers(Servers),
    /// Manage clients, their tokens and profiles
    #[command(subcommand)]
    Clients(Clients),
    /// Manage the policy: which calls are allowed, denied or asked about
    #[command(subcommand)]
    Policy(Policy),
    /// Manage profiles: which servers and tools a client sees
    #[command(subcommand)]
    Profiles(Profiles),
    /// List and decide pending approvals
    #[command(subcommand)]
    Approvals(Approvals),
    /// Show past calls
    #[command(subcommand)]
    Calls(Calls),
    /// Verify or export the audit log of all calls
    #[command(subcommand)]
    Audit(Audit),
    /// Show logs
    Logs(Logs),
    /// List and call tools
    #[command(subcommand)]
    Tools(Tools),
    /// Manage secrets in the keyring
    #[command(subcommand)]
    Secrets(Secrets),
    /// Block all calls: deny pending approvals and cancel calls in flight
    Pause,
    /// Allow calls again
    Resume,
    /// Open the web UI in a browser
    Open(Open),
}

#[cfg(test)]
mod tests;
