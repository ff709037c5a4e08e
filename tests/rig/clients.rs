//! Real clients: the official TypeScript and Python SDKs, each in a program of its own.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Home, mcp::text_of, places, process::Process};

/// Longer than an approval may wait.
const BOUND: Duration = Duration::from_secs(90);

/// The SDK that a client uses.
#[derive(Debug, Clone, Copy)]
pub enum Sdk {
    TypeScript,
    Python,
}

/// The endpoint and the token that a client connects with.
#[derive(Debug, Clone)]
pub struct Door {
    pub url: String,
    pub token: String,
}

/// A running client.
pub struct Client {
    process: Process,
}

/// The result of a tool call, as the client received it.
#[derive(Debug, Clone)]
pub struct ToolResult {
    pub is_error: bool,
    pub text: String,
}

impl Client {
    fn start(home: &Home, sdk: Sdk, door: &Door, job: &Value) -> Self {
        let (program, script) = match sdk {
            Sdk::TypeScript => (places::program("node"), "client.mjs"),
            Sdk::Python => (places::python(), "client.py"),
        };
        let mut command = home.command(program);
        command
            .arg(places::real().join(script))
            .arg(job.to_string());
        command
            .env("MCP_URL", &door.url)
            .env("MCP_TOKEN", &door.token);
        Self {
            process: Process::start(home, script, &mut command),
        }
    }

    /// Returns the names of the tools that the client sees.
    #[track_caller]
    pub fn tools(home: &Home, sdk: Sdk, door: &Door) -> Vec<String> {
        let answer = Self::start(home, sdk, door, &json!({"op": "list"})).answer();
        let tools = answer["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("no tools: {answer}"));
        tools
            .iter()
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// Begins a call, which may wait for a person.
    pub fn call(home: &Home, sdk: Sdk, door: &Door, tool: &str, arguments: &Value) -> Self {
        Self::start(
            home,
            sdk,
            door,
            &json!({"op": "call", "name": tool, "arguments": arguments}),
        )
    }

    /// Waits for the result of the call.
    #[track_caller]
    pub fn result(self) -> ToolResult {
        let answer = self.answer();
        ToolResult {
            is_error: answer["isError"].as_bool().unwrap_or(false),
            text: text_of(&answer),
        }
    }

    #[track_caller]
    fn answer(mut self) -> Value {
        let (status, printed) = self.process.finish(BOUND);
        assert!(
            status.success(),
            "the client failed ({status}): {printed}\n{}",
            self.process.stderr()
        );
        let last = printed.lines().last().unwrap_or_default();
        serde_json::from_str(last)
            .unwrap_or_else(|e| panic!("the client printed no JSON ({e}): {printed}"))
    }
}
