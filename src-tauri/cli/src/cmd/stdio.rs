//! `drawbridge stdio`: the bridge for clients that only speak stdio.

use std::{
    env, io,
    process::{Child, Command, Stdio as Pipe},
    time::Duration,
};

use drawbridge_endpoint::{ApiClient, bridge};
use tokio::time::{Instant, sleep};

use crate::{connection::Context, exit::Failure};

/// For a hub that was started here to answer.
const START: Duration = Duration::from_secs(15);

/// For another hub to answer, where ours ended at once, as another was faster.
const GRACE: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub(crate) struct Stdio {
    /// The client's name, for policies and the list of clients.
    #[arg(long, value_name = "NAME", default_value = "stdio")]
    client: String,
}

impl Stdio {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        if ApiClient::local(&context.data_dir).is_err() {
            start_hub(context).await?;
        }
        let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
        Ok(bridge::run(&context.data_dir, &self.client, stdin, stdout).await?)
    }
}

/// Starts a hub that outlives this bridge, and waits until it answers.
async fn start_hub(context: &Context) -> Result<(), Failure> {
    let mut hub = spawn_hub(context).map_err(|e| Failure::new(format!("cannot start a hub: {e}")))?;
    let mut deadline = Instant::now() + START;
    let mut ended = false;
    while Instant::now() < deadline {
        if ApiClient::local(&context.data_dir).is_ok() {
            return Ok(());
        }
        if !ended && hub.try_wait()?.is_some() {
            ended = true;
            deadline = Instant::now() + GRACE;
        }
        sleep(Duration::from_millis(50)).await;
    }
    Err(Failure::new("the hub did not start: run `drawbridge serve` to see why"))
}

fn spawn_hub(context: &Context) -> io::Result<Child> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("serve").arg("--data-dir").arg(&context.data_dir);
    command.stdin(Pipe::null()).stdout(Pipe::null()).stderr(Pipe::null());
    detach(&mut command);
    command.spawn()
}

/// Signals to this bridge's group are not for the hub.
#[cfg(unix)]
fn detach(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(windows)]
fn detach(command: &mut Command) {
    const DETACHED_PROCESS: u32 = 0x8;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    std::os::windows::process::CommandExt::creation_flags(command, DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
}
