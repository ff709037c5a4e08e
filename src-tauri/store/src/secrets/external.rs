//! Secrets that Drawbridge does not store: variables of its environment, and the output of
//! commands.

use std::{collections::HashMap, env, sync::Arc};

use drawbridge_model::cause::Cause;
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use super::{Secret, SecretError};

/// The prefix of the names of Drawbridge's own variables, such as `DRAWBRIDGE_ADMIN_TOKEN`.
const RESERVED_PREFIX: &str = "DRAWBRIDGE_";

/// Runs the commands that print secrets.
pub trait SecretCommands: Send + Sync {
    /// Runs a command, and returns its output without the final line break.
    fn run<'a>(&'a self, command: &'a str) -> BoxFuture<'a, Result<Secret, SecretError>>;
}

/// Returns the value of an environment variable of this process.
///
/// # Errors
/// Returns an error if the variable is not set, is empty, is not Unicode, or is Drawbridge's own.
pub(super) fn read_variable(name: &str) -> Result<Secret, SecretError> {
    if name.to_ascii_uppercase().starts_with(RESERVED_PREFIX) {
        return Err(SecretError::ReservedVariable(name.to_owned()));
    }
    // A variable cannot have an empty name, or a name with `=` or NUL.
    let is_valid = !name.is_empty() && !name.contains(['=', '\0']);
    let value = is_valid.then(|| env::var(name).ok()).flatten();
    value
        .filter(|value| !value.is_empty())
        .map(Secret::new)
        .ok_or_else(|| SecretError::MissingVariable(name.to_owned()))
}

/// Returns an error for every command, because no process may be started.
pub(super) struct NoCommands;

impl SecretCommands for NoCommands {
    fn run<'a>(&'a self, command: &'a str) -> BoxFuture<'a, Result<Secret, SecretError>> {
        let source = std::io::Error::from(std::io::ErrorKind::Unsupported);
        let error = SecretError::Command {
            program: command.to_owned(),
            source: Cause::new(source),
        };
        Box::pin(async { Err(error) })
    }
}

/// Caches the outputs of commands for the start of one server. A command that succeeds runs only
/// once, so a password manager does not ask a person again.
pub(super) struct CachedCommands {
    commands: Arc<dyn SecretCommands>,
    outputs: Mutex<HashMap<String, Secret>>,
}

impl CachedCommands {
    pub(super) fn new(commands: Arc<dyn SecretCommands>) -> Self {
        Self {
            commands,
            outputs: Mutex::default(),
        }
    }
}

impl SecretCommands for CachedCommands {
    fn run<'a>(&'a self, command: &'a str) -> BoxFuture<'a, Result<Secret, SecretError>> {
        Box::pin(async move {
            let mut outputs = self.outputs.lock().await;
            if let Some(secret) = outputs.get(command) {
                return Ok(Secret::new(secret.expose().to_owned()));
            }
            let secret = self.commands.run(command).await?;
            let copy = Secret::new(secret.expose().to_owned());
            outputs.insert(command.to_owned(), copy);
            Ok(secret)
        })
    }
}
