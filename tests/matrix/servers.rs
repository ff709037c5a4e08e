//! The servers: the same fixture over every transport, in the eras that the transport has.

use drawbridge_tests::{Hub, paths, process::Process};

const FIXTURE: &str = "upstream-conformance";

/// A way to reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    Stdio,
    StatelessStdio,
    Sse,
    Http,
    StatelessHttp,
}

impl Server {
    pub(crate) const ALL: [Self; 5] = [
        Self::Stdio,
        Self::StatelessStdio,
        Self::Sse,
        Self::Http,
        Self::StatelessHttp,
    ];

    /// Returns the id in the hub, which is also the scheme of the resources.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::StatelessStdio => "stateless-stdio",
            Self::Sse => "sse",
            Self::Http => "http",
            Self::StatelessHttp => "stateless-http",
        }
    }

    /// Returns the transport's name for the docs.
    pub(crate) fn transport(self) -> &'static str {
        match self {
            Self::Stdio | Self::StatelessStdio => "stdio",
            Self::Sse => "HTTP+SSE",
            Self::Http | Self::StatelessHttp => "streamable HTTP",
        }
    }

    /// Returns the revision that the server uses with the hub.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Stdio | Self::Sse | Self::Http => "2025-11-25",
            Self::StatelessStdio | Self::StatelessHttp => "2026-07-28",
        }
    }

    /// Returns the options of the fixture.
    fn options(self) -> [&'static str; 3] {
        let era = match self {
            Self::Stdio | Self::Sse | Self::Http => "--legacy",
            Self::StatelessStdio | Self::StatelessHttp => "--modern",
        };
        [era, "--scheme", self.id()]
    }

    /// Adds the server to the hub. Returns its process, unless the hub starts the server itself.
    fn add(self, hub: &Hub<'_>) -> Option<Process> {
        let fixture = paths::path_text(paths::built_binary(FIXTURE));
        let stdio = [&[fixture.as_str(), "--stdio"], self.options().as_slice()].concat();
        let (mut command, transport) = match self {
            Self::Stdio | Self::StatelessStdio => {
                hub.add_server(self.id(), &[], &stdio);
                return None;
            }
            Self::Sse => {
                let mut command = hub.home.command(paths::node_program());
                command
                    .arg(paths::pinned_packages_dir().join("legacy_sse.mjs"))
                    .args(stdio);
                (command, "sse")
            }
            Self::Http | Self::StatelessHttp => {
                let mut command = hub.home.command(&fixture);
                command.arg("0").args(self.options());
                (command, "http")
            }
        };
        let mut process = Process::start(hub.home, self.id(), &mut command);
        let line = process.read_line();
        let url = line
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("{self:?} printed no URL: {line}"));
        hub.home
            .cli(&[
                "servers",
                "add",
                self.id(),
                "--url",
                url,
                "--transport",
                transport,
            ])
            .expect_success();
        Some(process)
    }
}

/// All servers, synced with the hub. Dropping this value kills the processes that the hub did not
/// start.
pub(crate) struct Servers {
    _processes: Vec<Process>,
}

impl Servers {
    #[track_caller]
    pub(crate) fn start(hub: &Hub<'_>) -> Self {
        let processes = Server::ALL
            .into_iter()
            .filter_map(|server| server.add(hub))
            .collect();
        for server in Server::ALL {
            hub.wait_until_synced(server.id());
            let revision = &hub.show_server(server.id())["protocol_version"];
            assert_eq!(
                *revision,
                server.revision(),
                "the protocol revision between the hub and {server:?}"
            );
        }
        Self {
            _processes: processes,
        }
    }
}
