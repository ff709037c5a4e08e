//! The headless hub, `drawbridge serve`, and what a person does with it from the shell.

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

/// The administrator's token of every hub here.
pub const ADMIN_TOKEN: &str = "admin-token-of-the-tests-0123456789abcdef";

/// A running `drawbridge serve`.
pub struct Hub<'a> {
    pub home: &'a Home,
    /// The endpoint, `http://HOST:PORT/mcp`.
    pub url: String,
    process: Process,
}

impl<'a> Hub<'a> {
    /// Starts it on the home's data folder and waits until it listens.
    #[track_caller]
    pub fn serve(home: &'a Home) -> Self {
        Self::serve_in(home, &[])
    }

    /// The same with these in its environment.
    #[track_caller]
    pub fn serve_in(home: &'a Home, environment: &[(&str, &str)]) -> Self {
        Self::at_work(home, Self::spawn_behind(home, &[], environment))
    }

    /// The same, started by another command, which ends with becoming it.
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

    /// Starts it without waiting.
    pub fn spawn(home: &Home) -> Process {
        Self::spawn_behind(home, &[], &[])
    }

    /// The same, started by another command, which ends with becoming it.
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

    /// Ends it and waits until it is gone: gracefully by `SIGTERM`, at once by `SIGKILL`.
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

    /// Adds a server as a person does on the command line.
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

    /// Adds a client, opens its session.
    #[track_caller]
    pub fn client(&self, name: &str) -> McpClient {
        McpClient::connect(&self.url, &self.token(name))
    }

    /// Adds a client; its token.
    #[track_caller]
    pub fn token(&self, name: &str) -> String {
        let added = self.home.cli(&["clients", "add", name, "--json"]).json();
        added["token"]
            .as_str()
            .expect("a new client has a token")
            .to_owned()
    }

    /// Adds the fixture server that says what reached it, under the name `probe`; its tools may be called.
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

    /// Waits until a call waits for a person.
    #[track_caller]
    pub fn approval(&self) -> Value {
        until("a call waits for a person", || {
            let waiting = self.home.cli(&["approvals", "list", "--json"]).json();
            waiting.as_array()?.first().cloned()
        })
    }

    /// What is known of a server.
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

    /// Runs a verb over HTTP, as the web UI does.
    #[track_caller]
    pub fn verb(&self, name: &str, params: &Value) -> Value {
        let (status, text) = self.try_verb(name, params);
        assert!(status == 200, "{name} was answered with {status}: {text}");
        serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{name} answered no JSON ({e}): {text}"))
    }

    /// The same where it may be refused: the status and the body.
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

/// Runs a verb at the hub with that endpoint, where it may be refused: the status and the body.
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

/// Writes a spec file as any other program could, whole or not at all.
pub fn write_spec(home: &Home, id: &str, text: &str) {
    let path = spec_file(&home.data_dir(), id);
    let beside = path.with_extension("json.new");
    std::fs::write(&beside, text).unwrap_or_else(|e| panic!("write {}: {e}", beside.display()));
    std::fs::rename(&beside, &path).unwrap_or_else(|e| panic!("rename to {}: {e}", path.display()));
}

/// The path of a server's spec file.
pub fn spec_file(data_dir: &Path, id: &str) -> std::path::PathBuf {
    data_dir.join("servers").join(format!("{id}.json"))
}

fn heard_file(home: &Home) -> std::path::PathBuf {
    home.file("heard")
}

/// The lines that reached the fixture server, over all its starts.
pub fn heard(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(heard_file(home)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The calls that reached the fixture server.
pub fn calls_heard(home: &Home) -> Vec<String> {
    heard(home)
        .into_iter()
        .filter(|line| line.contains("\"tools/call\""))
        .collect()
}
