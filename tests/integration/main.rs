//! Drawbridge as its users meet it, without a window: the binary, the files, the wire.

mod approvals;
mod bridge;
mod cache;
mod door;
mod everything;
mod inspector;
mod lossless;
mod oauth;
mod processes;
mod proxy;
mod registry;
mod remote;
mod round_trip;
mod streams;
