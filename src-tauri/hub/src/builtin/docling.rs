//! The Docling tools: a client sends a document as base64 and gets its text, without sharing a file
//! system with the hub.
//!
//! The document is converted by the server `docling`, which has a spec file like any other server.
//! The tools reach that server through [`DocumentConverter`], because this module does not depend
//! on the registry and the sessions.

mod document;
mod error;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use drawbridge_model::{ids::ClientName, spec::Isolation};
use futures_util::future::BoxFuture;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
        ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::{Instant, interval_at};

use super::BuiltInSpec;
use document::{Document, FORMATS, MAX_MIB};
pub(crate) use error::DoclingError;

/// The timeout of a conversion or a download.
pub(crate) const CONVERSION_TIMEOUT: Duration = Duration::from_secs(1_800);
/// The timeout of a call of these tools: longer than [`CONVERSION_TIMEOUT`], so that the tool can
/// report its own timeout.
const CALL_TIMEOUT_MS: u32 = 1_830_000;

pub(super) const SPEC: BuiltInSpec = BuiltInSpec {
    name: "Docling tools",
    // Each client has its own instance, because the rules for the client also apply when these
    // tools call the server `docling`.
    isolation: Isolation::PerClient,
    call_timeout_ms: Some(CALL_TIMEOUT_MS),
};

const CONVERT: &str = "convert_document_from_content";
const SYNC_MODELS: &str = "sync_docling_models";

/// The interval of progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Converts documents with the server `docling`.
pub(crate) trait DocumentConverter: Send + Sync {
    /// Returns the folder that holds documents during their conversion.
    fn inbox(&self) -> PathBuf;

    /// Converts a file for a client. `needs_models` is true if Docling needs its models for this
    /// type of file.
    fn convert<'a>(
        &'a self,
        client: &'a ClientName,
        file: &'a Path,
        needs_models: bool,
        output: DocumentOutput,
    ) -> BoxFuture<'a, Result<String, DoclingError>>;

    /// Downloads the missing models, or all models if `force` is set.
    fn download_models<'a>(
        &'a self,
        client: &'a ClientName,
        force: bool,
    ) -> BoxFuture<'a, Result<(), DoclingError>>;

    /// Returns the size of the models on the disk, in bytes. Blocks.
    fn models_size(&self) -> u64;
}

/// The form in which a client gets a converted document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DocumentOutput {
    #[default]
    Markdown,
    /// A key. The document stays in the server `docling`, whose tools find it by the key.
    DocumentKey,
}

/// The Docling tools of one client.
pub(super) struct DoclingServer {
    converter: Arc<dyn DocumentConverter>,
    client: Option<ClientName>,
}

/// The arguments of `convert_document_from_content`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConvertArguments {
    content: String,
    file_name: String,
    #[serde(default)]
    output_format: DocumentOutput,
}

/// The arguments of `sync_docling_models`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SyncArguments {
    #[serde(default)]
    force: bool,
}

impl DoclingServer {
    pub(super) fn new(converter: Arc<dyn DocumentConverter>, client: Option<ClientName>) -> Self {
        Self { converter, client }
    }

    fn client(&self) -> Result<&ClientName, DoclingError> {
        self.client.as_ref().ok_or(DoclingError::NoClient)
    }

    async fn convert(
        &self,
        arguments: ConvertArguments,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, DoclingError> {
        let client = self.client()?;
        let ConvertArguments {
            content,
            file_name,
            output_format,
        } = arguments;
        let document = Document::decode(&content, &file_name)?;
        drop(content);
        let needs_models = document.needs_models();
        let file = document.store(self.converter.inbox()).await?;
        let work = self
            .converter
            .convert(client, file.path(), needs_models, output_format);
        let message = |elapsed: u64| {
            let text = format!("Converting {file_name} ({elapsed} s)");
            Box::pin(async { text }) as BoxFuture<'static, String>
        };
        let text = run_with_progress(context, message, work).await?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }

    async fn sync_models(
        &self,
        arguments: &SyncArguments,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, DoclingError> {
        let client = self.client()?;
        let work = self.converter.download_models(client, arguments.force);
        let message = |elapsed: u64| {
            let size = models_mib(self.converter.clone());
            Box::pin(async move {
                let size = size.await;
                format!("Downloading the models: {size} MiB on the disk ({elapsed} s)")
            }) as BoxFuture<'static, String>
        };
        run_with_progress(context, message, work).await?;
        let size = models_mib(self.converter.clone()).await;
        let text = format!("Docling's models are on the disk ({size} MiB).");
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }
}

/// Returns the size of the models on the disk, in MiB.
async fn models_mib(converter: Arc<dyn DocumentConverter>) -> u64 {
    let size = tokio::task::spawn_blocking(move || converter.models_size()).await;
    size.unwrap_or_default() / (1024 * 1024)
}

/// Runs `work` until it ends, the client cancels the call, or [`CONVERSION_TIMEOUT`] has passed.
/// Reports progress to a client that asked for it. `message` gets the seconds since the start.
async fn run_with_progress<T>(
    context: &RequestContext<RoleServer>,
    message: impl Fn(u64) -> BoxFuture<'static, String>,
    work: BoxFuture<'_, Result<T, DoclingError>>,
) -> Result<T, DoclingError> {
    let began = Instant::now();
    let report = async {
        let Some(token) = context.meta.get_progress_token() else {
            return std::future::pending().await;
        };
        let mut ticks = interval_at(began + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
        let mut step = 0.0;
        loop {
            ticks.tick().await;
            step += 1.0;
            let text = message(began.elapsed().as_secs()).await;
            let progress = ProgressNotificationParam::new(token.clone(), step).with_message(text);
            let _ = context.peer.notify_progress(progress).await;
        }
    };
    tokio::select! {
        biased;
        () = context.ct.cancelled() => Err(DoclingError::Cancelled),
        result = tokio::time::timeout(CONVERSION_TIMEOUT, work) => {
            result.unwrap_or(Err(DoclingError::TimedOut(CONVERSION_TIMEOUT)))
        }
        () = report => unreachable!("reporting never ends"),
    }
}

fn read_arguments<T: DeserializeOwned>(arguments: Option<JsonObject>) -> Result<T, DoclingError> {
    Ok(serde_json::from_value(Value::Object(
        arguments.unwrap_or_default(),
    ))?)
}

impl ServerHandler for DoclingServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(
            "drawbridge-docling",
            env!("CARGO_PKG_VERSION"),
        ))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments;
        let answered = match &*request.name {
            CONVERT => match read_arguments(arguments) {
                Ok(arguments) => self.convert(arguments, &context).await,
                Err(error) => Err(error),
            },
            SYNC_MODELS => match read_arguments(arguments) {
                Ok(arguments) => self.sync_models(&arguments, &context).await,
                Err(error) => Err(error),
            },
            other => {
                let message = format!("there is no tool '{other}'");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let result = answered.unwrap_or_else(|error| {
            let text = error.describe_with_remedy();
            CallToolResult::error(vec![ContentBlock::text(text)])
        });
        Ok(result.into())
    }
}

fn tools() -> Vec<Tool> {
    let convert = Tool::new(
        CONVERT,
        "Converts a document, which is sent as base64, into Markdown. The server 'docling' \
         converts it: on this computer, or with a Docling Serve instance if its environment names \
         one. The document is written to a private temporary file, which is removed after the \
         conversion.",
        object_schema(
            &json!({
                "content": {
                    "type": "string",
                    "minLength": 1,
                    "description": format!("The document as base64, at most {MAX_MIB} MiB before the encoding"),
                },
                "file_name": {
                    "type": "string",
                    "minLength": 1,
                    "description": format!(
                        "The name of the document, without folders. Its extension is the type: {}",
                        FORMATS.join(", ")
                    ),
                },
                "output_format": {
                    "enum": ["markdown", "document_key"],
                    "default": "markdown",
                    "description": "markdown returns the text; document_key leaves the document in the server \
                         'docling', and returns the key by which its tools know it",
                },
            }),
            &["content", "file_name"],
        ),
    )
    .with_title("Convert a document")
    // No title; not read-only, not destructive, idempotent, not open-world.
    .with_annotations(ToolAnnotations::from_raw(
        None,
        Some(false),
        Some(false),
        Some(true),
        Some(false),
    ));
    let sync = Tool::new(
        SYNC_MODELS,
        "Downloads the models with which Docling reads PDF files and images (about 1 GB), with Docling's own \
         program. Models that are on the disk are downloaded again only if 'force' is true.",
        object_schema(
            &json!({
                "force": {
                    "type": "boolean",
                    "default": false,
                    "description": "Whether to download all models again",
                },
            }),
            &[],
        ),
    )
    .with_title("Download Docling's models")
    // As above, but open-world, because the models are downloaded.
    .with_annotations(ToolAnnotations::from_raw(
        None,
        Some(false),
        Some(false),
        Some(true),
        Some(true),
    ));
    vec![convert, sync]
}

fn object_schema(properties: &Value, required: &[&str]) -> JsonObject {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let Value::Object(schema) = schema else {
        unreachable!("the macro makes an object")
    };
    schema
}
