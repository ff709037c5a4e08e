//! The stdio bridge, started as a stdio-only client starts it.

use std::{
    io::Write,
    path::Path,
    process::{ChildStdin, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{Home, paths, process::Process};

/// A running bridge, with its client's session.
pub struct Bridge {
    pub process: Process,
    pub stdin: Option<ChildStdin>,
}

impl Bridge {
    /// Starts a bridge for the client `client` and opens a session.
    #[track_caller]
    pub fn open(home: &Home, client: &str) -> Self {
        Self::open_with(home, client, &[])
    }

    /// Like [`Bridge::open`], with further command-line options.
    #[track_caller]
    pub fn open_with(home: &Home, client: &str, options: &[&str]) -> Self {
        let mut command = home.command(paths::built_binary("drawbridge"));
        command.args(["stdio", "--client", client]).args(options);
        Self::start(home, command)
    }

    /// Like [`Bridge::open`], for a client that works in a folder.
    #[track_caller]
    pub fn open_in(home: &Home, client: &str, folder: &Path) -> Self {
        let mut command = home.command(paths::built_binary("drawbridge"));
        command
            .args(["stdio", "--client", client])
            .current_dir(folder);
        Self::start(home, command)
    }

    /// Starts a bridge by the command line in a client's file, and opens a session.
    #[track_caller]
    pub fn open_command_line(home: &Home, command_line: &[String]) -> Self {
        let mut command = home.command(&command_line[0]);
        command.args(&command_line[1..]);
        Self::start_command(home, command)
    }

    #[track_caller]
    fn start(home: &Home, mut command: Command) -> Self {
        command.arg("--data-dir").arg(home.data_dir());
        Self::start_command(home, command)
    }

    #[track_caller]
    fn start_command(home: &Home, mut command: Command) -> Self {
        command.stdin(Stdio::piped());
        let mut process = Process::start(home, "stdio", &mut command);
        let stdin = process.take_stdin();
        let mut bridge = Self {
            process,
            stdin: Some(stdin),
        };
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        let answer = bridge.request(1, "initialize", &params);
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-06-18",
            "{answer}"
        );
        bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        bridge
    }

    /// Closes stdin, as a client does when it exits, and waits until the bridge exits.
    #[track_caller]
    pub fn close(mut self) {
        drop(self.stdin.take());
        let (status, _) = self.process.wait_until_exit(Duration::from_secs(10));
        assert!(
            status.success(),
            "the bridge exits when its client closes stdin: {status}"
        );
    }

    /// Sends a message.
    #[track_caller]
    pub fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{message}").expect("write to the bridge");
    }

    /// Sends a request and returns the response to it.
    #[track_caller]
    pub fn request(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.read_response(id)
    }

    /// Returns the next response with this id and skips other messages before it.
    #[track_caller]
    pub fn read_response(&mut self, id: u64) -> Value {
        loop {
            let line = self.process.read_line();
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"));
            if message["id"] == id {
                return message;
            }
        }
    }
}
