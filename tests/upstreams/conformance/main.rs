//! A server with everything that the official conformance suites expect, under the expected names,
//! and with a few additional tools. The server supports every revision of the protocol that the SDK
//! supports: with sessions if a client begins with `initialize`, without sessions if the client
//! sends `_meta` with each request.
//!
//! The first argument is `PORT` or `--stdio`. The other options follow it in any order.
//!
//! | option | meaning |
//! |---|---|
//! | `PORT` | listens on `http://127.0.0.1:PORT/mcp` and prints the URL; 0 picks a free port |
//! | `--stdio` | uses stdio instead of HTTP |
//! | `--legacy`, `--modern` | supports only the revisions of that era |
//! | `--scheme NAME` | uses `NAME://…` URIs, not `test://…`, so that the URIs of two servers differ |

#![expect(clippy::print_stdout, reason = "a test reads the URL from stdout")]

mod changes;
mod client_input;
mod conformance_server;
mod logging;
mod prompts;
mod resources;
mod samples;
mod sessions;
mod tools;

use std::{env, sync::Arc, time::Duration};

use anyhow::Context;
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

use crate::{
    conformance_server::{ConformanceServer, Eras},
    sessions::Sessions,
};

/// The `retry` delay after which a client resumes a stream that ended early.
const RETRY: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut options = env::args().skip(1);
    let transport = options.next();
    let (mut eras, mut scheme) = (Eras::Both, "test".to_owned());
    while let Some(option) = options.next() {
        match option.as_str() {
            "--legacy" => eras = Eras::Legacy,
            "--modern" => eras = Eras::Modern,
            "--scheme" => scheme = options.next().context("--scheme needs a name")?,
            other => anyhow::bail!("unknown option {other}"),
        }
    }
    let server = ConformanceServer::new(eras, scheme);
    match transport.as_deref() {
        Some("--stdio") => serve_stdio(server).await,
        Some(port) => serve_http(server, port.parse()?).await,
        None => anyhow::bail!("the first argument must be a port or --stdio"),
    }
}

async fn serve_stdio(server: ConformanceServer) -> anyhow::Result<()> {
    match server.serve(stdio()).await {
        Ok(session) => drop(session.waiting().await?),
        // The client disconnected after it read the supported revisions.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

async fn serve_http(server: ConformanceServer, port: u16) -> anyhow::Result<()> {
    let mut config = StreamableHttpServerConfig::default();
    config.sse_retry = Some(RETRY);
    let service = StreamableHttpService::new(
        move || Ok(server.for_one_peer()),
        Arc::new(Sessions::new(RETRY)),
        config,
    );
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    println!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
