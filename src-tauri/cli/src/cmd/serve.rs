//! `drawbridge serve`: runs the hub without a window.

use std::{
    future::pending,
    io::{self, IsTerminal},
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use drawbridge_endpoint::{RunningEndpoint, ServeOptions, admin_token};
use drawbridge_hub::{
    Hub, HubOptions,
    api::{Verb, screens::OpenScreen},
};
use drawbridge_model::allowed_host::{AllowedHost, MAX_ALLOWED_HOSTS};
use serde_json::json;

use crate::{
    context::{Context, open_hub},
    exit::{Failure, print_stderr},
    output,
    stop_signal::wait_for_stop_signal,
};

#[derive(clap::Args)]
pub(crate) struct Serve {
    /// The address to listen on. Any address other than a loopback address (127.0.0.1, ::1) lets
    /// other computers connect, and requires an admin token of at least 32 characters
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST.into())]
    host: IpAddr,
    /// The port to listen on; 0 for any free port [default: the port in the settings,
    /// which is 8765 if nobody changed it]
    #[arg(long)]
    port: Option<u16>,
    /// A host name or IP address under which clients and browsers reach the hub, besides localhost,
    /// 127.0.0.1, [::1] and the address in --host; with a port if it is not the port on which the
    /// hub listens. May be repeated
    #[arg(long = "allow-host", value_name = "HOST[:PORT]")]
    allow_hosts: Vec<AllowedHost>,
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
            allow_hosts: Vec::new(),
            exit_when_idle: None,
            skip_config_gen: false,
        }
    }
}

impl Serve {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let stop = wait_for_stop_signal()?;
        if self.allow_hosts.len() > MAX_ALLOWED_HOSTS {
            return Err(Failure::TooManyHosts);
        }
        let admin_token = admin_token::read_from_environment()?;
        let options = ServeOptions {
            host: self.host,
            port: self.port,
            allowed_hosts: self.allow_hosts,
            maintains_client_files: !self.skip_config_gen,
        };
        options.check_admin_token(admin_token.as_deref())?;
        let hub = open_hub(HubOptions::from_env(context.data_dir.clone(), admin_token)?).await?;
        if !self.host.is_loopback() {
            warn_about_other_computers(&hub, &options);
        }
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

/// Warns a person who opens the hub to other computers.
fn warn_about_other_computers(hub: &Hub, options: &ServeOptions) {
    print_stderr(&format!(
        "warning: other computers can reach the hub at {}, without encryption. Anyone who learns the \
         admin token controls the hub. Unless you trust the network, put a reverse proxy with TLS \
         in front of the hub",
        options.host
    ));
    if options.allowed_hosts.is_empty() && hub.allowed_hosts().is_empty() {
        // No request names the unspecified address, which stands for all addresses.
        let own_hosts = if options.host.is_unspecified() {
            "`localhost`, 127.0.0.1 and [::1]".to_owned()
        } else {
            format!("`localhost`, 127.0.0.1, [::1] and {}", options.host)
        };
        print_stderr(&format!(
            "no host is allowed yet, so the hub answers only under {own_hosts}; add \
             `--allow-host HOST` or run `drawbridge settings set allowed-hosts HOST`"
        ));
    }
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
    // If stderr is no terminal, it may be a log, which must not contain the code of a link.
    if !io::stderr().is_terminal() {
        print_stderr("to open the web UI, run `drawbridge open`");
    } else if let Ok(link) = (OpenScreen {}).run(hub).await {
        print_stderr(&format!(
            "to open the web UI, follow this link within five minutes; it works once: {}",
            link.url
        ));
    }
    Ok(())
}
