//! Uses the entry of Drawbridge in a client's file as the client would: lists the tools, or calls
//! a tool.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use drawbridge_client_config::{FileState, Importer};
use drawbridge_jsonrpc::json;
use drawbridge_model::{
    capability::CapabilityKind,
    ids::{ClientName, ServerId},
    spec::ServerSpec,
};
use drawbridge_sessions::ClientScope;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::{Environment, find_file, find_kind, machine, managed_project};
use crate::{
    api::{ApiError, Verb, servers, tools},
    hub::Hub,
};

/// How long a call may take: longer than a call can wait for approval.
const CALL_TIMEOUT: Duration = Duration::from_secs(660);

/// The result of testing a client's entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConfigTestView {
    pub path: String,
    /// The command line or URL of the entry.
    pub command_or_url: String,
    /// The failure and its remedy; null if the tools could be listed.
    pub problem: Option<String>,
    /// The number of tools that the client would get.
    pub tools: u32,
    pub duration_ms: u32,
}

/// The result of a call of a tool through a client's entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ToolResultView {
    /// The text blocks of the result, and the types of all other blocks.
    pub text: String,
    /// Whether the tool or the call failed, or the call was denied.
    pub is_error: bool,
    pub duration_ms: u32,
}

/// `config.test`: uses the entry in a client's file as the client would, and lists the tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TestConfig {
    pub kind: String,
    /// As in `config.preview`.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// As in `config.preview`.
    #[serde(default)]
    pub project: Option<PathBuf>,
    #[serde(default)]
    pub environment: Environment,
}

/// `config.try_tool`: uses the entry in a client's file as the client would, and calls a tool.
/// The policy applies as for any call of this client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TryTool {
    pub kind: String,
    /// As in `config.preview`.
    #[serde(default)]
    pub path: Option<PathBuf>,
    pub server: ServerId,
    /// The server's own name of the tool.
    pub tool: String,
    /// A JSON object.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub arguments: serde_json::Value,
    #[serde(default)]
    pub environment: Environment,
}

impl Verb for TestConfig {
    type Answer = ConfigTestView;

    async fn run(self, hub: &Hub) -> Result<ConfigTestView, ApiError> {
        let entry = Entry::read(hub, &self.kind, self.path, self.project, &self.environment)?;
        let command_or_url = entry.command_or_url();
        let result = servers::verify_entry(hub, entry.spec).await;
        let path = entry.path.display().to_string();
        Ok(match result {
            Ok(verified) => ConfigTestView {
                path,
                command_or_url,
                problem: None,
                tools: u32::try_from(verified.tools.len()).unwrap_or(u32::MAX),
                duration_ms: verified.duration_ms,
            },
            Err(error) => ConfigTestView {
                path,
                command_or_url,
                problem: Some(error.message),
                tools: 0,
                duration_ms: 0,
            },
        })
    }
}

impl Verb for TryTool {
    type Answer = ToolResultView;

    async fn run(self, hub: &Hub) -> Result<ToolResultView, ApiError> {
        if !self.arguments.is_object() {
            return Err(ApiError::invalid("'arguments' must be a JSON object"));
        }
        let entry = Entry::read(hub, &self.kind, self.path, None, &self.environment)?;
        let view = hub.catalog.client_view(&entry.client, &ClientScope::ALL);
        let tool = view
            .entries(CapabilityKind::Tools)
            .iter()
            .find(|tool| tool.server.id == self.server && tool.definition.name == self.tool)
            .ok_or_else(|| {
                ApiError::not_found(format!(
                    "client '{}' does not see a tool '{}' of server '{}'",
                    entry.client, self.tool, self.server
                ))
            })?;
        let params = json::to_raw(&json!({
            "name": tool.exposed_name,
            "arguments": self.arguments,
        }));
        let started = Instant::now();
        let response =
            servers::request_entry(hub, entry.spec, "tools/call", &params, CALL_TIMEOUT).await?;
        let duration_ms = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
        let (text, is_error) = match response.into_result() {
            Ok(result) => {
                let result: serde_json::Value = serde_json::from_str(result.get())
                    .map_err(|e| ApiError::unavailable(format!("cannot read the result: {e}")))?;
                (tools::result_text(&result), result["isError"] == true)
            }
            Err(error) => (error.message, true),
        };
        Ok(ToolResultView {
            text,
            is_error,
            duration_ms,
        })
    }
}

/// The entry of Drawbridge in a client's file.
struct Entry {
    path: PathBuf,
    /// The name under which Drawbridge knows the client.
    client: ClientName,
    /// The entry as a spec, with the folder in which the client would start the command.
    spec: ServerSpec,
}

impl Entry {
    /// Reads the entry in the file that the parameters name. See [`find_file`].
    ///
    /// # Errors
    /// Returns an error if Drawbridge does not run, if there is no such kind of client or no such
    /// file, or if the file has no entry that can be read.
    fn read(
        hub: &Hub,
        kind: &str,
        path: Option<PathBuf>,
        project: Option<PathBuf>,
        environment: &Environment,
    ) -> Result<Self, ApiError> {
        if !hub.has_endpoint() {
            return Err(ApiError::unavailable(
                "Drawbridge does not run. Start it with `drawbridge` or `drawbridge serve`, and test again",
            ));
        }
        let kind = find_kind(kind)?;
        let machine = machine(environment)?;
        let project = project.or_else(|| managed_project(hub, path.as_deref()));
        let file = find_file(kind, &machine, path.as_ref(), project.as_ref())?;
        let connection = hub.client_connection(&ClientName::new(kind.id), None);
        let entry = match kind.inspect(&file, &connection, None) {
            FileState::Connected { entry } | FileState::Drifted { entry, .. } => entry,
            FileState::NotConnected => {
                return Err(ApiError::not_found(format!(
                    "{} has no entry of Drawbridge; connect the client first",
                    file.path.display()
                )));
            }
            FileState::Broken { reason } => {
                return Err(ApiError::conflict(format!(
                    "{}: {reason}",
                    file.path.display()
                )));
            }
        };
        let importer = Importer {
            machine: &machine,
            endpoint_url: &connection.url,
            registered: &BTreeMap::new(),
        };
        let mut spec = importer
            .read_entry(kind, &file.path, project.as_deref(), &entry)
            .map_err(|error| ApiError::invalid(format!("{}: {error}", file.path.display())))?;
        if spec.cwd.is_none() {
            let folder = project.as_ref().unwrap_or(&machine.home);
            spec.cwd = Some(folder.display().to_string());
        }
        let managed = hub.client_configs.managed(&file.path);
        Ok(Self {
            client: managed.map_or_else(|| ClientName::new(kind.id), |row| row.client),
            path: file.path,
            spec,
        })
    }

    fn command_or_url(&self) -> String {
        match (&self.spec.command, &self.spec.url) {
            (Some(command), _) => [command.as_str()]
                .into_iter()
                .chain(self.spec.args.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join(" "),
            (None, url) => url.clone().unwrap_or_default(),
        }
    }
}
