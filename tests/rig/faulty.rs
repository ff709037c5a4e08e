//! The fixture server that misbehaves on request, behind a hub.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{Hub, places, process::Running};

/// A faulty server.
pub struct Faulty<'a> {
    hub: &'a Hub<'a>,
    pub name: String,
    heard: PathBuf,
}

impl<'a> Faulty<'a> {
    /// Adds a faulty server under this name and allows calls of its tools. The tools are known only
    /// after [`Faulty::synced`].
    #[track_caller]
    pub fn add(hub: &'a Hub<'a>, name: &str, timeouts: &Value, options: &[&str]) -> Self {
        Self::add_behind(hub, name, timeouts, &[], options)
    }

    /// Like [`Faulty::add`], but started through the command `starter`, which finally execs the
    /// server.
    #[track_caller]
    pub fn add_behind(
        hub: &'a Hub<'a>,
        name: &str,
        timeouts: &Value,
        starter: &[&str],
        options: &[&str],
    ) -> Self {
        let heard = hub.home.file(&format!("{name}.heard"));
        let (program, file) = (
            places::text(places::built("upstream-faulty")),
            places::text(&heard),
        );
        let command = [
            starter,
            &[program.as_str(), "--heard", file.as_str()],
            options,
        ]
        .concat();
        let spec = json!({"name": name, "command": command[0], "args": command[1..], "timeouts": timeouts});
        hub.verb("servers.add", &json!({"spec": spec}));
        hub.policy(name, "allow");
        Self {
            hub,
            name: name.to_owned(),
            heard,
        }
    }

    /// Waits until the tools of the server are known.
    #[track_caller]
    pub fn synced(self) -> Self {
        self.hub.until_synced(&self.name);
        self
    }

    /// Returns the exposed name of a tool.
    pub fn tool(&self, name: &str) -> String {
        format!("{}__{name}", self.name)
    }

    /// Returns the server as `drawbridge servers show` reports it.
    #[track_caller]
    pub fn seen(&self) -> Value {
        self.hub.server(&self.name)
    }

    /// Returns how many processes of the server, and of its children, are left.
    pub fn processes(&self) -> usize {
        let file = places::text(&self.heard);
        let is_of_it = |process: &&Running| {
            process.command.contains(&file)
                || process.variable("FAULTY_CHILD_OF") == Some(file.as_str())
        };
        self.hub.home.servers().iter().filter(is_of_it).count()
    }

    /// Returns the messages that the server received in all its runs.
    pub fn heard(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.heard).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into()))
            .collect()
    }

    /// Returns the received messages with this method.
    pub fn heard_of(&self, method: &str) -> Vec<Value> {
        self.heard()
            .into_iter()
            .filter(|message| message["method"] == method)
            .collect()
    }

    /// Returns the received calls of a tool.
    pub fn calls(&self, tool: &str) -> Vec<Value> {
        self.heard_of("tools/call")
            .into_iter()
            .filter(|call| call["params"]["name"] == tool)
            .collect()
    }

    /// Returns how often the server was started.
    pub fn starts(&self) -> usize {
        self.heard()
            .iter()
            .filter(|line| line["pid"].is_u64())
            .count()
    }
}
