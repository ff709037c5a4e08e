//! The headless hub, `drawbridge serve`, and the shell commands of a person who uses it.

use std::{path::Path, time::Duration};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    Home, McpClient,
    http::{Request, Url},
    places,
    process::Process,
    wait::{self, until},
};

/// The administrator's token of every hub in the tests.
pub const ADMIN_TOKEN: &str = "admin-token-of-the-tests-0123456789abcdef";

/// A running `drawbridge serve`.
pub struct Hub<'a> {
    pub home: &'a Home,
    /// The endpoint, `http://HOST:PORT/mcp`.
    pub url: String,
    process: Process,
}

impl<'a> Hub<'a> {
    /// Starts a hub on the home's data folder and waits until it listens.
    #[track_caller]
    pub fn serve(home: &'a Home) -> Self {
        Self::serve_in(home, &[])
    }

    /// Like [`Hub::serve`], with additional environment variables.
    #[track_caller]
    pub fn serve_in(home: &'a Home, environment: &[(&str, &str)]) -> Self {
        Self::at_work(home, Self::spawn_behind(home, &[], environment))
    }

    /// Like [`Hub::serve`], but started through the command `starter`, which finally execs the hub.
    #[track_caller]
    pub fn serve_behind(home: &'a Home, starter: &[&str]) -> Self {
        Self::at_work(home, Self::spawn_behind(home, starter, &[]))
    }

    #[track_caller]
    fn at_work(home: &'a Home, mut process: Process) -> Self {
        let line = process.line();
        let url = line
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("not where it listens: {line}"));
        Self {
            home,
            url: url.to_owned(),
            process,
        }
    }

    /// Starts a hub and does not wait until it listens.
    pub fn spawn(home: &Home) -> Process {
        Self::spawn_behind(home, &[], &[])
    }

    /// Like [`Hub::spawn`], but started through the command `starter`, which finally execs the hub,
    /// and with additional environment variables.
    pub fn spawn_behind(home: &Home, starter: &[&str], environment: &[(&str, &str)]) -> Process {
        let program = places::text(places::built("drawbridge"));
        let line = [starter, &[program.as_str()]].concat();
        let mut command = home.command(line[0]);
        command.args(&line[1..]);
        command
            .args(["serve", "--port", "0", "--skip-config-gen", "--data-dir"])
            .arg(home.data_dir());
        command
            .env("DRAWBRIDGE_ADMIN_TOKEN", ADMIN_TOKEN)
            .envs(environment.iter().copied());
        Process::start(home, "serve", &mut command)
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// Stops the hub and waits until it exits: gracefully with `SIGTERM`, at once with `SIGKILL`.
    #[track_caller]
    pub fn end(mut self, signal: Signal) {
        self.process.signal(signal);
        let (status, _) = self.process.finish(Duration::from_secs(15));
        if signal == Signal::SIGTERM {
            assert!(
                status.success(),
                "a graceful stop is no failure: {status}\n{}",
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
        self.home.cli(&arguments).ok();
    }

    /// Adds a client and opens a session for it.
    #[track_caller]
    pub fn client(&self, name: &str) -> McpClient {
        McpClient::connect(&self.url, &self.token(name))
    }

    /// Adds a client and returns its token.
    #[track_caller]
    pub fn token(&self, name: &str) -> String {
        let added = self.home.cli(&["clients", "add", name, "--json"]).json();
        added["token"]
            .as_str()
            .expect("a new client has a token")
            .to_owned()
    }

    /// Adds the fixture server that records its input, under the name `probe`, and waits until its
    /// tools are known.
    #[track_caller]
    pub fn add_probe(&self, options: &[&str]) {
        let program = places::text(places::built("upstream-probe"));
        let heard = places::text(heard_file(self.home));
        let command = [&[program.as_str(), "--heard", heard.as_str()], options].concat();
        self.add_server("probe", &[], &command);
        self.until_synced("probe");
    }

    /// Sets a policy for all clients.
    #[track_caller]
    pub fn policy(&self, scope: &str, effect: &str) {
        self.home.cli(&["policy", "set", scope, effect]).ok();
    }

    /// Waits until a call waits for a person, and returns that approval.
    #[track_caller]
    pub fn approval(&self) -> Value {
        until("a call waits for a person", || {
            let waiting = self.home.cli(&["approvals", "list", "--json"]).json();
            waiting.as_array()?.first().cloned()
        })
    }

    /// Returns a server as `drawbridge servers show` reports it.
    #[track_caller]
    pub fn server(&self, id: &str) -> Value {
        self.home.cli(&["servers", "show", id, "--json"]).json()
    }

    /// Waits until the catalog knows the tools of a server.
    #[track_caller]
    pub fn until_synced(&self, id: &str) {
        until(format!("the catalog knows the tools of {id}"), || {
            wait::yes(self.server(id)["sync_status"] == "SYNCED")
        });
    }

    /// Runs a verb over HTTP, as the web UI does, and returns the result.
    #[track_caller]
    pub fn verb(&self, name: &str, params: &Value) -> Value {
        let (status, text) = self.try_verb(name, params);
        assert!(status == 200, "{name} was answered with {status}: {text}");
        serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{name} answered no JSON ({e}): {text}"))
    }

    /// Like [`Hub::verb`], but returns the status and the body, also if the verb is refused.
    #[track_caller]
    pub fn try_verb(&self, name: &str, params: &Value) -> (u16, String) {
        try_verb(&self.url, name, params)
    }

    /// Sets the time that a person has to decide.
    #[track_caller]
    pub fn approval_timeout(&self, seconds: u32) {
        self.verb("settings.change", &json!({"approval_timeout_s": seconds}));
    }
}

/// Runs a verb on the hub with this endpoint. Returns the status and the body, also if the verb is
/// refused.
#[track_caller]
pub fn try_verb(url: &str, name: &str, params: &Value) -> (u16, String) {
    let url = Url::of(url).at(&format!("/api/verbs/{name}"));
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
    };
    let response = response.send().unwrap_or_else(|e| panic!("{name}: {e}"));
    (response.status, response.text().unwrap_or_default())
}

/// Replaces a spec file atomically, as any other program may.
pub fn write_spec(home: &Home, id: &str, text: &str) {
    let path = spec_file(&home.data_dir(), id);
    let beside = path.with_extension("json.new");
    std::fs::write(&beside, text).unwrap_or_else(|e| panic!("write {}: {e}", beside.display()));
    std::fs::rename(&beside, &path).unwrap_or_else(|e| panic!("rename to {}: {e}", path.display()));
}

/// Returns the path of a server's spec file.
pub fn spec_file(data_dir: &Path, id: &str) -> std::path::PathBuf {
    data_dir.join("servers").join(format!("{id}.json"))
}

fn heard_file(home: &Home) -> std::path::PathBuf {
    home.file("heard")
}

/// Returns the lines that the fixture server received in all its runs.
pub fn heard(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(heard_file(home)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns the calls that the fixture server received.
pub fn calls_heard(home: &Home) -> Vec<String> {
    heard(home)
        .into_iter()
        .filter(|line| line.contains("\"tools/call\""))
        .collect()
}
