//! The reasons why a call of a Docling tool failed, and their remedies.

use std::{io, time::Duration};

use drawbridge_upstream::{
    UnreachableReason, UpstreamError,
    transport::process::{SpawnError, run::RunError},
};

use super::document::{FORMATS, MAX_MIB};

/// The reason why a call of a Docling tool failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoclingError {
    #[error("the arguments are invalid: {0}")]
    Arguments(#[from] serde_json::Error),
    #[error("'content' is not base64: {0}")]
    NotBase64(#[from] base64::DecodeError),
    #[error("'content' is empty")]
    Empty,
    #[error("the document has {size} bytes, and Docling gets at most {MAX_MIB} MiB")]
    TooLarge { size: usize },
    #[error("'file_name' must be the name of a file such as report.pdf, without folders")]
    FileName,
    #[error("Docling does not convert files that end with '.{0}'")]
    Format(String),
    #[error("Drawbridge does not know which client calls")]
    NoClient,
    #[error("a file or folder cannot be written or deleted: {0}")]
    Io(#[source] io::Error),
    #[error("Drawbridge is shutting down")]
    ShuttingDown,
    #[error("there is no server 'docling', which converts documents")]
    NotAdded,
    #[error("the spec file of the server 'docling', which converts documents, cannot be read: {0}")]
    Broken(String),
    #[error("the server 'docling', which converts documents, waits for acceptance")]
    NotAccepted,
    #[error("the server 'docling', which converts documents, is disabled")]
    Disabled,
    #[error("a rule denies this client the tool '{tool}' of the server 'docling': {rule}")]
    Denied { tool: &'static str, rule: String },
    #[error(
        "the tool '{0}' of the server 'docling' is new or has changed, and waits for acceptance"
    )]
    Withheld(&'static str),
    #[error("the server 'docling', which converts documents, cannot be used: {0}")]
    Server(#[from] UpstreamError),
    #[error("Docling did not convert the document: {reason}")]
    Conversion { reason: String },
    #[error("the server 'docling' sent an unexpected answer: {0}")]
    UnexpectedAnswer(String),
    #[error("the models with which Docling reads PDF files and images are not on the disk")]
    NoModels,
    #[error(
        "the server 'docling' converts with a Docling Serve instance, which has models of its own"
    )]
    RemoteModels,
    #[error(
        "the command of the server 'docling' does not start docling-mcp-server, so Drawbridge does not know how \
             to start Docling's program docling-tools"
    )]
    NoTools,
    #[error("another download of the models is in progress")]
    Downloading,
    #[error("Docling's program docling-tools did not download the models: {0}")]
    Download(#[from] RunError),
    #[error("the call took more than {} minutes", .0.as_secs() / 60)]
    TimedOut(Duration),
    #[error("the call was cancelled")]
    Cancelled,
}

impl DoclingError {
    /// Returns the remedy for a person or a model; empty if there is none.
    pub(crate) fn remedy(&self) -> String {
        match self {
            Self::Arguments(_)
            | Self::FileName
            | Self::NoClient
            | Self::ShuttingDown
            | Self::Cancelled => {
                String::new()
            }
            Self::NotBase64(_) | Self::Empty => {
                "Send the bytes of the document as base64 in 'content'.".into()
            }
            Self::TooLarge { .. } => "Split the document, or make it smaller.".into(),
            Self::Format(_) => format!("Docling converts these types: {}.", FORMATS.join(", ")),
            Self::Io(_) => "Check the free space and the permissions of Drawbridge's data folder.".into(),
            Self::NotAdded => {
                "Disable the server 'docling-tools' and enable it again. Drawbridge then adds 'docling'.".into()
            }
            Self::Broken(_) => "Repair or delete servers/docling.json in Drawbridge's data folder.".into(),
            Self::NotAccepted => {
                "Check what the server would start, then accept it: `drawbridge servers accept docling`.".into()
            }
            Self::Disabled => "Enable the server: `drawbridge servers enable docling`.".into(),
            Self::Denied { .. } => "The person who uses Drawbridge can change the rule.".into(),
            Self::Withheld(_) => "Accept the tool on the page of the server 'docling'.".into(),
            Self::Server(error) => server_remedy(error),
            Self::Conversion { reason } => conversion_remedy(reason).into(),
            Self::UnexpectedAnswer(_) => {
                "Check that the server's command starts docling-mcp-server, and see the server's log: `drawbridge logs --server docling`.".into()
            }
            Self::NoModels => "Call sync_docling_models to download the models (about 1 GB).".into(),
            Self::RemoteModels => "There is nothing to download.".into(),
            Self::NoTools => "Run Docling's program yourself: `docling-tools models download`.".into(),
            Self::Downloading => "Wait until that download has ended.".into(),
            Self::Download(RunError::Spawn(error)) => spawn_remedy(error).into(),
            Self::Download(_) => {
                "Check the network, the free space and the package of the server 'docling', then try again.".into()
            }
            Self::TimedOut(_) => "If the call converted a document, try a smaller document. Otherwise, try again later.".into(),
        }
    }

    /// Returns the error and its remedy as sentences.
    pub(crate) fn describe_with_remedy(&self) -> String {
        let text = self.to_string();
        let text = text.trim_end_matches('.');
        match self.remedy() {
            remedy if remedy.is_empty() => text.to_owned(),
            remedy => format!("{text}. {remedy}"),
        }
    }
}

fn server_remedy(error: &UpstreamError) -> String {
    find_spawn_error(error).map_or_else(|| error.remedy(), |error| spawn_remedy(error).into())
}

/// Returns the spawn error that caused an error, if any.
fn find_spawn_error(error: &UpstreamError) -> Option<&SpawnError> {
    let UpstreamError::Unreachable(reason) = error else {
        return None;
    };
    if let UnreachableReason::Spawn(error) = reason {
        return Some(error);
    }
    if let UnreachableReason::StartFailed(inner)
    | UnreachableReason::CrashedOften {
        last_error: inner, ..
    } = reason
    {
        return find_spawn_error(inner);
    }
    None
}

fn spawn_remedy(error: &SpawnError) -> &'static str {
    if let SpawnError::CommandNotFound { command, .. } = error
        && command == "uvx"
    {
        return "Install uv, which brings uvx: https://docs.astral.sh/uv/. uvx installs docling-mcp at the first start.";
    }
    "Install the program, or change the command of the server 'docling'."
}

/// Returns the remedy for a reason that Docling gave. docling-mcp has no codes for its errors, so
/// the remedy depends on the words of the reason. Nothing else depends on these words.
fn conversion_remedy(reason: &str) -> &'static str {
    let has = |words: &str| reason.contains(words);
    if has("DOCLING_MCP_SERVICE_URL") {
        "In the environment of the server 'docling', set DOCLING_MCP_SERVICE_URL to a Docling Serve instance, or \
         DOCLING_MCP_CONVERSION_MODE to local."
    } else if has("docling-mcp[local]") || has("No module named") {
        "The server's package lacks the local converter. Install docling-mcp[local] (the command that Drawbridge puts into the server's spec \
         does this), or set DOCLING_MCP_CONVERSION_MODE to remote and DOCLING_MCP_SERVICE_URL to a Docling Serve instance."
    } else if has("artifacts_path") || has("safetensors") || has("No such file or directory") {
        "If models are missing, call sync_docling_models to download them."
    } else if has("not allowed") || has("format") {
        "Check that the content is of the type that 'file_name' names."
    } else {
        "See the log of the server: `drawbridge logs --server docling`."
    }
}
