//! Exit codes: 0, or 1 with one line on stderr. (Clap exits with 2 on wrong usage.)

use std::{
    io::{self, Write},
    process::ExitCode,
};

use drawbridge_endpoint::ServeError;
use drawbridge_hub::api::ApiError;

use crate::text::escape;

/// The reason for which a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    Message(String),
    /// The reader of stdout has closed the pipe. The command ends successfully.
    BrokenPipe,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Message(message.into())
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Message(error.message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Message(error.to_string())
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Message(error.to_string())
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        let said = error.to_string();
        if let csv::ErrorKind::Io(error) = error.into_kind() {
            error.into()
        } else {
            Self::Message(said)
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::Message(error.to_string())
    }
}

pub(crate) fn exit_code(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            print_stderr(&message);
            ExitCode::FAILURE
        }
    }
}

/// Prints one line to stderr.
pub(crate) fn print_stderr(message: &str) {
    let _ = writeln!(io::stderr(), "drawbridge: {}", escape(message));
}
