//! The command line of the desktop app. Its arguments determine which hub the app shows, and
//! whether a second start counts as the same app.

use std::{
    ffi::OsString,
    hash::{DefaultHasher, Hash, Hasher},
    net::IpAddr,
    path::PathBuf,
};

use clap::Parser;
use drawbridge_model::allowed_host::AllowedHost;

/// The Drawbridge tray app: one local gateway between AI clients and MCP servers.
#[derive(Debug, Clone, Parser)]
#[command(name = "drawbridge-desktop", version)]
pub struct Args {
    /// The data folder [default: depends on the platform]
    #[arg(long, value_name = "DIR", env = "DRAWBRIDGE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The address that clients connect to
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// The port that clients connect to; 0 for a free port [default: the port in the settings,
    /// which is 8765 if nobody changed it]
    #[arg(long)]
    pub port: Option<u16>,
    /// A host name or IP address under which clients and browsers reach the hub, besides localhost,
    /// 127.0.0.1, [::1] and the address in --host; with a port if it is not the port on which the
    /// hub listens. May be repeated
    #[arg(long = "allow-host", value_name = "HOST[:PORT]")]
    pub allow_hosts: Vec<AllowedHost>,
    /// Start in the tray, without a window
    #[arg(long)]
    pub hidden: bool,
    /// Do not update or restore Drawbridge's entries in the files of clients
    #[arg(long)]
    pub skip_config_gen: bool,
    /// A drawbridge:// link or an MCP bundle (.mcpb) to open. The window shows the server before a
    /// person adds it
    #[arg(value_name = "LINK|FILE")]
    pub open: Option<String>,
    /// The URL of a hub to show instead of starting one
    #[arg(long = "hub-url", value_name = "URL", env = "MCP_HUB_URL", hide = true)]
    pub hub_url: Option<String>,
    /// The admin token of the hub at `--hub-url` or, without `--hub-url`, of the app's own hub
    #[arg(skip)]
    pub admin_token: Option<String>,
}

impl Args {
    /// Returns the data folder: the chosen folder, or the platform's default.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.data_dir
            .clone()
            .unwrap_or_else(drawbridge_store::data_dir::default_data_dir)
    }

    /// Returns the URL of the remote hub, or `None` if no remote hub is named. An empty
    /// `MCP_HUB_URL` counts as absent.
    pub(crate) fn remote_url(&self) -> Option<&str> {
        self.hub_url
            .as_deref()
            .map(str::trim)
            .filter(|url| !url.is_empty())
    }

    /// Returns a name for the hub that this start shows, or `None` for the platform's default data
    /// folder. A second start with the same name brings the first app to the front.
    pub(crate) fn instance_name(&self) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        match (self.remote_url(), &self.data_dir) {
            (Some(url), _) => url.hash(&mut hasher),
            (None, Some(dir)) => std::path::absolute(dir)
                .unwrap_or_else(|_| dir.clone())
                .hash(&mut hasher),
            (None, None) => return None,
        }
        Some(format!("i{:016x}", hasher.finish()))
    }

    /// Returns the arguments for a restart of the app, given the arguments of this start. After the
    /// restart, the window opens, but not the link or file that this start opened.
    pub(crate) fn for_restart(&self, arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
        let opened = self.open.as_deref();
        arguments
            .filter(|argument| argument != "--hidden")
            .filter(|argument| opened.is_none_or(|opened| argument != opened))
            .collect()
    }
}

#[cfg(test)]
mod tests;
