//! The clients: public SDKs, each in its way to Drawbridge.

use std::{process::Command, time::Duration};

use drawbridge_tests::{Home, Hub, places, process::Process};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{cells::Cell, features, servers::Server};

/// Ample for everything with one server, on a loaded machine.
const BOUND: Duration = Duration::from_secs(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    TypeScript,
    Python,
    Old,
    Bridge,
    Stateless,
}

impl Client {
    pub(crate) const ALL: [Self; 5] = [Self::TypeScript, Self::Python, Self::Old, Self::Bridge, Self::Stateless];

    /// What it is, for the docs.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::TypeScript => "TypeScript SDK",
            Self::Python => "Python SDK",
            Self::Old => "HTTP+SSE",
            Self::Bridge => "stdio bridge",
            Self::Stateless => "2026-07-28",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::Old => "old",
            Self::Bridge => "bridge",
            Self::Stateless => "stateless",
        }
    }

    /// Makes the hub know it.
    #[track_caller]
    pub(crate) fn connect<'a>(self, hub: &Hub<'a>) -> Connected<'a> {
        let token = hub.token(self.name());
        let way = match self {
            Self::TypeScript | Self::Python | Self::Stateless => json!({"url": hub.url, "token": token}),
            Self::Old => json!({"url": hub.url.replace("/mcp", "/sse"), "token": token}),
            Self::Bridge => {
                let program = places::text(places::built("drawbridge"));
                let data = places::text(hub.home.data_dir());
                json!({"command": [program, "stdio", "--client", self.name(), "--data-dir", data]})
            }
        };
        Connected { home: hub.home, client: self, way }
    }
}

/// A client that the hub knows.
pub(crate) struct Connected<'a> {
    home: &'a Home,
    client: Client,
    /// How it gets to Drawbridge.
    way: Value,
}

/// What a client prints.
#[derive(Deserialize)]
struct Line {
    feature: String,
    ok: bool,
    detail: Option<String>,
}

impl Connected<'_> {
    /// Does everything once with that server.
    pub(crate) fn run(&self, server: Server) -> Vec<Cell> {
        let mut job = self.way.clone();
        job["server"] = server.id().into();
        let mut command = self.program();
        let name = format!("{} with {}", self.client.name(), server.id());
        let mut process = Process::start(self.home, &name, command.arg(job.to_string()));
        let (_, printed) = process.finish(BOUND);
        let lines: Vec<Line> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let cell = |feature: &'static str| {
            let failed = match lines.iter().find(|line| line.feature == feature) {
                Some(line) if line.ok => None,
                Some(line) => Some(line.detail.clone().unwrap_or_default()),
                None => Some(format!("it was not done: {}", process.stderr())),
            };
            Cell { client: self.client, server, feature, failed }
        };
        features::ALL.iter().map(|feature| cell(feature.name)).collect()
    }

    fn program(&self) -> Command {
        let programs = places::real().join("matrix");
        let (program, script) = match self.client {
            Client::TypeScript | Client::Old | Client::Bridge => (places::program("node"), "sessions.mjs"),
            Client::Python => (places::python(), "client.py"),
            Client::Stateless => (places::program("node"), "stateless.mjs"),
        };
        let mut command = self.home.command(program);
        command.arg(programs.join(script));
        command
    }
}
