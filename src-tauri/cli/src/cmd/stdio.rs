//! `drawbridge stdio`: bridges a client that supports only stdio to the hub.

use std::{
    env, io,
    path::PathBuf,
    pin::pin,
    process::{Child, Command, Stdio as Pipe},
    time::Duration,
};

use drawbridge_endpoint::bridge::{self, HubConnection};
use drawbridge_hub::api::ErrorCode;
use tokio::time::{Instant, sleep};

use crate::{context::Context, exit::Failure, stop_signal::wait_for_stop_signal};

/// How long a hub that this command starts may take to answer. This includes the wait for another
/// hub to end.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to go on trying to connect after the hub that this command started has ended. The hub
/// usually ends because another process started a hub of the same data folder first.
const OTHER_HUB_TIMEOUT: Duration = Duration::from_secs(2);

/// The environment variable with the client's token for a remote hub. The hub of the data folder
/// needs no token, because the bridge reaches it over its local socket.
const CLIENT_TOKEN: &str = "DRAWBRIDGE_CLIENT_TOKEN";

#[derive(clap::Args)]
pub(crate) struct Stdio {
    /// The client's name, as used in rules and lists
    #[arg(long, value_name = "NAME", default_value = "stdio")]
    client: String,
    /// The folder in which the client works [default: the folder in which it starts this command]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// If this command starts the hub, stop that hub after this many seconds without a client,
    /// screen or command; 0 for never
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    exit_when_idle: u32,
}

impl Stdio {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        // Many clients end their servers with a signal instead of closing stdin.
        let mut stop = pin!(wait_for_stop_signal()?);
        let hub = tokio::select! {
            hub = self.connect(context) => hub?,
            () = &mut stop => return Ok(()),
        };
        let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
        let project = resolve_project_folder(self.project)?;
        Ok(bridge::run(hub, &self.client, project.as_deref(), stdin, stdout, stop).await?)
    }

    /// Connects to the remote hub or to the hub of the data folder. Starts a hub on the data folder
    /// if none runs.
    async fn connect(&self, context: &Context) -> Result<HubConnection, Failure> {
        if let Some(url) = &context.hub_url {
            let token = env::var(CLIENT_TOKEN)
                .ok()
                .filter(|token| !token.is_empty());
            return Ok(bridge::connect_remote(
                url,
                token.ok_or(Failure::NoClientToken)?,
            )?);
        }
        // `Unavailable` means that no hub runs, or that the hub is shutting down.
        match bridge::connect(&context.data_dir).await {
            Ok(hub) => Ok(hub),
            Err(error) if error.code == ErrorCode::Unavailable => self.start_hub(context).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Starts a hub that outlives this bridge, and waits until the hub answers.
    async fn start_hub(&self, context: &Context) -> Result<HubConnection, Failure> {
        let child = spawn_hub(context, self.exit_when_idle);
        let mut hub_process = child.map_err(|source| Failure::StartHub { source })?;
        let mut deadline = Instant::now() + START_TIMEOUT;
        let mut has_ended = false;
        while Instant::now() < deadline {
            if let Ok(hub) = bridge::connect(&context.data_dir).await {
                return Ok(hub);
            }
            if !has_ended && hub_process.try_wait()?.is_some() {
                has_ended = true;
                deadline = Instant::now() + OTHER_HUB_TIMEOUT;
            }
            sleep(Duration::from_millis(50)).await;
        }
        Err(Failure::HubNotReady)
    }
}

/// Returns the absolute path of the folder in which the client works: `project` with all links
/// resolved, or else the current folder. Returns `None` if the path is not UTF-8, or if the current
/// folder does not exist.
///
/// # Errors
/// Returns an error if `project` does not exist.
fn resolve_project_folder(project: Option<PathBuf>) -> io::Result<Option<String>> {
    let folder = match project {
        Some(folder) => folder.canonicalize()?,
        None => match env::current_dir() {
            Ok(folder) => folder,
            Err(_) => return Ok(None),
        },
    };
    Ok(folder.to_str().map(str::to_owned))
}

fn spawn_hub(context: &Context, exit_when_idle: u32) -> io::Result<Child> {
    let mut command = Command::new(env::current_exe()?);
    command
        .arg("serve")
        .arg("--data-dir")
        .arg(&context.data_dir);
    if exit_when_idle > 0 {
        command
            .arg("--exit-when-idle")
            .arg(exit_when_idle.to_string());
    }
    command
        .stdin(Pipe::null())
        .stdout(Pipe::null())
        .stderr(Pipe::null());
    detach(&mut command);
    command.spawn()
}

/// Moves the hub into its own process group, so that signals to the bridge's group do not reach the
/// hub.
#[cfg(unix)]
fn detach(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(windows)]
fn detach(command: &mut Command) {
    const DETACHED_PROCESS: u32 = 0x8;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    std::os::windows::process::CommandExt::creation_flags(
        command,
        DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP,
    );
}
