//! The headless hub, `drawbridge serve`, and the shell commands of a person who uses it.

use std::{io, path::Path, process::Command, time::Duration};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    Home, McpClient,
    host_name::OtherName,
    http::{Request, Response, Url},
    paths,
    process::Process,
    wait::{self, wait_until},
};

/// The admin token of every hub in the tests.
pub const ADMIN_TOKEN: &str = "admin-token-of-the-tests-0123456789abcdef";

/// A running `drawbridge serve`.
pub struct Hub<'a> {
    pub home: &'a Home,
    /// The URL of the endpoint, `http://HOST:PORT/mcp`.
    pub url: String,
    process: Process,
}

impl<'a> Hub<'a> {
    /// Starts a hub on the home's data folder and waits until it listens.
    #[track_caller]
    pub fn serve(home: &'a Home) -> Self {
        Self::serve_with_env(home, &[])
    }

    /// Like [`Hub::serve`], with additional environment variables.
    #[track_caller]
    pub fn serve_with_env(home: &'a Home, environment: &[(&str, &str)]) -> Self {
        Self::wait_until_listening(home, Self::spawn_with(home, &[], environment))
    }

    /// Like [`Hub::serve`], with additional arguments.
    #[track_caller]
    pub fn serve_with_arguments(home: &'a Home, arguments: &[&str]) -> Self {
        let mut command = Self::command(home, &[], &[]);
        command.args(arguments);
        let process = Process::start(home, "serve", &mut command);
        Self::wait_until_listening(home, process)
    }

    /// Like [`Hub::serve`], but on this port.
    #[track_caller]
    pub fn serve_on_port(home: &'a Home, port: u16) -> Self {
        let mut command = Self::command_on_port(home, &[], &[], port);
        Self::wait_until_listening(home, Process::start(home, "serve", &mut command))
    }

    /// Like [`Hub::serve`], but under another name of this computer. Also returns
    /// `http://NAME:PORT`.
    #[track_caller]
    pub fn serve_as(home: &'a Home, other: &OtherName) -> (Self, String) {
        let address = other.address.to_string();
        let arguments = ["--host", &address, "--allow-host", &other.name];
        let hub = Self::serve_with_arguments(home, &arguments);
        let origin = format!("http://{}:{}", other.name, hub.port());
        (hub, origin)
    }

    /// Like [`Hub::serve`], but started through the command `starter`, which finally execs the hub.
    #[track_caller]
    pub fn serve_with_starter(home: &'a Home, starter: &[&str]) -> Self {
        Self::wait_until_listening(home, Self::spawn_with(home, starter, &[]))
    }

    #[track_caller]
    fn wait_until_listening(home: &'a Home, mut process: Process) -> Self {
        let line = process.read_line();
        let url = line
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("the hub did not print its URL: {line}"));
        Self {
            home,
            url: url.to_owned(),
            process,
        }
    }

    /// Starts a hub and does not wait until it listens.
    pub fn spawn(home: &Home) -> Process {
        Self::spawn_with(home, &[], &[])
    }

    /// Like [`Hub::spawn`], but started through the command `starter`, which finally execs the hub,
    /// and with additional environment variables.
    pub fn spawn_with(home: &Home, starter: &[&str], environment: &[(&str, &str)]) -> Process {
        Process::start(
            home,
            "serve",
            &mut Self::command(home, starter, environment),
        )
    }

    fn command(home: &Home, starter: &[&str], environment: &[(&str, &str)]) -> Command {
        Self::command_on_port(home, starter, environment, 0)
    }

    fn command_on_port(
        home: &Home,
        starter: &[&str],
        environment: &[(&str, &str)],
        port: u16,
    ) -> Command {
        let program = paths::path_text(paths::built_binary("drawbridge"));
        let command_line = [starter, &[program.as_str()]].concat();
        let mut command = home.command(command_line[0]);
        command.args(&command_line[1..]);
        command
            .args(["serve", "--port", &port.to_string(), "--data-dir"])
            .arg(home.data_dir());
        command
            .env("DRAWBRIDGE_ADMIN_TOKEN", ADMIN_TOKEN)
            .envs(environment.iter().copied());
        command
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the port of the endpoint.
    #[track_caller]
    pub fn port(&self) -> u16 {
        let authority = Url::parse(&self.url).authority;
        let port = authority
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        port.unwrap_or_else(|| panic!("no port in {authority}"))
    }

    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// Stops the hub and waits until it exits: gracefully with `SIGTERM`, at once with `SIGKILL`.
    #[track_caller]
    pub fn stop(mut self, signal: Signal) {
        self.process.send_signal(signal);
        let (status, _) = self.process.wait_until_exit(Duration::from_secs(15));
        if signal == Signal::SIGTERM {
            assert!(
                status.success(),
                "the hub failed during a graceful stop: {status}\n{}",
                self.process.stderr()
            );
        }
    }

    /// Adds a server through the command line.
    #[track_caller]
    pub fn add_server(&self, name: &str, options: &[&str], command: &[&str]) {
        let arguments = [
            &["servers", "add", name],
            options,
            &["--json", "--"],
            command,
        ]
        .concat();
        self.home.cli(&arguments).expect_success();
    }

    /// Adds a client and opens a session for it.
    #[track_caller]
    pub fn connect_client(&self, name: &str) -> McpClient {
        McpClient::connect(&self.url, &self.add_client(name))
    }

    /// Adds a client and returns its token.
    #[track_caller]
    pub fn add_client(&self, name: &str) -> String {
        let added = self
            .home
            .cli(&["clients", "add", name, "--json"])
            .expect_json();
        added["token"]
            .as_str()
            .expect("a new client has a token")
            .to_owned()
    }

    /// Adds the fixture server that records its input, under the name `probe`, and waits until its
    /// tools are known.
    #[track_caller]
    pub fn add_probe(&self, options: &[&str]) {
        let program = paths::path_text(paths::built_binary("upstream-probe"));
        let record = paths::path_text(probe_record_file(self.home));
        let command = [&[program.as_str(), "--record", record.as_str()], options].concat();
        self.add_server("probe", &[], &command);
        self.wait_until_synced("probe");
    }

    /// Adds the reference server `everything`, whose tools may be called without an approval, and
    /// waits until its tools are known.
    #[track_caller]
    pub fn add_everything(&self) {
        let program = paths::path_text(paths::npm_file(
            "@modelcontextprotocol/server-everything/dist/index.js",
        ));
        self.add_server("everything", &[], &["node", &program]);
        self.wait_until_synced("everything");
        self.set_policy("everything", "allow");
    }

    /// Sets the rule of a scope for all clients.
    #[track_caller]
    pub fn set_policy(&self, scope: &str, effect: &str) {
        self.home
            .cli(&["policy", "set", scope, effect, "--yes"])
            .expect_success();
    }

    /// Waits until an approval is pending, and returns the first pending approval.
    #[track_caller]
    pub fn wait_for_approval(&self) -> Value {
        wait_until("a call waits for a person", || {
            let approvals = self
                .home
                .cli(&["approvals", "list", "--json"])
                .expect_json();
            approvals.as_array()?.first().cloned()
        })
    }

    /// Returns a server as `drawbridge servers show` reports it.
    #[track_caller]
    pub fn show_server(&self, id: &str) -> Value {
        self.home
            .cli(&["servers", "show", id, "--json"])
            .expect_json()
    }

    /// Waits until the catalog knows the tools of a server.
    #[track_caller]
    pub fn wait_until_synced(&self, id: &str) {
        wait_until(format!("the catalog knows the tools of {id}"), || {
            wait::some_if(self.show_server(id)["sync_status"] == "SYNCED")
        });
    }

    /// Runs a verb over HTTP, as the web UI does, and returns the result.
    #[track_caller]
    pub fn run_verb(&self, name: &str, params: &Value) -> Value {
        let (status, text) = self.try_verb(name, params);
        assert!(status == 200, "{name} was answered with {status}: {text}");
        serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{name} answered no JSON ({e}): {text}"))
    }

    /// Like [`Hub::run_verb`], but returns the status and the body, even if the verb is refused.
    #[track_caller]
    pub fn try_verb(&self, name: &str, params: &Value) -> (u16, String) {
        try_verb(&self.url, name, params)
    }

    /// Subscribes to the hub's events, as a screen does, until the returned value is dropped.
    #[track_caller]
    pub fn open_screen(&self) -> Response {
        let url = Url::parse(&self.url).with_path("/api/events");
        let bearer = format!("Bearer {ADMIN_TOKEN}");
        let headers = [("Authorization", bearer.as_str())];
        let request = Request {
            method: "GET",
            url: &url,
            headers: &headers,
            body: &[],
        };
        let response = request.send().expect("the events begin");
        assert_eq!(response.status, 200);
        response
    }

    /// Sets the time in which a person can decide a call.
    #[track_caller]
    pub fn set_approval_timeout(&self, seconds: u32) {
        self.run_verb("settings.change", &json!({"approval_timeout_s": seconds}));
    }
}

/// Runs a verb on the hub with this endpoint. Returns the status and the body, even if the verb is
/// refused.
#[track_caller]
pub fn try_verb(url: &str, name: &str, params: &Value) -> (u16, String) {
    send_verb(url, name, params).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Like [`try_verb`], for a hub that may end meanwhile.
///
/// # Errors
///
/// Returns an error if the connection breaks.
pub fn send_verb(url: &str, name: &str, params: &Value) -> io::Result<(u16, String)> {
    let url = Url::parse(url).with_path(&format!("/api/verbs/{name}"));
    let bearer = format!("Bearer {ADMIN_TOKEN}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
    ];
    let body = params.to_string();
    let response = Request {
        method: "POST",
        url: &url,
        headers: &headers,
        body: body.as_bytes(),
    }
    .send()?;
    Ok((response.status, response.text()?))
}

/// Replaces a spec file atomically, as any other program may.
pub fn write_spec(home: &Home, id: &str, text: &str) {
    let path = spec_file(&home.data_dir(), id);
    let new_file = path.with_extension("json.new");
    std::fs::write(&new_file, text).unwrap_or_else(|e| panic!("write {}: {e}", new_file.display()));
    std::fs::rename(&new_file, &path)
        .unwrap_or_else(|e| panic!("rename to {}: {e}", path.display()));
}

/// Returns the path of a server's spec file.
pub fn spec_file(data_dir: &Path, id: &str) -> std::path::PathBuf {
    data_dir.join("servers").join(format!("{id}.json"))
}

fn probe_record_file(home: &Home) -> std::path::PathBuf {
    home.file("record")
}

/// Returns the lines that the probe recorded in all its runs: its pid at each start, each line that
/// it received, and each call for which it found no decision.
pub fn received_lines(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(probe_record_file(home)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns the lines with calls of tools that the probe received in all its runs.
pub fn received_calls(home: &Home) -> Vec<String> {
    received_lines(home)
        .into_iter()
        .filter(|line| line.contains("\"tools/call\""))
        .collect()
}
