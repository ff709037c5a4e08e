//! Exit codes: 0, or 1 with one line on stderr. (Clap exits with 2 on wrong usage.)

use std::{
    io::{self, Write},
    process::ExitCode,
};

use drawbridge_endpoint::ServeError;
use drawbridge_hub::api::ApiError;

use crate::text::shown;

/// The reason for which a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    Because(String),
    /// The reader of stdout has closed the pipe. The command ends successfully.
    ReaderGone,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Because(message.into())
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Because(error.message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderGone
        } else {
            Self::Because(error.to_string())
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Because(error.to_string())
    }
}

impl From<csv::Error> for Failure {
    fn from(error: csv::Error) -> Self {
        let said = error.to_string();
        if let csv::ErrorKind::Io(error) = error.into_kind() {
            error.into()
        } else {
            Self::Because(said)
        }
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::Because(error.to_string())
    }
}

pub(crate) fn code(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Because(message)) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

/// Prints one line to stderr.
pub(crate) fn say(message: &str) {
    let _ = writeln!(io::stderr(), "drawbridge: {}", shown(message));
}
