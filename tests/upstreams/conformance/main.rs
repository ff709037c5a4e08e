//! A server with everything that the official conformance suites ask for, under the names they ask for.
//! It speaks every revision that the SDK speaks: with sessions where a client begins with
//! `initialize`, without where it sends its `_meta` with each request.
//!
//! | option | what it does |
//! |---|---|
//! | `PORT` | listens on `http://127.0.0.1:PORT/mcp`; 0 takes a free port; says where on stdout |
//! | `--stdio` | speaks over stdio instead |
//! | `--legacy`, `--modern` | behind one of these, speaks the revisions of that era only |
//! | `--scheme NAME` | its resources are at `NAME://…` instead of `test://…`, so that several may stand behind one hub |

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
    fixture::{Eras, Fixture},
    sessions::Sessions,
};

/// How long a client waits before it asks again for the rest of a stream that was ended early.
const RETRY: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut options = env::args().skip(1);
    let place = options.next();
    let (mut eras, mut scheme) = (Eras::Both, "test".to_owned());
    while let Some(option) = options.next() {
        match option.as_str() {
            "--legacy" => eras = Eras::Legacy,
            "--modern" => eras = Eras::Modern,
            "--scheme" => scheme = options.next().context("--scheme wants a name")?,
            other => anyhow::bail!("unknown option {other}"),
        }
    }
    let fixture = Fixture::new(eras, scheme);
    match place.as_deref() {
        Some("--stdio") => speak(fixture).await,
        Some(port) => listen(fixture, port.parse()?).await,
        None => anyhow::bail!("say a port, or --stdio"),
    }
}

async fn speak(fixture: Fixture) -> anyhow::Result<()> {
    match fixture.serve(stdio()).await {
        Ok(session) => drop(session.waiting().await?),
        // A client that only wanted to know which revisions there are.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(why) => return Err(why.into()),
    }
    Ok(())
}

async fn listen(fixture: Fixture, port: u16) -> anyhow::Result<()> {
    let mut config = StreamableHttpServerConfig::default();
    config.sse_retry = Some(RETRY);
    let service = StreamableHttpService::new(
        move || Ok(fixture.for_one_peer()),
        Arc::new(Sessions::new(RETRY)),
        config,
    );
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    println!("listening on http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
