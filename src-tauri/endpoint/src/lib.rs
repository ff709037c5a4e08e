//! The door: HTTP for MCP clients, screens and scripts, over TCP and over a local socket, and
//! the two that knock on it from outside, the API client and the stdio bridge. The only code
//! that names axum.

mod activity;
mod auth;
mod body;
pub mod bridge;
pub mod client;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod listener;
mod local;
mod mcp;
mod origin;
mod rescue;
mod rest;
mod server;
mod wire;

pub use client::ApiClient;
pub use server::{Running, ServeError, ServeOptions, serve};
