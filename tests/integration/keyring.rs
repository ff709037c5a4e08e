//! A keyring that many hubs share, and a keyring that is locked or absent.

use std::{fs, process::Stdio, thread};

use drawbridge_tests::{DesktopSession, Home, paths};
use serde_json::{Value, json};

/// The number of hubs that use the keyring at the same time, each with its own data folder.
const HUBS: usize = 30;

#[test]
fn thirty_hubs_use_one_keyring_concurrently() {
    let desktop = DesktopSession::without_screen();
    let home: &Home = &desktop;
    let answers: Vec<(String, Value)> = thread::scope(|scope| {
        let hubs: Vec<_> = (0..HUBS)
            .map(|number| scope.spawn(move || store_and_list(home, number)))
            .collect();
        hubs.into_iter()
            .map(|hub| hub.join().expect("the hub's thread ends"))
            .collect()
    });
    let failed_hubs: Vec<_> = answers
        .iter()
        .enumerate()
        .filter(|(number, (failure, listed))| {
            let row = |name: &str, present: bool| {
                json!({"name": format!("hub-{number}.{name}"), "present": present, "servers": ["server"], "not_granted": ["server"], "traces": false})
            };
            !failure.is_empty() || *listed != json!([row("KEPT", true), row("NEVER_SET", false)])
        })
        .collect();
    assert!(
        failed_hubs.is_empty(),
        "{} of {HUBS} hubs did not get their answers: {failed_hubs:#?}",
        failed_hubs.len()
    );
}

#[test]
fn a_locked_keyring_is_distinguished_from_an_absent_keyring() {
    let desktop = DesktopSession::without_screen();
    let (failure, _) = store_and_list(&desktop, 0);
    assert_eq!(failure, "");
    desktop.keyring().lock();
    let (failure, listed) = store_and_list(&desktop, 0);
    assert!(failure.contains("the keyring is locked"), "{failure}");
    let is_unknown = listed
        .as_array()
        .is_some_and(|rows| rows.iter().all(|row| row["present"] == Value::Null));
    assert!(
        is_unknown,
        "the content of a locked keyring is unknown: {listed}"
    );
    let (failure, _) = store_and_list(&Home::new(), 0);
    assert!(
        failure.contains("the keyring cannot be used") && !failure.contains("locked"),
        "{failure}"
    );
}

/// Stores a secret, and lists this secret beside a secret that was never set. Also stores and
/// removes a secret that all hubs share. Returns the failures and the list.
fn store_and_list(home: &Home, number: usize) -> (String, Value) {
    let folder = home.file(&format!("data-{number}"));
    let servers = folder.join("servers");
    fs::create_dir_all(&servers).expect("create the folder of the specs");
    let keyring_reference = |name: &str| format!("${{keyring:hub-{number}.{name}}}");
    let spec = json!({"command": "true", "env": {"A": keyring_reference("KEPT"), "B": keyring_reference("NEVER_SET")}});
    fs::write(servers.join("server.json"), spec.to_string()).expect("write the spec file");
    let run_drawbridge = |arguments: &[&str], input: Stdio| {
        let mut command = home.command(paths::built_binary("drawbridge"));
        command
            .args(arguments)
            .arg("--data-dir")
            .arg(&folder)
            .stdin(input)
            .output()
            .expect("drawbridge runs")
    };
    let value_file = home.file(&format!("value-{number}"));
    fs::write(&value_file, "a value").expect("write the value");
    let set_secret = |name: &str| {
        run_drawbridge(
            &["secrets", "set", name],
            fs::File::open(&value_file)
                .expect("the value can be read")
                .into(),
        )
    };
    // The last two commands change an item that all the hubs share.
    let changes = [
        set_secret(&format!("hub-{number}.KEPT")),
        set_secret("shared"),
        run_drawbridge(&["secrets", "remove", "shared"], Stdio::null()),
    ];
    let listed = run_drawbridge(&["secrets", "list", "--json"], Stdio::null());
    let failed: Vec<_> = changes
        .iter()
        .chain([&listed])
        .filter(|output| !output.status.success())
        .collect();
    let failures = failed
        .iter()
        .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
        .collect();
    (
        failures,
        serde_json::from_slice(&listed.stdout).unwrap_or_default(),
    )
}
