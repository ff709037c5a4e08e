//! The hub behind the windows: either a hub and its endpoint in this process (standalone), or a
//! connection to another hub (remote). The remote hub is the hub at `MCP_HUB_URL`, or a headless
//! hub that already has this data folder open, for instance because a stdio bridge started it.

use std::{sync::Arc, time::Duration};

use drawbridge_endpoint::{ApiClient, HubHandle, RunningEndpoint, ServeOptions};
use drawbridge_hub::{
    Hub, HubOptions,
    api::{ApiError, ErrorCode},
};
use tokio::time::timeout;

use crate::args::Args;

/// How long the endpoint may take to stop, even if a client holds a connection open.
const STOP_WITHIN: Duration = Duration::from_secs(5);
/// How long the hub may take to close. Servers get 10 s to stop by default. The guard process ends
/// the servers that are left.
const CLOSE_WITHIN: Duration = Duration::from_secs(15);

pub(crate) struct Backend {
    hub: HubHandle,
    /// The endpoint of a hub in this process, if it can listen.
    endpoint: Option<RunningEndpoint>,
}

impl Backend {
    /// Opens the hub and its endpoint, or a connection to the remote hub.
    ///
    /// # Errors
    /// Returns an error if the hub cannot be opened (as [`Hub::open`] reports), if `MCP_HUB_URL` is
    /// not a URL, or if the admin token is too weak (`invalid`).
    pub(crate) async fn open(args: &Args) -> Result<Self, ApiError> {
        match args.remote_url() {
            Some(url) => Ok(Self::remote(ApiClient::remote(
                url,
                args.admin_token.clone(),
            )?)),
            None => Self::standalone(args).await,
        }
    }

    async fn standalone(args: &Args) -> Result<Self, ApiError> {
        let data_dir = args.data_dir();
        let serve_options = ServeOptions {
            host: args.host,
            port: args.port,
            allowed_hosts: args.allow_hosts.clone(),
            maintains_client_files: !args.skip_config_gen,
        };
        serve_options
            .check_admin_token(args.admin_token.as_deref())
            .map_err(|error| ApiError::invalid(error.to_string()))?;
        let options = HubOptions::from_env(data_dir.clone(), args.admin_token.clone())?;
        let hub = match Hub::open(options).await {
            Ok(hub) => hub,
            Err(conflict) if conflict.code == ErrorCode::Conflict => {
                return ApiClient::local(&data_dir)
                    .map(Self::remote)
                    .map_err(|_| conflict);
            }
            Err(error) => return Err(error),
        };
        if !args.host.is_loopback() {
            tracing::warn!(host = %args.host, "other computers can reach the hub, without encryption");
        }
        let endpoint = match drawbridge_endpoint::serve(Arc::clone(&hub), serve_options).await {
            Ok(running) => Some(running),
            // The windows work without a listener, and show why none could start.
            Err(error) => {
                tracing::error!(%error, "no client can connect");
                None
            }
        };
        Ok(Self {
            hub: HubHandle::Embedded(hub),
            endpoint,
        })
    }

    fn remote(client: ApiClient) -> Self {
        Self {
            hub: HubHandle::OtherProcess(client),
            endpoint: None,
        }
    }

    pub(crate) fn hub(&self) -> &HubHandle {
        &self.hub
    }

    /// Stops the endpoint, ends the servers and closes the store.
    pub(crate) async fn close(self) {
        if let Some(endpoint) = self.endpoint
            && timeout(STOP_WITHIN, endpoint.stop()).await.is_err()
        {
            tracing::warn!("the endpoint did not stop in time");
        }
        if timeout(CLOSE_WITHIN, self.hub.close()).await.is_err() {
            tracing::warn!("the hub did not close in time");
        }
    }
}
