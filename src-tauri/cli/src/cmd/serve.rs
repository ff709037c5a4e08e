//! `drawbridge serve`: runs the hub without a window.

use std::{
    env,
    future::pending,
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use drawbridge_endpoint::{RunningEndpoint, ServeOptions};
use drawbridge_hub::{
    Hub, HubOptions,
    api::{Verb, screens::OpenScreen},
};
use serde_json::json;

use crate::{
    context::{Context, open_hub},
    exit::{Failure, print_stderr},
    output,
};

#[derive(clap::Args)]
pub(crate) struct Serve {
    /// The address to listen on
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST.into())]
    host: IpAddr,
    /// The port to listen on; 0 for any free port [default: the one of the settings, 8765]
    #[arg(long)]
    port: Option<u16>,
    /// Stop after this many seconds without a client, screen or command [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    exit_when_idle: Option<u32>,
    /// Do not update or restore Drawbridge's entries in the files of clients
    #[arg(long)]
    skip_config_gen: bool,
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            port: None,
            exit_when_idle: None,
            skip_config_gen: false,
        }
    }
}

impl Serve {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let stop = stop_signal()?;
        let admin_token = env::var("DRAWBRIDGE_ADMIN_TOKEN")
            .ok()
            .filter(|token| !token.is_empty());
        let hub = open_hub(HubOptions {
            data_dir: context.data_dir.clone(),
            admin_token,
        })
        .await?;
        let options = ServeOptions {
            host: self.host,
            port: self.port,
            keeps_client_files: !self.skip_config_gen,
        };
        let result = match drawbridge_endpoint::serve(hub.clone(), options).await {
            Ok(running) => {
                let announcement = announce(context, &hub, &running).await;
                if announcement.is_ok() {
                    tokio::select! {
                        () = stop => {}
                        () = wait_until_unused(&running, self.exit_when_idle) => {}
                    }
                }
                running.stop().await;
                announcement
            }
            Err(e) => Err(e.into()),
        };
        hub.close().await;
        result
    }
}

/// Completes when nobody has used the hub for `idle` seconds, or never if `idle` is `None`.
async fn wait_until_unused(running: &RunningEndpoint, idle: Option<u32>) {
    let Some(idle) = idle else {
        return pending().await;
    };
    running
        .close_when_unused(Duration::from_secs(idle.into()))
        .await;
    print_stderr(&format!("nobody used the hub for {idle} s, so it stops"));
}

async fn announce(context: &Context, hub: &Hub, running: &RunningEndpoint) -> Result<(), Failure> {
    for failure in running.failures() {
        print_stderr(&format!(
            "the listener '{}' did not start: {}",
            failure.name, failure.error
        ));
    }
    let Some(url) = running.url() else {
        print_stderr(
            "the hub runs without HTTP; only local commands and `drawbridge stdio` can reach it",
        );
        return Ok(());
    };
    let ready = json!({ "url": url });
    output::print_answer(context.json, &ready, |_| format!("listening on {url}"))?;
    if let Ok(link) = (OpenScreen {}).run(hub).await {
        print_stderr(&format!(
            "to open the web UI, follow this link within a minute; it works once: {}",
            link.url
        ));
    }
    Ok(())
}

/// Registers the signal handlers, and returns a future that completes with the first SIGTERM or
/// Ctrl-C.
#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Returns a future that completes with the first Ctrl-C.
#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
