//! `drawbridge doctor`: it finds failures and names the remedies, and its bundle of diagnostics
//! contains no secret.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, path::Path, process::Command};

use drawbridge_tests::{
    DesktopSession, Home, Hub,
    canary::{self, Canary},
    home::CliOutput,
    hub::write_spec,
    paths, store,
    wait::some_if,
    wait_until,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// The report of `drawbridge doctor`, and its exit code.
struct Report {
    exit_code: i32,
    report: Value,
}

impl Report {
    /// Runs the doctor on the home's data folder.
    #[track_caller]
    fn run(home: &Home) -> Self {
        Self::read(&home.cli(&["doctor", "--json"]))
    }

    #[track_caller]
    fn read(output: &CliOutput) -> Self {
        let report = serde_json::from_str(&output.stdout())
            .unwrap_or_else(|e| panic!("no report ({e}): {}{}", output.stdout(), output.stderr()));
        Self {
            exit_code: output.exit_code(),
            report,
        }
    }

    /// Returns the checks of a topic.
    fn list_checks(&self, topic: &str) -> Vec<&Value> {
        let checks = self.report["checks"].as_array().expect("checks");
        checks
            .iter()
            .filter(|check| check["topic"] == topic)
            .collect()
    }

    /// Fails unless a check of this topic has this status and contains `text`. The check must have
    /// a remedy exactly if its status is not `ok`.
    #[track_caller]
    fn expect(&self, topic: &str, status: &str, text: &str) {
        let matching_check = self.list_checks(topic).into_iter().find(|check| {
            check["status"] == status
                && check["text"]
                    .as_str()
                    .is_some_and(|shown| shown.contains(text))
        });
        let matching_check = matching_check.unwrap_or_else(|| {
            panic!(
                "no {status} with '{text}' in {topic}: {:#?}",
                self.list_checks(topic)
            )
        });
        assert_eq!(
            matching_check["remedy"] == "",
            status == "ok",
            "{matching_check}"
        );
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

fn database(home: &Home) -> std::path::PathBuf {
    home.data_dir().join("drawbridge.db")
}

#[test]
fn a_healthy_hub_has_no_failure() {
    let mut desktop = DesktopSession::without_screen();
    desktop.set_variable("SHELL", "/bin/sh");
    let hub = Hub::serve(&desktop);
    hub.add_probe(&[]);
    hub.add_client("desk");
    let report = Report::run(&desktop);
    for (topic, text) in [
        ("hub", "runs"),
        ("environment", "The programs of servers are searched for in"),
        ("keyring", "ready"),
        ("listeners", "http"),
        ("listeners", "local"),
        ("clients", "1 client is known"),
        ("servers", "probe"),
        ("database", "intact"),
        ("database", "schema"),
        ("clock", "not behind"),
        ("data_folder", "can be written to"),
    ] {
        report.expect(topic, "ok", text);
    }
    assert_eq!(report.exit_code, 0, "{:#}", report.report);
    let text = desktop.cli(&["doctor"]).expect_success().stdout();
    assert!(text.contains("0 failures."), "{text}");
}

#[test]
fn without_a_hub_the_doctor_checks_the_folder_and_the_port() {
    let home = Home::new();
    home.cli(&["settings", "list"]).expect_success();
    let other_program = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other_program
        .local_addr()
        .expect("an address")
        .port()
        .to_string();
    home.cli(&["settings", "set", "port", &port])
        .expect_success();
    let report = Report::run(&home);
    report.expect("hub", "warning", "No hub runs");
    report.expect("listeners", "failure", &port);
    report.expect("keyring", "warning", "Nothing needs a secret now");
    report.expect("servers", "warning", "no servers yet");
    report.expect("clients", "warning", "No client is connected");
    assert_eq!(report.exit_code, 1);
    let printed = home.cli(&["doctor"]);
    assert_eq!(printed.exit_code(), 1);
    assert!(
        printed.stdout().contains("failure  listeners")
            && printed.stdout().contains("→ Close the program"),
        "{}",
        printed.stdout()
    );
}

#[test]
fn each_problem_of_a_server_is_named_with_its_remedy() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    home.cli(&[
        "servers",
        "add",
        "waiting",
        "--pending",
        "--",
        "some-program",
    ])
    .expect_success();
    write_spec(&home, "broken", "{\n  \"command\": 1\n}");
    hub.run_verb(
        "servers.add",
        &json!({"spec": {"name": "missing", "command": "no-such-program", "retries": 0}}),
    );
    let _ = home.cli(&["servers", "sync", "missing"]);
    wait_until("the server that cannot start has an error", || {
        some_if(hub.show_server("missing")["state"] == "error")
    });
    hub.run_verb(
        "servers.add",
        &json!({"spec": {"name": "package", "command": "dnx", "args": ["Some.Tool"]}}),
    );
    let report = Report::run(&home);
    report.expect("servers", "warning", "waiting: needs acceptance");
    report.expect("servers", "failure", "broken.json:2:");
    report.expect("servers", "failure", "missing: error");
    report.expect("runtimes", "failure", "'dnx', and a server needs it");
    assert_eq!(report.exit_code, 1);
}

#[test]
fn a_clock_that_was_set_back_and_open_permissions_are_noticed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    hub.add_probe(&[]);
    hub.set_policy("probe", "allow");
    hub.connect_client("desk").call("probe__echo", "{}");
    hub.stop(Signal::SIGTERM);
    store::run_sql(&home.data_dir(), "UPDATE call SET at = at + 3600000");
    set_mode(&home.data_dir(), 0o755);
    set_mode(&database(&home), 0o644);
    let report = Report::run(&home);
    report.expect("clock", "failure", "s behind the newest record");
    report.expect("data_folder", "warning", "(mode 755)");
    report.expect("data_folder", "warning", "drawbridge.db (mode 644)");
}

#[test]
fn a_database_that_is_damaged_inside_is_noticed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let healthy = Report::run(&home);
    healthy.expect("database", "ok", "intact");
    hub.stop(Signal::SIGTERM);
    store::run_sql(&home.data_dir(), "PRAGMA wal_checkpoint(TRUNCATE)");
    // This page belongs to no table, so no query notices it.
    let mut bytes = fs::read(database(&home)).expect("read the database");
    let page_size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let pages = u32::try_from(bytes.len() / page_size).expect("a small database");
    bytes.resize(bytes.len() + page_size, 0);
    bytes[28..32].copy_from_slice(&(pages + 1).to_be_bytes());
    fs::write(database(&home), bytes).expect("write the database");
    let report = Report::run(&home);
    report.expect("database", "failure", "damaged");
    assert_eq!(report.exit_code, 1);
}

#[test]
fn the_doctor_also_reports_if_the_hub_cannot_be_reached() {
    let home = Home::new();
    let unreachable = home.remote_cli("http://127.0.0.1:1", None, &["doctor", "--json"]);
    let report = Report::read(&unreachable);
    report.expect("hub", "failure", "cannot be reached");
    report.expect("environment", "ok", "Drawbridge");
    assert_eq!(report.exit_code, 1);

    fs::write(home.data_dir(), "no folder").expect("write a file");
    let archive = home.file("diagnostics.zip");
    let without_folder = home.cli(&["doctor", "--json", "--bundle", &paths::path_text(&archive)]);
    let report = Report::read(&without_folder);
    report.expect("hub", "failure", "cannot be asked");
    report.expect("data_folder", "failure", "cannot be written to");
    let files = unpack(&archive, &home.file("unpacked"));
    assert!(
        files
            .iter()
            .any(|(name, text)| name == "doctor.json" && text.contains("cannot be asked")),
        "{files:?}"
    );
}

/// Unpacks an archive, and returns its files with their texts.
fn unpack(archive: &Path, folder: &Path) -> Vec<(String, String)> {
    let status = Command::new(paths::find_program("python3"))
        .args(["-m", "zipfile", "-e"])
        .args([archive, folder])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the archive is intact"
    );
    canary::list_files(folder)
        .into_iter()
        .map(|file| {
            let name = file.strip_prefix(folder).expect("a file below the folder");
            let text = fs::read_to_string(&file).expect("text");
            (name.to_string_lossy().into_owned(), text)
        })
        .collect()
}

#[test]
fn the_bundle_lists_what_it_contains_and_has_no_secret_from_any_place() {
    let mut desktop = DesktopSession::without_screen();
    let admin = Canary::new("admin-token-of-this-test");
    desktop.set_variable("SHELL", "/bin/sh");
    let hub = Hub::serve_with_env(&desktop, &[("DRAWBRIDGE_ADMIN_TOKEN", admin.value())]);
    let new_canary = Canary::new;
    let (variable, header, option, assigned, query, password, bearer, unknown, keyring, logged) = (
        new_canary("variable"),
        new_canary("header"),
        new_canary("option"),
        new_canary("assigned"),
        new_canary("query"),
        new_canary("password"),
        new_canary("bearer"),
        new_canary("unknown"),
        new_canary("keyring"),
        new_canary("logged"),
    );
    write_spec(
        &desktop,
        "local",
        &json!({
            "command": "sh",
            "args": ["-c", format!("echo 'I start with {}' >&2; exit 1", logged.value()),
                "--api-key", option.value(), format!("--token={}", assigned.value())],
            "env": {"PLAIN": variable.value(), "LOGGED": logged.value()},
            "retries": 0,
            "extra": {"deep": [unknown.value()]},
        })
        .to_string(),
    );
    write_spec(
        &desktop,
        "remote",
        &json!({
            "url": format!("http://ada:{}@127.0.0.1:9/mcp?key={}", encode(password.value()), encode(query.value())),
            "headers": {"X-Key": header.value()},
            "bearer_token": bearer.value(),
        })
        .to_string(),
    );
    write_spec(
        &desktop,
        "broken",
        &json!({"command": {"secret": new_canary("broken").value()}}).to_string(),
    );
    let secret = format!("API_KEY={}", keyring.value());
    desktop
        .cli(&[
            "servers",
            "add",
            "sealed",
            "--secret",
            &secret,
            "--",
            "sh",
            "-c",
            "echo \"key $API_KEY\" >&2",
        ])
        .expect_success();
    wait_until("the specs are read", || {
        let shown = desktop.cli(&["servers", "show", "local", "--json"]);
        some_if(shown.exit_code() == 0)
    });
    desktop.accept_server("local");
    for server in ["local", "sealed"] {
        let _ = desktop.cli(&["servers", "sync", server]);
    }
    let token = hub.add_client("desk");

    let archive = desktop.file("diagnostics.zip");
    let printed = desktop.cli(&["doctor", "--bundle", &paths::path_text(&archive)]);
    let listed = printed.stdout();
    let mode = fs::metadata(&archive)
        .expect("the archive")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let files = unpack(&archive, &desktop.file("unpacked"));
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "README.txt",
        "versions.json",
        "settings.json",
        "health.json",
        "clients.json",
        "doctor.json",
        "servers/local.json",
        "servers/remote.json",
        "servers/sealed.json",
        "logs/hub.log",
        "logs/servers/local.log",
    ] {
        assert!(names.contains(&name), "{name} is in {names:?}");
        assert!(listed.contains(name), "{name} is listed: {listed}");
    }
    let text = |name: &str| {
        let file = files.iter().find(|(file_name, _)| file_name == name);
        file.map_or_else(|| panic!("{name} is missing"), |(_, text)| text.as_str())
    };
    assert!(
        text("logs/servers/local.log").contains("I start with"),
        "{}",
        text("logs/servers/local.log")
    );
    assert!(
        text("servers/local.json").contains("--api-key"),
        "{}",
        text("servers/local.json")
    );
    assert!(
        text("servers/sealed.json").contains("${keyring:sealed.API_KEY}"),
        "{}",
        text("servers/sealed.json")
    );
    let client = Canary::from_secret(&token);
    let broken = new_canary("broken");
    let all_secrets = [
        &variable, &header, &option, &assigned, &query, &password, &bearer, &unknown, &keyring,
        &logged, &admin, &client, &broken,
    ];
    for (name, text) in &files {
        for secret in all_secrets {
            if let Some(encoding) = secret.find_in(text.as_bytes()) {
                panic!(
                    "{name} contains {} (as {encoding}):\n{text}",
                    secret.value()
                );
            }
        }
    }
    let json = desktop.cli(&["doctor", "--json", "--bundle", &paths::path_text(&archive)]);
    let json: Value = serde_json::from_str(&json.stdout()).expect("JSON");
    assert_eq!(
        json["bundle"]["files"].as_array().map(Vec::len),
        Some(files.len())
    );
}

/// Returns the text as it is written in a URL.
fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
