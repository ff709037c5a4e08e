//! End to end: the real app on a real screen, the real hub in a real browser, real clients and real
//! servers.

mod app;
mod client_access;
mod client_files;
mod controls;
mod elicitation;
mod find_server;
mod first_run;
mod headless;
mod hooks;
mod memory;
mod package;
mod payloads;
mod policy;
mod prompt;
mod prompt_views;
mod remote;
mod screen_lists;
mod screens;
mod secrets;
mod server_actions;
mod server_states;
mod sign_in;
mod steps;
mod tray;
mod window;
