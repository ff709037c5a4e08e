//! The programs that run servers, and whether they are installed on this computer.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
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
    /// Runs packages of `NuGet`; comes with .NET SDK 10 and later.
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

    /// Returns the command to start.
    pub fn command(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Uvx => "uvx",
            Self::Docker => "docker",
            Self::Node => "node",
            // On Windows `python3` may be a stub that only opens the Microsoft Store.
            Self::Python if cfg!(windows) => "python",
            Self::Python => "python3",
            Self::Dnx => "dnx",
        }
    }

    /// Returns whether the first start of a server may download the server from the network.
    pub fn may_download(self) -> bool {
        match self {
            Self::Npx | Self::Uvx | Self::Docker | Self::Dnx => true,
            Self::Node | Self::Python => false,
        }
    }

    /// Returns the runtime to which a command belongs, for example [`Runtime::Npx`] for `bunx`.
    pub fn from_command(command: &str) -> Option<Self> {
        let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
        Self::from_name(name).or_else(|| match name {
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

    /// Returns the runtime with this name, as people and manifests write the name.
    pub fn from_name(name: &str) -> Option<Self> {
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

/// A runtime, as Drawbridge found it in the environment of servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct RuntimeStatus {
    pub runtime: Runtime,
    /// The path of the program, if it is installed.
    pub path: Option<String>,
    pub version: Option<String>,
    /// The reason in plain words why the runtime cannot be used; empty if it can.
    pub problem: String,
    /// A remedy for the problem; empty if there is none to suggest.
    pub remedy: String,
}
