//! The programs with which packages are started, and how each is found on this machine.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    /// Runs packages of npm; comes with Node.js.
    Npx,
    /// Runs packages of `PyPI`; comes with uv.
    Uvx,
    /// Runs container images.
    Docker,
    Node,
    Python,
    /// Runs packages of `NuGet`; comes with the .NET SDK, from version 10 on.
    Dnx,
}

impl Runtime {
    pub const ALL: [Self; 6] = [
        Self::Npx,
        Self::Uvx,
        Self::Docker,
        Self::Node,
        Self::Python,
        Self::Dnx,
    ];

    /// The command that is started.
    pub fn command(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Uvx => "uvx",
            Self::Docker => "docker",
            Self::Node => "node",
            // On Windows `python3` is the name of a signpost to the store.
            Self::Python if cfg!(windows) => "python",
            Self::Python => "python3",
            Self::Dnx => "dnx",
        }
    }

    /// Whether its first start of a server may fetch the server from the network.
    pub fn may_download(self) -> bool {
        match self {
            Self::Npx | Self::Uvx | Self::Docker | Self::Dnx => true,
            Self::Node | Self::Python => false,
        }
    }

    /// The runtime that a command is, or is like, if it is one.
    pub fn of_command(command: &str) -> Option<Self> {
        let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
        Self::named(name).or_else(|| match name {
            "uv" | "pipx" => Some(Self::Uvx),
            "npm" | "pnpm" | "pnpx" | "bunx" | "yarn" => Some(Self::Npx),
            "bun" | "deno" => Some(Self::Node),
            "podman" => Some(Self::Docker),
            _ if name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') == "python" => {
                Some(Self::Python)
            }
            _ => None,
        })
    }

    /// The runtime that people and manifests call so.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        match name
            .strip_suffix(".exe")
            .or_else(|| name.strip_suffix(".cmd"))
            .unwrap_or(&name)
        {
            "npx" => Some(Self::Npx),
            "uvx" => Some(Self::Uvx),
            "docker" => Some(Self::Docker),
            "node" => Some(Self::Node),
            "python" | "python3" => Some(Self::Python),
            "dnx" => Some(Self::Dnx),
            _ => None,
        }
    }
}

/// How a runtime is found where servers are started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RuntimeFound {
    pub runtime: Runtime,
    /// The path of its program, where there is one.
    pub path: Option<String>,
    pub version: Option<String>,
    /// Why it cannot be used, in plain words; empty where it can.
    pub problem: String,
    /// What to do about it; empty where there is nothing to do.
    pub remedy: String,
}
