//! The clients: public SDKs, each over one of the transports that Drawbridge offers.

use std::{
    io::Write,
    process::{ChildStdin, Stdio},
};

use drawbridge_tests::{Hub, paths, process::Process};
use serde::Deserialize;
use serde_json::json;

use crate::{cells::Cell, features, servers::Server};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    TypeScript,
    Python,
    HttpSse,
    Bridge,
    Stateless,
    StatelessBridge,
}

impl Client {
    pub(crate) const ALL: [Self; 6] = [
        Self::TypeScript,
        Self::Python,
        Self::HttpSse,
        Self::Bridge,
        Self::Stateless,
        Self::StatelessBridge,
    ];

    /// Returns the client's name for the docs.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::TypeScript => "TypeScript SDK 1",
            Self::Python => "Python SDK",
            Self::HttpSse => "TypeScript SDK 1 over HTTP+SSE",
            Self::Bridge => "TypeScript SDK 1 through the stdio bridge",
            Self::Stateless => "TypeScript SDK 2",
            Self::StatelessBridge => "TypeScript SDK 2 through the stdio bridge",
        }
    }

    /// Returns the revision that the client uses with the hub.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::TypeScript | Self::Bridge => "2025-11-25",
            Self::HttpSse => "2024-11-05",
            Self::Python | Self::Stateless | Self::StatelessBridge => "2026-07-28",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::HttpSse => "http-sse",
            Self::Bridge => "bridge",
            Self::Stateless => "stateless",
            Self::StatelessBridge => "stateless-bridge",
        }
    }

    /// Adds the client to the hub and starts it.
    #[track_caller]
    pub(crate) fn connect(self, hub: &Hub<'_>) -> RunningClient {
        let token = hub.add_client(self.name());
        let mut connection = match self {
            Self::TypeScript | Self::Python | Self::Stateless => {
                json!({"url": hub.url, "token": token})
            }
            Self::HttpSse => json!({"url": hub.url.replace("/mcp", "/sse"), "token": token}),
            Self::Bridge | Self::StatelessBridge => {
                let program = paths::path_text(paths::built_binary("drawbridge"));
                let data = paths::path_text(hub.home.data_dir());
                json!({"command": [program, "stdio", "--client", self.name(), "--data-dir", data]})
            }
        };
        connection["revision"] = self.revision().into();
        let (program, script) = match self {
            Self::TypeScript | Self::HttpSse | Self::Bridge => {
                (paths::node_program(), "sessions.mjs")
            }
            Self::Python => (paths::python_program(), "client.py"),
            Self::Stateless | Self::StatelessBridge => (paths::node_program(), "stateless.mjs"),
        };
        let mut command = hub.home.command(program);
        command
            .arg(paths::pinned_packages_dir().join("matrix").join(script))
            .arg(connection.to_string())
            .stdin(Stdio::piped());
        let mut process = Process::start(hub.home, self.name(), &mut command);
        RunningClient {
            client: self,
            stdin: process.take_stdin(),
            process,
        }
    }
}

/// A running client.
pub(crate) struct RunningClient {
    client: Client,
    process: Process,
    /// Receives the id of the next server.
    stdin: ChildStdin,
}

/// A line of the client's output.
#[derive(Deserialize)]
struct OutputLine {
    feature: String,
    ok: bool,
    detail: Option<String>,
}

impl RunningClient {
    /// Runs every feature once with the server.
    #[track_caller]
    pub(crate) fn run_features(&mut self, server: Server) -> Vec<Cell> {
        writeln!(self.stdin, "{}", server.id()).expect("the client reads its stdin");
        features::ALL
            .iter()
            .map(|feature| self.read_cell(server, feature.name))
            .collect()
    }

    fn read_cell(&mut self, server: Server, feature: &'static str) -> Cell {
        let line = self.process.read_line();
        let line: OutputLine = serde_json::from_str(&line)
            .unwrap_or_else(|e| panic!("{:?} printed {line}: {e}", self.client));
        assert_eq!(
            line.feature, feature,
            "{:?} runs the features in order",
            self.client
        );
        let failure = (!line.ok).then(|| line.detail.unwrap_or_default());
        Cell {
            client: self.client,
            server,
            feature,
            failure,
        }
    }
}
