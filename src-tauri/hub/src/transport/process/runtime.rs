//! Finds the programs with which packages are started. The search uses the PATH and the environment
//! that a server gets, so that a server finds the same programs.

use std::{collections::BTreeMap, path::Path, process::Stdio, time::Duration};

use futures_util::future::join_all;
use tokio::{io::AsyncReadExt, process::Command, time::timeout};

use super::{environment, platform};
use crate::model::runtime::{Runtime, RuntimeFound};

/// The timeout of each program that is run.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks all runtimes concurrently.
pub async fn check(runtimes: &[Runtime]) -> Vec<RuntimeFound> {
    let mut env = environment::build_environment(&BTreeMap::new(), "").await;
    env.remove(environment::RUN_ID_VARIABLE);
    join_all(runtimes.iter().map(|runtime| check_in(*runtime, &env))).await
}

/// Checks one runtime in the given environment.
async fn check_in(runtime: Runtime, env: &BTreeMap<String, String>) -> RuntimeFound {
    let command = runtime.command();
    let path = env.get("PATH").cloned().unwrap_or_default();
    let mut found = RuntimeFound {
        runtime,
        path: None,
        version: None,
        problem: String::new(),
        remedy: String::new(),
    };
    let Ok(program) = which::which_in(command, Some(path), ".") else {
        found.problem = format!("'{command}' was not found");
        found.remedy = install_hint(runtime).to_owned();
        return found;
    };
    found.path = Some(program.display().to_string());
    match run_program(&program, version_args(runtime), env).await {
        Ok(said) => found.version = parse_version(&said),
        Err(why) => {
            found.problem = format!("'{command}' was found, but {why}");
            found.remedy = install_hint(runtime).to_owned();
        }
    }
    if runtime == Runtime::Docker
        && found.problem.is_empty()
        && !daemon_answers(&program, env).await
    {
        found.problem = "Docker is installed, but its daemon does not answer".to_owned();
        found.remedy = START_DOCKER_HINT.to_owned();
    }
    found
}

async fn daemon_answers(docker: &Path, env: &BTreeMap<String, String>) -> bool {
    run_program(docker, &["version", "--format", "{{.Server.Version}}"], env)
        .await
        .is_ok_and(|said| parse_version(&said).is_some())
}

/// Runs a program, and returns the beginning of its stdout.
///
/// # Errors
/// Returns an error, as text for people, if the program fails or does not end in time.
async fn run_program(
    program: &Path,
    args: &[&str],
    env: &BTreeMap<String, String>,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env).kill_on_drop(true);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = platform::in_own_tree(command)
        .spawn()
        .map_err(|e| format!("it cannot be started: {e}"))?;
    let pid = child.id().unwrap_or_default();
    let stdout = child.stdout().take();
    let answer = timeout(PROGRAM_TIMEOUT, async {
        let mut said = Vec::new();
        if let Some(stdout) = stdout {
            let _ = stdout.take(4096).read_to_end(&mut said).await;
        }
        (
            String::from_utf8_lossy(&said).into_owned(),
            platform::leader(child.as_mut()).wait().await,
        )
    })
    .await;
    platform::kill_tree(pid, child.as_mut());
    match answer {
        Ok((said, Ok(status))) if status.success() => Ok(said),
        Ok((_, status)) => Err(platform::how_it_ended(status)),
        Err(_) => Err(format!(
            "it did not answer within {} s",
            PROGRAM_TIMEOUT.as_secs()
        )),
    }
}

fn version_args(runtime: Runtime) -> &'static [&'static str] {
    match runtime {
        Runtime::Npx | Runtime::Uvx | Runtime::Docker | Runtime::Node | Runtime::Python => {
            &["--version"]
        }
        // `dnx` runs tools, and would take `--version` as the name of one.
        Runtime::Dnx => &["--help"],
    }
}

/// Returns the first word that begins with a digit: `Docker version 28.2.2, build e6534b4`,
/// `v22.3.0`, `uvx 0.5.1 (abc)`.
fn parse_version(said: &str) -> Option<String> {
    let words = said.lines().next()?.split([' ', ',']);
    let mut numbers = words.map(|word| word.strip_prefix('v').unwrap_or(word));
    numbers
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

const START_DOCKER_HINT: &str = if cfg!(target_os = "linux") {
    "Start it, as with `sudo systemctl start docker`, and see to it that you may use it: your user must be in the group 'docker'."
} else {
    "Start Docker Desktop, and wait until it says that it runs."
};

/// Returns how to install a runtime on this system.
fn install_hint(runtime: Runtime) -> &'static str {
    let (linux, mac, windows) = match runtime {
        Runtime::Npx | Runtime::Node => (
            "Install Node.js from your distribution (as with `sudo apt install nodejs npm`) or from nodejs.org.",
            "Install Node.js: `brew install node`, or the installer from nodejs.org.",
            "Install Node.js: `winget install OpenJS.NodeJS.LTS`, or the installer from nodejs.org.",
        ),
        Runtime::Uvx => (
            "Install uv: `curl -LsSf https://astral.sh/uv/install.sh | sh`.",
            "Install uv: `brew install uv`.",
            "Install uv: `winget install astral-sh.uv`.",
        ),
        Runtime::Docker => (
            "Install Docker Engine from your distribution (as with `sudo apt install docker.io`) or as docs.docker.com says.",
            "Install Docker Desktop from docker.com.",
            "Install Docker Desktop from docker.com.",
        ),
        Runtime::Python => (
            "Install Python from your distribution (as with `sudo apt install python3`).",
            "Install Python: `brew install python`, or the installer from python.org.",
            "Install Python: `winget install Python.Python.3.13`, or the installer from python.org.",
        ),
        Runtime::Dnx => (
            "Install the .NET SDK, version 10 or later, as learn.microsoft.com/dotnet says.",
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
