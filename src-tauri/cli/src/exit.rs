//! Exit codes: 0, or 1 with one line on stderr. (Clap exits with 2 on wrong usage.)

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use drawbridge_endpoint::{ServeError, WeakAdminToken, admin_token::AdminTokenError};
use drawbridge_hub::api::ApiError;
use drawbridge_model::ids::ServerId;
use drawbridge_store::backup::BackupError;

use crate::{spec_fields::FieldError, text::escape};

/// The reason why a command ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The reader of stdout has closed the pipe. The command ends successfully.
    #[error("the reader of the output has closed the pipe")]
    BrokenPipe,
    /// The hub refused or failed to run a verb.
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    AdminToken(#[from] AdminTokenError),
    #[error(transparent)]
    WeakAdminToken(#[from] WeakAdminToken),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("cannot set {setting}: {reason}")]
    SettingValue { setting: String, reason: String },
    #[error("cannot read or write: {0}")]
    Io(#[source] io::Error),
    #[error("cannot read or write JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("cannot write CSV: {0}")]
    Csv(#[source] csv::Error),
    #[error("cannot read '{}': {source}", file.display())]
    ReadFile { file: PathBuf, source: io::Error },
    #[error("cannot create '{}': {source}", file.display())]
    CreateFile { file: PathBuf, source: io::Error },
    #[error("cannot start '{}': {source}", program.display())]
    StartProgram { program: PathBuf, source: io::Error },
    #[error(
        "no hub is running for '{}'. Start Drawbridge, or run `drawbridge serve`.",
        data_dir.display()
    )]
    NoHub { data_dir: PathBuf },
    #[error("cannot start the hub: {source}")]
    StartHub { source: io::Error },
    #[error("the hub did not start in time. Run `drawbridge serve` to see why.")]
    HubNotReady,
    #[error("the hub has stopped. Start Drawbridge, or run `drawbridge serve`.")]
    HubStopped,
    #[error(
        "the bridge to a remote hub needs a client's token: run `drawbridge clients add NAME`, and \
         set DRAWBRIDGE_CLIENT_TOKEN to the token that it prints"
    )]
    NoClientToken,
    #[error(
        "no display was found, and MCP_HUB_URL names a remote hub; run `drawbridge open` for a link to its web UI"
    )]
    NoDisplayForRemoteHub,
    #[error(
        "drawbridge-desktop was not found next to this program, and MCP_HUB_URL names a remote hub; run `drawbridge open` for a link to its web UI"
    )]
    NoAppForRemoteHub,
    #[error(
        "a backup is made and restored on the hub's own computer; run the command there, without MCP_HUB_URL"
    )]
    BackupOfRemoteHub,
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("--allow-host can be given at most 32 times")]
    TooManyHosts,
    #[error("some checks failed; see the text above")]
    ChecksFailed,
    #[error("cannot open a browser: {source}. Open the link above yourself.")]
    OpenBrowser { source: io::Error },
    #[error("no browser signed in with the link in time. Run `drawbridge open` to get a new link.")]
    LinkExpired,
    /// The URL of a sign-in page is not safe to open.
    #[error("cannot sign in: {reason}")]
    SignInUrl { reason: String },
    #[error("could not sign in to '{server}': {reason}")]
    SignIn { server: ServerId, reason: String },
    #[error("the audit log is not intact from entry {seq} on: {reason}")]
    AuditNotIntact { seq: u32, reason: String },
    #[error(
        "the call was missed. Only one identical retry of it can be allowed, so --for, --always, \
         --session, --calls, --arguments and --when have no effect. Run the command without them."
    )]
    MissedCall,
    #[error("the preset ask-all takes no --server, because it asks about every server")]
    NeedlessServer,
    #[error("the presets ask-writes and ask-listed need at least one --server")]
    MissingServer,
    #[error(
        "--sandbox off cannot be combined with other options for a sandbox; remove it, or remove \
         the other options"
    )]
    SandboxOffWithOthers,
    #[error("--sandbox read-project needs the folder of the project: add --sandbox-read PATH")]
    SandboxWithoutProject,
    #[error("--sandbox no-network allows no ports; remove --sandbox-connect and --sandbox-bind")]
    SandboxPortsWithoutNetwork,
    #[error(
        "the value is empty, so nothing was changed. Run the command again, and type a value or \
         send one to stdin."
    )]
    EmptySecret,
    #[error(
        "--header is for webhooks, and this hook starts a program; use --env for its variables"
    )]
    HeaderOfProgram,
    #[error("--env is for programs, and this hook is a webhook; use --header for its headers")]
    VariableOfWebhook,
    #[error("the two passphrases differ, so nothing was changed. Run the command again.")]
    DifferentPassphrases,
    #[error("'{folder}' is not among the roots; see `drawbridge roots list`")]
    UnknownRoot { folder: String },
    #[error(
        "the server was not added, because '{label}' needs the inputs above. Run the command again \
         with these options."
    )]
    MissingInputs { label: String },
    #[error(
        "'{server}' has no new or changed definition named '{name}'; see `drawbridge servers show {server}`"
    )]
    NothingToAccept { server: ServerId, name: String },
    #[error(
        "`servers accept` asks at a terminal, and there is none. Check the server with \
         `drawbridge servers show {server}`, then accept the identity that it shows with \
         `--identity DIGEST`."
    )]
    AcceptWithoutTerminal { server: ServerId },
    #[error("'{server}' was not accepted, because the answer was not yes")]
    NotAccepted { server: ServerId },
    #[error("the call failed; see the text above")]
    ToolFailed,
    #[error(
        "this command asks at a terminal, and there is none; to go ahead without asking, add `--yes`"
    )]
    NoTerminal,
    #[error("nothing was changed, because the answer was not yes")]
    Declined,
    #[error(
        "--restore cannot be combined with --http, because Drawbridge does not store the token that \
         the entry contains. Remove --http to have the entry restored, or remove --restore, and \
         connect the client again if another program changes the entry."
    )]
    RestoreNeedsToken,
    #[error("the client cannot connect; see the text above")]
    TestFailed,
    #[error("not every file was restored; see the text above")]
    NotUndone,
    #[error(
        "no server named '{name}' was found; `drawbridge import --dry-run` lists the servers that \
         can be imported"
    )]
    NoSuchServer { name: String },
    #[error(
        "'{input}' is not of the form SERVER.ID=VALUE; `drawbridge import --dry-run` shows the \
         inputs"
    )]
    BadInput { input: String },
    #[error("no server that was found has the input '{input}'; {}", describe_inputs(.known))]
    UnknownInput { input: String, known: Vec<String> },
}

/// Returns the inputs of the servers that were found, as part of a message.
fn describe_inputs(known: &[String]) -> String {
    if known.is_empty() {
        "the servers need no inputs".to_owned()
    } else {
        format!("the inputs are {}", known.join(", "))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Io(error)
        }
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        let is_broken_pipe = matches!(
            error.kind(),
            csv::ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::BrokenPipe
        );
        if is_broken_pipe {
            Self::BrokenPipe
        } else {
            Self::Csv(error)
        }
    }
}

pub(crate) fn exit_code(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            // Further lines are details, such as a server's output, which `drawbridge logs` shows.
            print_stderr(failure.to_string().lines().next().unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}

/// Prints a message to stderr, as one escaped line that begins with `drawbridge:`.
pub(crate) fn print_stderr(message: &str) {
    let message = escape(&lowercase_first(message));
    let _ = writeln!(io::stderr(), "drawbridge: {message}");
}

/// Makes a message's first letter lower-case, because the message follows `drawbridge:`. The first
/// word stays unchanged if it is the product's name or has other upper-case letters, as an
/// abbreviation has.
fn lowercase_first(message: &str) -> String {
    let word = message
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let mut chars = message.chars();
    match chars.next() {
        Some(first)
            if word != "Drawbridge"
                && first.is_ascii_uppercase()
                && word.chars().skip(1).all(char::is_lowercase) =>
        {
            format!("{}{}", first.to_ascii_lowercase(), chars.as_str())
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::lowercase_first;

    #[test]
    fn a_message_begins_in_lower_case_unless_it_begins_with_a_name_or_an_abbreviation() {
        for (message, printed) in [
            ("The server was stopped", "the server was stopped"),
            ("Drawbridge cannot connect", "Drawbridge cannot connect"),
            ("OAuth error: x", "OAuth error: x"),
            ("HTTP 500", "HTTP 500"),
            ("'X' is unknown", "'X' is unknown"),
            ("", ""),
        ] {
            assert_eq!(lowercase_first(message), printed);
        }
    }
}
