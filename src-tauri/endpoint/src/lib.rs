//! The endpoint: serves HTTP to MCP clients, the web UI and scripts, over TCP and a local socket.
//! Also holds the two clients of the endpoint: the API client and the stdio bridge. No other crate
//! of the product uses axum.

mod activity;
pub mod admin_token;
mod auth;
mod body;
pub mod bridge;
mod checked_router;
pub mod client;
mod descriptors;
mod error_response;
mod headers;
mod listener;
mod local;
mod mcp;
mod origin;
mod pairing;
mod project_folder;
mod rest;
mod routes;
mod server;
mod state;
mod tcp;
mod unauthenticated;
mod write_timeout;

pub use client::{ApiClient, HubHandle};
pub use server::{RunningEndpoint, ServeError, ServeOptions, WeakAdminToken, serve};
