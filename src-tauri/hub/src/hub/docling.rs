//! The server `docling`, which the built-in server `docling-tools` uses: keeps its spec up to date,
//! converts documents with the server, and downloads the models that the server needs.

mod conversion_log;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use drawbridge_jsonrpc::{json, rpc::RpcResponse};
use drawbridge_model::{
    acceptance::AcceptanceState,
    builtin::BuiltIn,
    clock,
    ids::{ClientName, Timestamp},
    spec::{RegisteredServer, ServerSpec},
    tool::Annotations,
};
use drawbridge_store::logs::LogFilter;
use drawbridge_upstream::{
    Lease, ServerRequest, ServerSession,
    transport::process::run::{RunLimits, run_with_limits},
};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::sleep};

use super::{Hub, spec_record::ChangedBy};
use crate::{
    builtin::{CONVERSION_TIMEOUT, DoclingError, DocumentConverter, DocumentOutput},
    policy::MatchInput,
    registry::{BrokenFile, RegistryError, docling_spec},
};

const CONVERT: &str = "convert_document_into_docling_document";
const EXPORT: &str = "export_docling_document_to_markdown";
const REMOVE: &str = "remove_document_from_local_cache";

/// The name of a file in the models' folder that exists from the start of a download until the
/// download has succeeded.
const INCOMPLETE: &str = ".incomplete";
/// The maximum output of the program `docling-tools`, in bytes.
const MAX_TOOLS_OUTPUT: usize = 1024 * 1024;
/// How long to wait until the log has the reason for a failed conversion. The log of a server is
/// written concurrently, so the reason may arrive after the server's answer.
const LOG_WAIT: Duration = Duration::from_secs(1);
const LOG_INTERVAL: Duration = Duration::from_millis(50);
const MAX_LOG_LINES: usize = 500;

/// The server `docling` and its folder.
pub(crate) struct Docling {
    folder: PathBuf,
    hub: OnceLock<Weak<Hub>>,
    /// Allows one conversion at a time, because a conversion takes much memory.
    conversions: Semaphore,
    downloads: Semaphore,
}

/// The result of a tool of docling-mcp.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult {
    #[serde(default)]
    content: Vec<ContentText>,
    #[serde(default)]
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct ContentText {
    #[serde(default)]
    text: String,
}

impl Docling {
    /// Returns the server with its folder, which has the models and the documents that are being
    /// converted. Only Drawbridge and the server use this folder.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            hub: OnceLock::new(),
            conversions: Semaphore::new(1),
            downloads: Semaphore::new(1),
        }
    }

    /// Sets the hub that owns this value.
    pub(super) fn attach(&self, hub: &Arc<Hub>) {
        let _ = self.hub.set(Arc::downgrade(hub));
    }

    fn hub(&self) -> Result<Arc<Hub>, DoclingError> {
        let hub = self.hub.get().and_then(Weak::upgrade);
        hub.ok_or(DoclingError::ShuttingDown)
    }

    /// Returns the folder for Docling's models that Drawbridge puts into a new spec.
    fn own_models(&self) -> PathBuf {
        self.folder.join("models")
    }

    /// Removes the documents that a crash left behind. If `docling-tools` is enabled, adds the
    /// server `docling` if it is missing, and raises an old version of its package.
    pub(super) async fn keep_up_to_date(&self) {
        if let Err(error) = fs::remove_dir_all(self.inbox())
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("cannot remove earlier documents of Docling: {error}");
        }
        let Ok(hub) = self.hub() else { return };
        let docling_tools = hub.registry.get_runnable(&BuiltIn::Docling.id());
        if docling_tools.is_ok()
            && let Err(error) = self.update_spec(&hub, ChangedBy::Drawbridge).await
        {
            tracing::warn!("cannot keep the server 'docling' up to date: {error}");
        }
    }

    /// Enables or disables the server `docling` together with `docling-tools`. Adds the server if
    /// `enabled` is true and the server is missing. Does not change a server that nobody has
    /// accepted, or whose command a person wrote.
    ///
    /// # Errors
    /// Returns an error if the spec cannot be written.
    pub(super) async fn switch_server(&self, enabled: bool) -> Result<(), RegistryError> {
        let Ok(hub) = self.hub() else { return Ok(()) };
        let id = docling_spec::id();
        if enabled {
            self.update_spec(&hub, ChangedBy::Person).await?;
        }
        if let Ok(server) = hub.registry.get(&id)
            && docling_spec::is_own_command(&server.spec)
            && hub.registry.acceptance(&server) == AcceptanceState::Accepted
            && server.spec.enabled != enabled
        {
            let spec = ServerSpec {
                enabled,
                ..server.spec.clone()
            };
            write_spec(&hub, ChangedBy::Person, &spec).await?;
        }
        if hub.registry.get_runnable(&id).is_ok() && hub.has_endpoint() {
            hub.catalog.start_sync(id);
        }
        Ok(())
    }

    async fn update_spec(&self, hub: &Hub, by: ChangedBy) -> Result<(), RegistryError> {
        if let Err(error) = create_folder(&self.own_models()) {
            tracing::warn!("cannot create the folder of Docling's models: {error}");
        }
        let spec = match hub.registry.get(&docling_spec::id()) {
            Ok(server) if hub.registry.acceptance(&server) == AcceptanceState::Accepted => {
                docling_spec::raise_version(&server.spec)
            }
            // A spec that nobody has accepted stays as it is.
            Ok(_) => None,
            Err(_) if find_broken_message(hub).is_some() => None,
            Err(_) => Some(docling_spec::new_spec(&self.own_models())),
        };
        match spec {
            Some(spec) => write_spec(hub, by, &spec).await,
            None => Ok(()),
        }
    }

    /// Returns the reason why the Docling tools cannot convert any document, if the reason is known
    /// without a conversion.
    pub(crate) fn find_problem(&self, hub: &Hub) -> Option<DoclingError> {
        let server = match find_server(hub) {
            Ok(server) => server,
            Err(error) => return Some(error),
        };
        let failure = hub
            .pool
            .status(&server.id)
            .and_then(|status| status.failure);
        failure.map(DoclingError::Server)
    }

    /// Returns whether the server uses the models' folder that Drawbridge chose, and that folder
    /// lacks models.
    pub(crate) fn lacks_models(&self, hub: &Hub) -> bool {
        find_server(hub).is_ok_and(|server| self.lacks_models_of(&server.spec))
    }

    fn lacks_models_of(&self, spec: &ServerSpec) -> bool {
        let folder = self.own_models();
        let is_used = docling_spec::is_local(spec)
            && docling_spec::models_folder(spec) == Some(folder.clone());
        is_used && (folder.join(INCOMPLETE).exists() || is_empty(&folder))
    }

    async fn convert_file(
        &self,
        client: &ClientName,
        file: &Path,
        needs_models: bool,
        output: DocumentOutput,
    ) -> Result<String, DoclingError> {
        let hub = self.hub()?;
        let _slot = self
            .conversions
            .acquire()
            .await
            .map_err(|_| DoclingError::ShuttingDown)?;
        let server = find_server(&hub)?;
        if needs_models && self.lacks_models_of(&server.spec) {
            return Err(DoclingError::NoModels);
        }
        let source = json!({ "source": file.to_string_lossy() });
        check_permitted(&hub, client, &server, CONVERT, &source)?;
        if output == DocumentOutput::Markdown {
            // The key of the document is not known yet. This check avoids a conversion whose
            // result the client could not get.
            for tool in [EXPORT, REMOVE] {
                check_permitted(&hub, client, &server, tool, &json!({}))?;
            }
        }
        let session = hub.pool.session(&server, Some(client));
        let key = match call_tool(&session, CONVERT, &source).await? {
            Ok(result) => read_member(&result, "document_key")?,
            Err(failure) => {
                let reason = read_reason(&hub, failure.began, failure.text).await;
                return Err(DoclingError::Conversion { reason });
            }
        };
        match output {
            DocumentOutput::DocumentKey => Ok(json!({ "document_key": key }).to_string()),
            DocumentOutput::Markdown => {
                // This task removes the document even if the client cancels its call.
                let export = export_and_remove(hub, client.clone(), server, session, key);
                tokio::spawn(export)
                    .await
                    .unwrap_or(Err(DoclingError::ShuttingDown))
            }
        }
    }

    async fn run_download(&self, client: &ClientName, force: bool) -> Result<(), DoclingError> {
        let hub = self.hub()?;
        let server = find_server(&hub)?;
        check_permitted(&hub, client, &server, CONVERT, &json!({}))?;
        let spec = &server.spec;
        if !docling_spec::is_local(spec) {
            return Err(DoclingError::RemoteModels);
        }
        let (program, mut args) = docling_spec::tools_command(spec).ok_or(DoclingError::NoTools)?;
        let _slot = self
            .downloads
            .try_acquire()
            .map_err(|_| DoclingError::Downloading)?;
        args.extend(["models", "download"].map(String::from));
        let folder = docling_spec::models_folder(spec);
        if let Some(folder) = &folder {
            args.extend(["--output-dir".into(), folder.to_string_lossy().into_owned()]);
            create_folder(folder).map_err(DoclingError::Io)?;
            fs::write(folder.join(INCOMPLETE), "").map_err(DoclingError::Io)?;
        }
        if force {
            args.push("--force".into());
        }
        let command = spec.command.as_deref().unwrap_or_default();
        let mut launch = hub
            .pool
            .connector()
            .prepare_launch(&server, command)
            .await?;
        launch.command = program;
        launch.args = args;
        // Progress bars are written many times a second, and nobody reads them here.
        let without_bars = ("HF_HUB_DISABLE_PROGRESS_BARS".into(), "1".into());
        launch.env.extend([without_bars]);
        let limits = RunLimits {
            timeout: CONVERSION_TIMEOUT,
            max_output: MAX_TOOLS_OUTPUT,
        };
        run_with_limits(&launch, &hub.guard, b"", limits).await?;
        if let Some(folder) = folder {
            fs::remove_file(folder.join(INCOMPLETE)).map_err(DoclingError::Io)?;
        }
        Ok(())
    }
}

impl DocumentConverter for Docling {
    fn inbox(&self) -> PathBuf {
        self.folder.join("inbox")
    }

    fn convert<'a>(
        &'a self,
        client: &'a ClientName,
        file: &'a Path,
        needs_models: bool,
        output: DocumentOutput,
    ) -> BoxFuture<'a, Result<String, DoclingError>> {
        Box::pin(self.convert_file(client, file, needs_models, output))
    }

    fn download_models<'a>(
        &'a self,
        client: &'a ClientName,
        force: bool,
    ) -> BoxFuture<'a, Result<(), DoclingError>> {
        Box::pin(self.run_download(client, force))
    }

    fn models_size(&self) -> u64 {
        let spec = self.hub().and_then(|hub| find_server(&hub));
        let folder = spec
            .ok()
            .and_then(|server| docling_spec::models_folder(&server.spec));
        folder_size(&folder.unwrap_or_else(|| self.own_models()))
    }
}

/// An error that a tool of docling-mcp, or the server, answered to a call.
struct ToolFailure {
    /// When the call began.
    began: Timestamp,
    text: String,
}

/// Writes the spec, and records it as accepted with the secrets that were granted before.
async fn write_spec(hub: &Hub, by: ChangedBy, spec: &ServerSpec) -> Result<(), RegistryError> {
    let id = docling_spec::id();
    let granted = hub.registry.granted_secrets(&id);
    hub.write_spec_for(by, &id, spec, Some(granted.into()))
        .await?;
    Ok(())
}

/// Returns why the spec file of the server `docling` cannot be read, or `None` if the file can be
/// read or does not exist.
fn find_broken_message(hub: &Hub) -> Option<String> {
    let id = docling_spec::id();
    let specs = hub.registry.specs();
    let is_docling = |broken: &&BrokenFile| broken.id().is_some_and(|broken_id| broken_id == id);
    let broken = specs.broken.iter().find(is_docling)?;
    Some(broken.message.clone())
}

/// Returns the server `docling`, or an error that says why it may not run.
fn find_server(hub: &Hub) -> Result<Arc<RegisteredServer>, DoclingError> {
    let Ok(server) = hub.registry.get(&docling_spec::id()) else {
        return Err(find_broken_message(hub).map_or(DoclingError::NotAdded, DoclingError::Broken));
    };
    if !server.spec.enabled {
        return Err(DoclingError::Disabled);
    }
    match hub.registry.acceptance(&server) {
        AcceptanceState::Accepted => Ok(server),
        AcceptanceState::New | AcceptanceState::Changed => Err(DoclingError::NotAccepted),
    }
}

/// Returns a converted document as Markdown, and removes it from the server. The document belongs
/// to one client, and other clients could list it if the server kept it.
async fn export_and_remove(
    hub: Arc<Hub>,
    client: ClientName,
    server: Arc<RegisteredServer>,
    session: Lease,
    key: String,
) -> Result<String, DoclingError> {
    let document = json!({ "document_key": key });
    check_permitted(&hub, &client, &server, REMOVE, &document)?;
    let exported = match check_permitted(&hub, &client, &server, EXPORT, &document) {
        Ok(()) => call_tool(&session, EXPORT, &document).await,
        Err(denied) => Err(denied),
    };
    let _ = call_tool(&session, REMOVE, &document).await;
    let exported = exported?.map_err(|failure| DoclingError::Conversion {
        reason: failure.text,
    })?;
    read_member(&exported, "markdown")
}

/// Checks that no rule denies the client this tool of the server, and that the tool's definition is
/// accepted. `docling-tools` must not bypass either condition.
fn check_permitted(
    hub: &Hub,
    client: &ClientName,
    server: &RegisteredServer,
    tool: &'static str,
    arguments: &Value,
) -> Result<(), DoclingError> {
    let arguments = json::to_raw(arguments);
    let copy = hub.catalog.copy(&server.id);
    let definition = copy.tools().iter().find(|offered| offered.name == tool);
    let input = MatchInput {
        annotations: definition.map_or(&Annotations::NONE, |definition| &definition.annotations),
        ..MatchInput::of_tool(client, server, tool, &arguments)
    };
    if let Some(ruling) = hub.rules.find_denial(&input) {
        let rule = ruling.reason;
        return Err(DoclingError::Denied { tool, rule });
    }
    let unaccepted = hub.catalog.unaccepted(&server.id);
    if unaccepted
        .iter()
        .any(|(_, definition)| definition.name == tool)
    {
        return Err(DoclingError::Withheld(tool));
    }
    Ok(())
}

/// Calls a tool of docling-mcp. The inner error is the error that the tool or the server answered.
/// The outer error means that there is no usable answer.
async fn call_tool(
    session: &Arc<ServerSession>,
    tool: &str,
    arguments: &Value,
) -> Result<Result<ToolResult, ToolFailure>, DoclingError> {
    let began = clock::now();
    let params = json::to_raw(&json!({ "name": tool, "arguments": arguments }));
    let request = ServerRequest::new("tools/call", Some(&params), CONVERSION_TIMEOUT);
    let text = match session.request(request).await? {
        RpcResponse::Error(error) => error.message,
        RpcResponse::Result(result) => {
            let result: ToolResult = serde_json::from_str(result.get())
                .map_err(|error| DoclingError::UnexpectedAnswer(error.to_string()))?;
            if !result.is_error {
                return Ok(Ok(result));
            }
            let texts: Vec<_> = result
                .content
                .into_iter()
                .map(|content| content.text)
                .collect();
            texts.join("\n")
        }
    };
    Ok(Err(ToolFailure { began, text }))
}

/// Returns a string member of a tool's structured content, or else of the JSON in its first text.
fn read_member(result: &ToolResult, name: &str) -> Result<String, DoclingError> {
    let from_text = || {
        let text = &result.content.first()?.text;
        serde_json::from_str::<Value>(text).ok()
    };
    let value = result.structured_content.clone().or_else(from_text);
    let member = value.as_ref().and_then(|value| value[name].as_str());
    member
        .map(str::to_owned)
        .ok_or_else(|| DoclingError::UnexpectedAnswer(format!("its result has no '{name}'")))
}

/// Returns why a conversion failed. docling-mcp answers only that its tool failed, and writes the
/// reason to its log. Returns `text`, the answer, if the log has no reason.
async fn read_reason(hub: &Hub, began: Timestamp, text: String) -> String {
    let mut waited = Duration::ZERO;
    loop {
        let filter = LogFilter {
            server: Some(docling_spec::id()),
            since: Some(began),
            limit: MAX_LOG_LINES,
            ..LogFilter::default()
        };
        let lines = hub.logs.read(filter).await;
        let lines: Vec<_> = lines.iter().map(|line| line.text.as_str()).collect();
        if conversion_log::has_framework_error(&lines) || waited >= LOG_WAIT {
            return conversion_log::find_reason(&lines).unwrap_or(text);
        }
        sleep(LOG_INTERVAL).await;
        waited += LOG_INTERVAL;
    }
}

fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// Returns the size of the files in a folder; links are not followed.
fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_size(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
