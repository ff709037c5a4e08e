//! What stands behind the windows: a hub and its endpoint in this process (standalone), or
//! nothing but a connection to a hub elsewhere (remote): at `MCP_HUB_URL`, or the headless one that
//! has this data folder open already, as a stdio bridge may have started it.

use std::{sync::Arc, time::Duration};

use drawbridge_endpoint::{Running, ServeOptions, client::ApiClient};
use drawbridge_hub::{
    Hub, HubOptions,
    api::{ApiError, ErrorCode},
};
use tokio::time::timeout;

use crate::{args::Args, door::Door};

/// Clients that hold a connection open do not keep the app.
const STOP_WITHIN: Duration = Duration::from_secs(5);
/// Servers get 10 s to stop; a hub that takes longer than this is left to its guard.
const CLOSE_WITHIN: Duration = Duration::from_secs(15);

pub(crate) enum Backend {
    Standalone {
        hub: Arc<Hub>,
        endpoint: Option<Running>,
    },
    Remote(ApiClient),
}

impl Backend {
    /// Opens the hub and its endpoint, or the way to the remote one.
    ///
    /// # Errors
    /// Those of [`Hub::open`]; `invalid` for a `MCP_HUB_URL` that is no address.
    pub(crate) async fn open(args: &Args) -> Result<Self, ApiError> {
        match args.remote() {
            Some(url) => Ok(Self::Remote(ApiClient::remote(
                url,
                args.admin_token.clone(),
            )?)),
            None => Self::standalone(args).await,
        }
    }

    async fn standalone(args: &Args) -> Result<Self, ApiError> {
        let data_dir = args
            .data_dir
            .clone()
            .unwrap_or_else(drawbridge_hub::default_data_dir);
        let hub = match Hub::open(HubOptions {
            data_dir: data_dir.clone(),
            admin_token: args.admin_token.clone(),
        })
        .await
        {
            Ok(hub) => hub,
            Err(taken) if taken.code == ErrorCode::Conflict => {
                return ApiClient::local(&data_dir)
                    .map(Self::Remote)
                    .map_err(|_| taken);
            }
            Err(error) => return Err(error),
        };
        let options = ServeOptions {
            host: args.host,
            port: args.port,
        };
        let endpoint = match drawbridge_endpoint::serve(Arc::clone(&hub), options).await {
            Ok(running) => Some(running),
            // The windows work without a listener, and say what is wrong with it.
            Err(error) => {
                tracing::error!(%error, "no client can connect");
                None
            }
        };
        Ok(Self::Standalone { hub, endpoint })
    }

    pub(crate) fn door(&self) -> Door {
        match self {
            Self::Standalone { hub, .. } => Door::Embedded(Arc::clone(hub)),
            Self::Remote(client) => Door::Remote(client.clone()),
        }
    }

    /// Lets no more calls in, ends the servers, closes the store.
    pub(crate) async fn close(self) {
        let Self::Standalone { hub, endpoint } = self else {
            return;
        };
        if let Some(endpoint) = endpoint
            && timeout(STOP_WITHIN, endpoint.stop()).await.is_err()
        {
            tracing::warn!("the endpoint did not stop in time");
        }
        if timeout(CLOSE_WITHIN, hub.close()).await.is_err() {
            tracing::warn!("the hub did not close in time");
        }
    }
}
