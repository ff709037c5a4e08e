//! Drawbridge as its users meet it, without a window: the binary, the files, the wire.

mod approvals;
mod arguments;
mod audit;
mod bridge;
mod cache;
mod catalog;
mod crowd;
mod decisions;
mod door;
mod everything;
mod faults;
mod fleet;
mod inspector;
mod kill;
mod life;
mod lists;
mod lossless;
mod oauth;
mod processes;
mod proxy;
mod registry;
mod remote;
mod rest;
mod round_trip;
mod storage;
mod streams;
