//! The command line of the desktop app, and what follows from it: which hub it shows, and
//! which other start counts as the same app.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::IpAddr,
    path::PathBuf,
};

use clap::Parser;

/// Drawbridge in the tray: one local door between AI clients and MCP servers.
#[derive(Debug, Clone, Parser)]
#[command(name = "drawbridge-desktop", version)]
pub struct Args {
    /// The data folder; the platform's where it is not given
    #[arg(long, value_name = "DIR", env = "DRAWBRIDGE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The address that clients connect to
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// The port that clients connect to; 0 for a free one
    #[arg(long, default_value_t = 8765)]
    pub port: u16,
    /// Starts in the tray, without a window
    #[arg(long)]
    pub hidden: bool,
    /// Leaves the clients' configuration files as they are: there is none yet that it would write
    #[arg(long, hide = true)]
    pub skip_config_gen: bool,
    /// The hub to show in place of one of its own
    #[arg(long = "hub-url", value_name = "URL", env = "MCP_HUB_URL", hide = true)]
    pub hub_url: Option<String>,
    /// The token that administers that hub, or that shall administer this one over HTTP
    #[arg(skip = std::env::var("DRAWBRIDGE_ADMIN_TOKEN").ok().filter(|token| !token.is_empty()))]
    pub admin_token: Option<String>,
}

impl Args {
    /// The hub elsewhere that the app is a client of; an empty `MCP_HUB_URL` names none.
    pub(crate) fn remote(&self) -> Option<&str> {
        self.hub_url
            .as_deref()
            .map(str::trim)
            .filter(|url| !url.is_empty())
    }

    /// A name for what this start shows, where it is not the platform's own data folder: a
    /// second start with the same one raises the first.
    pub(crate) fn instance(&self) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        match (self.remote(), &self.data_dir) {
            (Some(url), _) => url.hash(&mut hasher),
            (None, Some(dir)) => std::path::absolute(dir)
                .unwrap_or_else(|_| dir.clone())
                .hash(&mut hasher),
            (None, None) => return None,
        }
        Some(format!("i{:016x}", hasher.finish()))
    }
}

#[cfg(test)]
mod tests;
