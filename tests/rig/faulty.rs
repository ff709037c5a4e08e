//! The fixture server that misbehaves on request, behind a hub.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{Hub, paths, process::RunningProcess};

/// A faulty server.
pub struct FaultyServer<'a> {
    hub: &'a Hub<'a>,
    pub name: String,
    record: PathBuf,
}

impl<'a> FaultyServer<'a> {
    /// Adds a faulty server under this name and allows calls of its tools. The tools are known only
    /// after [`FaultyServer::wait_until_synced`].
    #[track_caller]
    pub fn add(hub: &'a Hub<'a>, name: &str, timeouts: &Value, options: &[&str]) -> Self {
        Self::add_with_starter(hub, name, timeouts, &[], options)
    }

    /// Like [`FaultyServer::add`], but started through the command `starter`, which finally execs
    /// the server.
    #[track_caller]
    pub fn add_with_starter(
        hub: &'a Hub<'a>,
        name: &str,
        timeouts: &Value,
        starter: &[&str],
        options: &[&str],
    ) -> Self {
        let record = hub.home.file(&format!("{name}.record"));
        let (program, file) = (
            paths::path_text(paths::built_binary("upstream-faulty")),
            paths::path_text(&record),
        );
        let command = [
            starter,
            &[program.as_str(), "--record", file.as_str()],
            options,
        ]
        .concat();
        let spec = json!({"name": name, "command": command[0], "args": command[1..], "timeouts": timeouts});
        hub.run_verb("servers.add", &json!({"spec": spec}));
        hub.set_policy(name, "allow");
        Self {
            hub,
            name: name.to_owned(),
            record,
        }
    }

    /// Waits until the tools of the server are known.
    #[track_caller]
    pub fn wait_until_synced(self) -> Self {
        self.hub.wait_until_synced(&self.name);
        self
    }

    /// Returns the exposed name of a tool.
    pub fn exposed_name(&self, name: &str) -> String {
        format!("{}__{name}", self.name)
    }

    /// Returns the server as `drawbridge servers show` reports it.
    #[track_caller]
    pub fn show(&self) -> Value {
        self.hub.show_server(&self.name)
    }

    /// Returns the number of running processes of the server, including its children.
    pub fn count_processes(&self) -> usize {
        let file = paths::path_text(&self.record);
        let belongs_to_server = |process: &&RunningProcess| {
            process.command.contains(&file)
                || process.variable("FAULTY_CHILD_OF") == Some(file.as_str())
        };
        self.hub
            .home
            .server_processes()
            .iter()
            .filter(belongs_to_server)
            .count()
    }

    /// Returns the entries of the record: the messages that the server received in all its runs,
    /// and its process id at each start. A line that is not JSON becomes a string.
    pub fn received(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.record).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into()))
            .collect()
    }

    /// Returns the received messages with this method.
    pub fn received_by_method(&self, method: &str) -> Vec<Value> {
        self.received()
            .into_iter()
            .filter(|message| message["method"] == method)
            .collect()
    }

    /// Returns the received calls of a tool.
    pub fn received_calls(&self, tool: &str) -> Vec<Value> {
        self.received_by_method("tools/call")
            .into_iter()
            .filter(|call| call["params"]["name"] == tool)
            .collect()
    }

    /// Returns the number of starts of the server.
    pub fn count_starts(&self) -> usize {
        self.received()
            .iter()
            .filter(|line| line["pid"].is_u64())
            .count()
    }
}
