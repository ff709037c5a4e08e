//! End to end: the real app on a real screen, the real hub in a real browser, real clients and real
//! servers.

mod app;
mod headless;
mod payloads;
mod prompt;
mod prompts;
mod screens;
mod secrets;
mod sign_in;
mod states;
mod steps;
mod tray;
mod window;
