//! Runs the commands of `${command:…}`, which print a secret, such as `op read
//! op://vault/item/field`.

use std::{collections::BTreeMap, time::Duration};

use drawbridge_model::cause::Cause;
use drawbridge_store::secrets::{Secret, SecretCommands, SecretError};
use futures_util::future::BoxFuture;

use super::{
    Launch, appimage,
    guard::Guard,
    run::{RunError, RunLimits, run_with_limits},
};

/// How long a command may run. A person may have to unlock a password manager meanwhile.
const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_OUTPUT: usize = 64 * 1024;

/// The prefix of Drawbridge's own variables. A command does not inherit them from the hub.
const OWN_VARIABLE_PREFIX: &str = "DRAWBRIDGE_";

/// Runs commands as the user, in the home folder and without a shell.
pub struct SecretCommandRunner {
    guard: Guard,
}

/// Why a command did not print a secret.
#[derive(Debug, thiserror::Error)]
enum SecretCommandError {
    #[error("it cannot be split into words: {0}")]
    Words(#[from] shell_words::ParseError),
    #[error("it is empty")]
    Empty,
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("its output is not UTF-8")]
    NotText,
    #[error("it printed nothing")]
    NoOutput,
}

impl SecretCommandRunner {
    pub fn new(guard: Guard) -> Self {
        Self { guard }
    }

    async fn read_secret(&self, words: Vec<String>) -> Result<Secret, SecretCommandError> {
        let mut words = words.into_iter();
        let launch = Launch {
            command: words.next().ok_or(SecretCommandError::Empty)?,
            args: words.collect(),
            env: inherited_variables(),
            cwd: None,
            sandbox: None,
            recording: None,
            stop_timeout: Duration::ZERO,
        };
        let limits = RunLimits {
            timeout: TIMEOUT,
            max_output: MAX_OUTPUT,
        };
        let output = run_with_limits(&launch, &self.guard, &[], limits).await?;
        let printed = String::from_utf8(output).map_err(|_| SecretCommandError::NotText)?;
        let printed = Secret::new(printed);
        let line = printed.expose();
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            return Err(SecretCommandError::NoOutput);
        }
        Ok(Secret::new(line.to_owned()))
    }
}

impl SecretCommands for SecretCommandRunner {
    fn run<'a>(&'a self, command: &'a str) -> BoxFuture<'a, Result<Secret, SecretError>> {
        Box::pin(async move {
            let printed = match shell_words::split(command) {
                Ok(words) => self.read_secret(words).await,
                Err(error) => Err(error.into()),
            };
            printed.map_err(|error| SecretError::Command {
                program: program_name(command),
                source: Cause::new(error),
            })
        })
    }
}

/// Returns the program that a command starts, as it is shown to people.
pub fn program_name(command: &str) -> String {
    let words = shell_words::split(command).unwrap_or_default();
    words.first().map_or(command, String::as_str).to_owned()
}

/// Returns the hub's variables, except for Drawbridge's own variables and the PATH: a command gets
/// the PATH of servers. Password managers read their settings from variables, for example the
/// address and the token of a vault.
fn inherited_variables() -> BTreeMap<String, String> {
    appimage::original_variables()
        .into_iter()
        .filter(|(name, _)| {
            !name.eq_ignore_ascii_case("PATH")
                && !name.to_ascii_uppercase().starts_with(OWN_VARIABLE_PREFIX)
        })
        .collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn run(command: &str) -> Result<String, String> {
        let runner = SecretCommandRunner::new(Guard::new());
        let printed = runner.run(command).await;
        printed
            .map(|secret| secret.expose().to_owned())
            .map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_command_runs_without_a_shell_and_its_output_loses_only_the_last_line_break() {
        assert_eq!(
            run("printf '%s\\n\\n' 'a $HOME; b'").await,
            Ok("a $HOME; b\n".into())
        );
        assert_eq!(run("printf 'x\\r\\n'").await, Ok("x".into()));
    }

    #[tokio::test]
    async fn a_command_that_prints_no_secret_is_an_error_with_a_reason() {
        for (command, reason) in [
            ("true", "it printed nothing"),
            ("", "it is empty"),
            ("echo 'never closed", "split into words"),
            ("sh -c 'echo no vault >&2; exit 3'", "no vault"),
            ("head -c 70000 /dev/zero", "more than 65536 bytes"),
            ("printf '\\377'", "not UTF-8"),
            ("drawbridge-no-such-program", "cannot find the command"),
        ] {
            let error = run(command).await.expect_err(command);
            assert!(error.contains(reason), "{command}: {error}");
        }
    }
}
