//! The fixture server that goes wrong on request, behind a hub.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{Hub, places, process::Running};

/// One of them.
pub struct Faulty<'a> {
    hub: &'a Hub<'a>,
    pub name: String,
    heard: PathBuf,
}

impl<'a> Faulty<'a> {
    /// Adds it under that name. Its tools are read once it is `synced`; to call them is allowed.
    #[track_caller]
    pub fn add(hub: &'a Hub<'a>, name: &str, timeouts: &Value, options: &[&str]) -> Self {
        Self::add_behind(hub, name, timeouts, &[], options)
    }

    /// The same, started by another command, which ends with becoming it.
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

    /// Once its tools are known.
    #[track_caller]
    pub fn synced(self) -> Self {
        self.hub.until_synced(&self.name);
        self
    }

    /// The name of a tool at the door.
    pub fn tool(&self, name: &str) -> String {
        format!("{}__{name}", self.name)
    }

    /// What a person sees of it.
    #[track_caller]
    pub fn seen(&self) -> Value {
        self.hub.server(&self.name)
    }

    /// What is left of it, and of what it started.
    pub fn processes(&self) -> usize {
        let file = places::text(&self.heard);
        let is_of_it = |process: &&Running| {
            process.command.contains(&file)
                || process.variable("FAULTY_CHILD_OF") == Some(file.as_str())
        };
        self.hub.home.servers().iter().filter(is_of_it).count()
    }

    /// What it received, over all its starts.
    pub fn heard(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.heard).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into()))
            .collect()
    }

    /// The messages of that method that it received.
    pub fn heard_of(&self, method: &str) -> Vec<Value> {
        self.heard()
            .into_iter()
            .filter(|message| message["method"] == method)
            .collect()
    }

    /// The calls of a tool that it received.
    pub fn calls(&self, tool: &str) -> Vec<Value> {
        self.heard_of("tools/call")
            .into_iter()
            .filter(|call| call["params"]["name"] == tool)
            .collect()
    }

    /// How often it was started.
    pub fn starts(&self) -> usize {
        self.heard()
            .iter()
            .filter(|line| line["pid"].is_u64())
            .count()
    }
}
