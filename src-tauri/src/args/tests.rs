use std::ffi::OsString;

use clap::Parser;

use super::Args;

fn parse_args(line: &[&str]) -> Args {
    Args::parse_from(["drawbridge-desktop"].iter().chain(line))
}

#[test]
fn by_default_the_listener_is_on_loopback_and_the_window_is_shown() {
    let args = parse_args(&[]);
    assert!(args.host.is_loopback());
    assert_eq!(args.port, None, "the settings have the port");
    assert!(!args.hidden);
}

#[test]
fn a_second_start_is_the_same_app_only_for_the_same_folder_or_hub() {
    let first = parse_args(&["--data-dir", "/tmp/one"]).instance_name();
    assert_eq!(
        first,
        parse_args(&["--data-dir", "/tmp/one", "--hidden"]).instance_name()
    );
    assert_ne!(
        first,
        parse_args(&["--data-dir", "/tmp/two"]).instance_name()
    );
    assert_ne!(
        first,
        parse_args(&["--data-dir", "/tmp/one", "--hub-url", "http://hub:8765"]).instance_name()
    );
}

#[test]
fn an_empty_hub_url_names_no_hub() {
    assert_eq!(parse_args(&["--hub-url", " "]).remote_url(), None);
    assert_eq!(
        parse_args(&["--hub-url", "http://hub:8765"]).remote_url(),
        Some("http://hub:8765")
    );
}

#[test]
fn a_restart_shows_the_window_and_opens_nothing_again() {
    let line = [
        "--data-dir",
        "/tmp/one",
        "--hidden",
        "notes.mcpb",
        "--skip-config-gen",
    ];
    let arguments = parse_args(&line).for_restart(line.into_iter().map(OsString::from));
    assert_eq!(arguments, ["--data-dir", "/tmp/one", "--skip-config-gen"]);
}
