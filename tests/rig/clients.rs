//! Real clients: the official TypeScript and Python SDKs, each in a program of its own.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Home, mcp::join_text_blocks, paths, process::Process};

/// The timeout of a client. It is longer than the default timeout of an approval.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The SDK that a client uses.
#[derive(Debug, Clone, Copy)]
pub enum Sdk {
    TypeScript,
    Python,
}

/// The endpoint and the token with which a client connects.
#[derive(Debug, Clone)]
pub struct Endpoint {
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
    fn start(home: &Home, sdk: Sdk, endpoint: &Endpoint, job: &Value) -> Self {
        let (program, script) = match sdk {
            Sdk::TypeScript => (paths::find_program("node"), "client.mjs"),
            Sdk::Python => (paths::python_program(), "client.py"),
        };
        let mut command = home.command(program);
        command
            .arg(paths::pinned_packages_dir().join(script))
            .arg(job.to_string());
        command
            .env("MCP_URL", &endpoint.url)
            .env("MCP_TOKEN", &endpoint.token);
        Self {
            process: Process::start(home, script, &mut command),
        }
    }

    /// Returns the names of the tools that the client sees.
    #[track_caller]
    pub fn list_tools(home: &Home, sdk: Sdk, endpoint: &Endpoint) -> Vec<String> {
        let answer = Self::start(home, sdk, endpoint, &json!({"op": "list"})).read_output();
        let tools = answer["tools"]
            .as_array()
            .unwrap_or_else(|| panic!("no tools: {answer}"));
        tools
            .iter()
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect()
    }

    /// Begins a call, which may wait for a person.
    pub fn begin_call(
        home: &Home,
        sdk: Sdk,
        endpoint: &Endpoint,
        tool: &str,
        arguments: &Value,
    ) -> Self {
        Self::start(
            home,
            sdk,
            endpoint,
            &json!({"op": "call", "name": tool, "arguments": arguments}),
        )
    }

    /// Waits for the result of the call.
    #[track_caller]
    pub fn wait_for_result(self) -> ToolResult {
        let answer = self.read_output();
        ToolResult {
            is_error: answer["isError"].as_bool().unwrap_or(false),
            text: join_text_blocks(&answer),
        }
    }

    #[track_caller]
    fn read_output(mut self) -> Value {
        let (status, output) = self.process.wait_until_exit(TIMEOUT);
        assert!(
            status.success(),
            "the client failed ({status}): {output}\n{}",
            self.process.stderr()
        );
        let last_line = output.lines().last().unwrap_or_default();
        serde_json::from_str(last_line)
            .unwrap_or_else(|e| panic!("the client printed no JSON ({e}): {output}"))
    }
}
