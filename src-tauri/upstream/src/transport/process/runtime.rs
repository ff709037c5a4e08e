//! Finds the programs with which packages are started. The search uses the PATH and the environment
//! that a server gets, so that a server finds the same programs.

use std::{collections::BTreeMap, path::Path, process::Stdio, time::Duration};

use drawbridge_model::runtime::{Runtime, RuntimeStatus};
use futures_util::future::join_all;
use tokio::{io::AsyncReadExt, process::Command, time::timeout};

use super::{ProcessExit, environment, platform};

/// The timeout of each program that is run.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks these runtimes concurrently.
pub async fn check_runtimes(runtimes: &[Runtime]) -> Vec<RuntimeStatus> {
    let mut env = environment::build_environment(&BTreeMap::new(), "").await;
    env.remove(environment::RUN_ID_VARIABLE);
    join_all(runtimes.iter().map(|runtime| check_runtime(*runtime, &env))).await
}

/// Returns the PATH on which Drawbridge searches for the programs of servers.
pub async fn search_path() -> String {
    let mut env = environment::build_environment(&BTreeMap::new(), "").await;
    env.remove("PATH").unwrap_or_default()
}

/// Checks one runtime in the given environment.
async fn check_runtime(runtime: Runtime, env: &BTreeMap<String, String>) -> RuntimeStatus {
    let command = runtime.command();
    let path = env.get("PATH").cloned().unwrap_or_default();
    let mut status = RuntimeStatus {
        runtime,
        path: None,
        version: None,
        problem: String::new(),
        remedy: String::new(),
    };
    let Ok(program) = which::which_in(command, Some(path), ".") else {
        status.problem = format!("Drawbridge cannot find '{command}'");
        status.remedy = install_hint(runtime).to_owned();
        return status;
    };
    status.path = Some(program.display().to_string());
    match query_program(&program, version_args(runtime), env, None).await {
        Ok(output) => status.version = parse_version(&output),
        Err(error) => {
            status.problem = format!("'{command}' was found, but does not work. {error}");
            status.remedy = install_hint(runtime).to_owned();
        }
    }
    if runtime == Runtime::Docker
        && status.problem.is_empty()
        && !daemon_answers(&program, env).await
    {
        status.problem = "Docker is installed, but its daemon does not answer".to_owned();
        status.remedy = START_DOCKER_HINT.to_owned();
    }
    status
}

async fn daemon_answers(docker: &Path, env: &BTreeMap<String, String>) -> bool {
    query_program(
        docker,
        &["version", "--format", "{{.Server.Version}}"],
        env,
        None,
    )
    .await
    .is_ok_and(|output| parse_version(&output).is_some())
}

/// Why a program that exists cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("It cannot be started: {0}")]
    Spawn(#[source] std::io::Error),
    #[error("{0}")]
    Failed(ProcessExit),
    #[error("It did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// Runs a program in `folder`, or else in the current folder, and returns its stdout. A program
/// that writes more than 4 KiB may fail, because its stdout is closed then.
///
/// # Errors
/// Returns an error if the program cannot be started, fails, or does not end in time.
pub(super) async fn query_program(
    program: &Path,
    args: &[&str],
    env: &BTreeMap<String, String>,
    folder: Option<&Path>,
) -> Result<String, ProgramError> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env).kill_on_drop(true);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let mut child = platform::in_own_tree(command)
        .spawn()
        .map_err(ProgramError::Spawn)?;
    let pid = child.id().expect("nobody has waited for the process yet");
    let stdout = child.stdout().take().expect("stdout is piped");
    let answer = timeout(PROGRAM_TIMEOUT, async {
        let mut output = Vec::new();
        let _ = stdout.take(4096).read_to_end(&mut output).await;
        (
            String::from_utf8_lossy(&output).into_owned(),
            platform::leader(child.as_mut()).wait().await,
        )
    })
    .await;
    platform::kill_tree(pid, child.as_mut());
    match answer {
        Ok((output, Ok(status))) if status.success() => Ok(output),
        Ok((_, status)) => Err(ProgramError::Failed(platform::exit_from(status))),
        Err(_) => Err(ProgramError::TimedOut(PROGRAM_TIMEOUT)),
    }
}

fn version_args(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::Npx | Runtime::Uvx | Runtime::Docker | Runtime::Node | Runtime::Python => {
            &["--version"]
        }
        // `dnx` runs tools, and would take `--version` as the name of a tool.
        Runtime::Dnx => &["--help"],
    }
}

/// Looks for a version in the first line: returns the first word that begins with a digit, or with
/// `v` and a digit. Removes the `v`. Examples of lines are `Docker version 28.2.2, build e6534b4`,
/// `v22.3.0` and `uvx 0.5.1 (abc)`.
fn parse_version(output: &str) -> Option<String> {
    let words = output.lines().next()?.split([' ', ',']);
    let mut numbers = words.map(|word| word.strip_prefix('v').unwrap_or(word));
    numbers
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

const START_DOCKER_HINT: &str = if cfg!(target_os = "linux") {
    "Start it, for example with `sudo systemctl start docker`, and make sure that your user is in the group 'docker'."
} else {
    "Start Docker Desktop, and wait until it shows that it is running."
};

/// Returns how to install a runtime on this system.
fn install_hint(runtime: Runtime) -> &'static str {
    let (linux, mac, windows) = match runtime {
        Runtime::Npx | Runtime::Node => (
            "Install Node.js from your distribution (for example `sudo apt install nodejs npm`) or from nodejs.org.",
            "Install Node.js: `brew install node`, or the installer from nodejs.org.",
            "Install Node.js: `winget install OpenJS.NodeJS.LTS`, or the installer from nodejs.org.",
        ),
        Runtime::Uvx => (
            "Install uv: `curl -LsSf https://astral.sh/uv/install.sh | sh`.",
            "Install uv: `brew install uv`.",
            "Install uv: `winget install astral-sh.uv`.",
        ),
        Runtime::Docker => (
            "Install Docker Engine from your distribution (for example `sudo apt install docker.io`) or as described on docs.docker.com.",
            "Install Docker Desktop from docker.com.",
            "Install Docker Desktop from docker.com.",
        ),
        Runtime::Python => (
            "Install Python from your distribution (for example `sudo apt install python3`).",
            "Install Python: `brew install python`, or the installer from python.org.",
            "Install Python: `winget install Python.Python.3.13`, or the installer from python.org.",
        ),
        Runtime::Dnx => (
            "Install the .NET SDK, version 10 or later, as described on learn.microsoft.com/dotnet.",
            "Install the .NET SDK, version 10 or later: `brew install dotnet-sdk`.",
            "Install the .NET SDK, version 10 or later: `winget install Microsoft.DotNet.SDK.10`.",
        ),
    };
    if cfg!(target_os = "macos") {
        mac
    } else if cfg!(windows) {
        windows
    } else {
        linux
    }
}

#[cfg(test)]
mod tests;
