//! A server with everything that the official conformance suites ask for, under the names they ask for.
//! It speaks every revision that the SDK speaks: with sessions where a client begins with
//! `initialize`, without where it sends its `_meta` with each request.
//!
//! | option | what it does |
//! |---|---|
//! | `PORT` | listens on `http://127.0.0.1:PORT/mcp`; 0 takes a free port; says where on stdout |
//! | `--stdio` | speaks over stdio instead |

#![expect(clippy::print_stdout, reason = "a test reads where it listens")]

mod changes;
mod fixture;
mod logging;
mod prompts;
mod questions;
mod resources;
mod samples;
mod sessions;
mod tools;

use std::{env, sync::Arc, time::Duration};

use axum::{
    Router,
    serve::{Listener, ListenerExt},
};
use rmcp::{
    ServiceExt,
    service::ServerInitializeError,
    transport::{StreamableHttpServerConfig, StreamableHttpService, stdio},
};
use tokio::net::TcpListener;

use crate::{fixture::Fixture, sessions::Sessions};

/// How long a client waits before it asks again for the rest of a stream that was ended early.
const RETRY: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match env::args().nth(1).as_deref() {
        Some("--stdio") => match Fixture::default().serve(stdio()).await {
            Ok(session) => drop(session.waiting().await?),
            // A client that only wanted to know which revisions there are.
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(why) => return Err(why.into()),
        },
        Some(port) => listen(port.parse()?).await?,
        None => anyhow::bail!("say a port, or --stdio"),
    }
    Ok(())
}

async fn listen(port: u16) -> anyhow::Result<()> {
    let fixture = Fixture::default();
    let mut config = StreamableHttpServerConfig::default();
    config.sse_retry = Some(RETRY);
    let service =
        StreamableHttpService::new(move || Ok(fixture.for_one_peer()), Arc::new(Sessions::new(RETRY)), config);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    println!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
