//! Servers in a sandbox: forbidden accesses are refused, real servers keep working, and a sandbox
//! that cannot be enforced starts nothing. Accesses are recorded, and make a proposed sandbox.

use std::{
    fs,
    net::TcpListener,
    os::unix::net::{UnixDatagram, UnixListener},
    path::PathBuf,
    time::Duration,
};

use drawbridge_tests::{Home, Hub, McpClient, hub, paths, wait::some_if, wait_until};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const REFUSED: &str = "EACCES";
/// The longest time until a server's accesses are reported. The recorder reports them once a
/// second.
const REPORT_TIMEOUT: Duration = Duration::from_secs(30);

fn fixture(name: &str) -> String {
    paths::path_text(paths::repository_root().join("tests/upstreams").join(name))
}

fn python() -> String {
    paths::path_text(paths::python_program())
}

/// A server that attempts the access that a call asks for.
struct Curious {
    client: McpClient,
}

impl Curious {
    fn add(hub: &Hub, sandbox: &Value) -> Self {
        let spec = json!({
            "name": "curious", "command": python(), "args": [fixture("curious.py")], "sandbox": sandbox
        });
        hub.run_verb("servers.add", &json!({"spec": spec}));
        hub.wait_until_synced("curious");
        hub.set_policy("curious", "allow");
        Self {
            client: hub.connect_client("desk"),
        }
    }

    /// Lets the server attempt an access. Returns `done`, a value that was read, `failed`, or the
    /// name of the error. The kinds of accesses are in `curious.py`.
    fn attempt(&self, kind: &str, target: impl ToString) -> String {
        let arguments = json!({"kind": kind, "target": target.to_string()});
        self.client
            .call("curious__attempt", &arguments.to_string())
            .text()
    }

    #[track_caller]
    fn assert(&self, kind: &str, target: impl ToString, expected: &str) {
        let target = target.to_string();
        assert_eq!(self.attempt(kind, &target), expected, "{kind} {target}");
    }
}

/// Writes a file in the home folder of the person.
fn write_file(home: &Home, name: &str) -> PathBuf {
    let file = home.path().join("home").join(name);
    fs::create_dir_all(file.parent().expect("a parent")).expect("create a folder");
    fs::write(&file, "private").expect("write a file");
    file
}

#[test]
fn a_server_with_only_its_own_folder_gets_nothing_else() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let key = write_file(&home, ".ssh/id_ed25519");
    let curious = Curious::add(&hub, &json!({}));
    let own = home.data_dir().join("server-folders/curious");
    curious.assert("variable", "HOME", &paths::path_text(&own));
    curious.assert("write", "~/notes", "done");
    curious.assert("read", "~/notes", "done");
    curious.assert("run", "test \"$PATH\" && echo x > notes", "done");
    for (kind, target) in [
        ("read", paths::path_text(&key)),
        ("write", paths::path_text(&key)),
        ("truncate", paths::path_text(&key)),
        ("list", paths::path_text(home.path().join("home"))),
        (
            "read",
            paths::path_text(home.data_dir().join("drawbridge.db")),
        ),
        ("list", paths::path_text(home.data_dir())),
        ("write", "/tmp/drawbridge-escaped".to_owned()),
        ("environment", hub.pid().to_string()),
    ] {
        curious.assert(kind, target, REFUSED);
    }
    // The same holds for a process in a new session with an empty environment.
    let copy = format!("cat {} > notes", paths::path_text(&key));
    curious.assert("run", copy, "failed");
    assert_eq!(fs::read_to_string(&key).expect("the key"), "private");
    assert!(!PathBuf::from("/tmp/drawbridge-escaped").exists());
    // The network is not restricted.
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let port = listener.local_addr().expect("an address").port();
    curious.assert("connect", port, "done");
}

#[test]
fn a_server_in_a_sandbox_reaches_no_other_process() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let curious = Curious::add(&hub, &json!({"files": "all"}));
    let socket = home.path().join("stream");
    let _stream = UnixListener::bind(&socket).expect("listen");
    let datagrams = home.path().join("datagrams");
    let _datagrams = UnixDatagram::bind(&datagrams).expect("listen");
    curious.assert("local", paths::path_text(&socket), REFUSED);
    curious.assert("local_datagram", paths::path_text(&datagrams), REFUSED);
    curious.assert("pipe", "", "done");
    curious.assert("uring", "", REFUSED);
    curious.assert("environment", hub.pid(), REFUSED);
    let signals = hub.show_server("curious")["sandbox"]["signals"] == json!(true);
    assert!(signals, "{}", hub.show_server("curious")["sandbox"]);
    curious.assert("signal", hub.pid(), "EPERM");
    curious.assert("run", "sleep 60 & kill $!", "done");
}

#[test]
fn a_server_reads_the_project_and_writes_nothing_in_it() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let file = write_file(&home, "project/src/main.rs");
    let other_file = write_file(&home, "other/file");
    let output = write_file(&home, "output/file");
    let sandbox = json!({"read": ["~/project"], "write": [paths::path_text(&output)]});
    let curious = Curious::add(&hub, &sandbox);
    let path = |file: &PathBuf| paths::path_text(file);
    curious.assert("read", path(&file), "done");
    curious.assert("write", path(&file), REFUSED);
    curious.assert("truncate", path(&file), REFUSED);
    curious.assert("write", path(&file.with_extension("new")), REFUSED);
    curious.assert("write", path(&output), "done");
    curious.assert("write", path(&output.with_extension("new")), REFUSED);
    curious.assert("read", path(&other_file), REFUSED);
}

#[test]
fn a_script_with_a_relative_path_is_found_in_the_working_folder_of_its_server() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let project = home.path().join("home/project");
    fs::create_dir_all(project.join("src")).expect("create a folder");
    fs::copy(fixture("curious.py"), project.join("src/server.py")).expect("copy the server");
    let spec = json!({
        "name": "curious", "command": python(), "args": ["src/server.py"],
        "cwd": paths::path_text(&project), "sandbox": {}
    });
    hub.run_verb("servers.add", &json!({"spec": spec}));
    hub.wait_until_synced("curious");
}

#[test]
fn a_server_without_the_network_has_no_socket() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let file = write_file(&home, "file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let port = listener.local_addr().expect("an address").port();
    let curious = Curious::add(&hub, &json!({"files": "all", "network": "none"}));
    for kind in ["connect", "listen", "udp"] {
        curious.assert(kind, port, REFUSED);
    }
    curious.assert("write", paths::path_text(&file), "done");
}

#[test]
fn a_server_uses_the_listed_ports_only() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let listen = || TcpListener::bind("127.0.0.1:0").expect("listen");
    let (allowed, other) = (listen(), listen());
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    let sandbox = json!({"files": "all", "network": "listed", "connect": [port(&allowed)]});
    let curious = Curious::add(&hub, &sandbox);
    curious.assert("connect", port(&allowed), "done");
    curious.assert("connect", port(&other), REFUSED);
    curious.assert("listen", 0, REFUSED);
}

#[test]
fn a_changed_sandbox_waits_for_acceptance_and_shows_the_difference() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let curious = Curious::add(&hub, &json!({"network": "none"}));
    drop(curious);
    let shown = home.cli(&["servers", "show", "curious"]).expect_success();
    for text in ["its own folder", "none", "Landlock"] {
        assert!(shown.stdout().contains(text), "{text}: {}", shown.stdout());
    }
    let mut spec = hub.show_server("curious")["spec"].clone();
    for (sandbox, field) in [
        (
            json!({"files": "listed", "network": "all"}),
            "/sandbox/network",
        ),
        (Value::Null, "/sandbox/files"),
    ] {
        spec["sandbox"] = sandbox;
        hub::write_spec(&home, "curious", &spec.to_string());
        wait_until("the server waits for acceptance", || {
            let server = hub.show_server("curious");
            let fields = server["changes"].as_array().expect("a list").clone();
            let is_listed = fields.iter().any(|change| change["field"] == field);
            some_if(server["state"] == "needs_acceptance" && is_listed)
        });
    }
}

#[test]
fn a_sandbox_that_cannot_be_enforced_starts_nothing() {
    let home = Home::new();
    let (python, wrapper) = (python(), fixture("without_landlock.py"));
    let hub = Hub::serve_with_starter(&home, &[&python, &wrapper]);
    let record = home.file("started");
    let script = format!("echo started > {}", paths::path_text(&record));
    for (name, sandbox) in [
        ("files", json!({})),
        ("network", json!({"files": "all", "network": "none"})),
    ] {
        let spec = json!({
            "name": name, "command": "sh", "args": ["-c", script], "sandbox": sandbox, "retries": 0
        });
        hub.run_verb("servers.add", &json!({"spec": spec}));
        let reason = wait_until("the server cannot be started", || {
            let server = hub.show_server(name);
            some_if(server["state"] == "error").map(|()| server["reason"].to_string())
        });
        assert!(
            reason.contains("sandbox cannot be enforced") && reason.contains("no Landlock"),
            "{reason}"
        );
    }
    assert!(!record.exists(), "the program did not run");
    // Without a sandbox the same program starts.
    hub.add_server("free", &[], &["sh", "-c", &script]);
    wait_until("the program runs without a sandbox", || {
        some_if(record.exists())
    });
}

#[test]
fn a_sandbox_with_a_missing_folder_starts_nothing() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let options = [
        "--sandbox",
        "read-project",
        "--sandbox-read",
        "/nonexistent/project",
    ];
    hub.add_server("lost", &options, &["sh", "-c", "exit 3"]);
    let reason = wait_until("the server cannot be started", || {
        let server = hub.show_server("lost");
        some_if(server["state"] == "error").map(|()| server["reason"].to_string())
    });
    assert!(reason.contains("/nonexistent/project"), "{reason}");
}

#[test]
fn real_servers_work_in_their_sandboxes() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let project = write_file(&home, "project/readme.md");
    let folder = paths::path_text(project.parent().expect("a folder"));
    let npm = |name: &str| {
        paths::path_text(paths::npm_file(&format!(
            "@modelcontextprotocol/{name}/dist/index.js"
        )))
    };
    let everything = npm("server-everything");
    let (files, memory) = (npm("server-filesystem"), npm("server-memory"));
    let thinking = npm("server-sequential-thinking");
    let python = python();
    let own = ["--sandbox", "own-folder", "--sandbox", "no-network"];
    let read = ["--sandbox", "no-network", "--sandbox-read", folder.as_str()];
    let servers: [(&str, &[&str], &[&str]); 6] = [
        ("everything", &own, &["node", &everything]),
        ("linked", &own, &["mcp-server-everything"]),
        ("files", &read, &["node", &files, &folder]),
        ("memory-graph", &own, &["node", &memory]),
        ("thinking", &own, &["node", &thinking]),
        ("time", &own, &[&python, "-m", "mcp_server_time"]),
    ];
    let client = {
        for (name, options, command) in servers {
            hub.add_server(name, options, command);
            hub.set_policy(name, "allow");
        }
        for (name, ..) in servers {
            hub.wait_until_synced(name);
        }
        hub.connect_client("desk")
    };
    let call = |tool: &str, arguments: Value| client.call(tool, &arguments.to_string());
    let text = call("everything__echo", json!({"message": "hello"})).text();
    assert!(text.contains("hello"), "{text}");
    let path = paths::path_text(&project);
    let text = call("files__read_text_file", json!({"path": path})).text();
    assert_eq!(text, "private");
    let written = call("files__write_file", json!({"path": path, "content": "x"}));
    assert!(written.is_error(), "{}", written.raw);
    assert_eq!(fs::read_to_string(&project).expect("the file"), "private");
    let text = call(
        "time__get_current_time",
        json!({"timezone": "Europe/Berlin"}),
    )
    .text();
    assert!(text.contains("Europe/Berlin"), "{text}");
}

/// Waits until the summary of a server's recorded run satisfies `is_there`, and returns the report.
#[track_caller]
fn wait_for_report(hub: &Hub, id: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    let report = drawbridge_tests::wait::try_until_within(REPORT_TIMEOUT, || {
        last = hub.run_verb("servers.access_report", &json!({"id": id}));
        some_if(is_there(&last["report"]["access"]["summary"]))
    });
    assert!(report.is_some(), "the access is not reported: {last:#}");
    last
}

/// Returns whether a summary lists a file with this access, as refused or not.
fn lists_file(summary: &Value, path: &str, access: &str, refused: bool) -> bool {
    let files = summary["files"].as_array().cloned().unwrap_or_default();
    files
        .iter()
        .any(|file| file["path"] == path && file["access"] == access && file["refused"] == refused)
}

fn lists_address(summary: &Value, kind: &str, port: u16, refused: bool) -> bool {
    let addresses = summary["addresses"].as_array().cloned();
    addresses.unwrap_or_default().iter().any(|address| {
        address["kind"] == kind && address["port"] == port && address["refused"] == refused
    })
}

fn refuses_call(summary: &Value, call: &str) -> bool {
    let calls = summary["refused_calls"].as_array().cloned();
    calls.unwrap_or_default().iter().any(|found| found == call)
}

#[test]
fn each_attempt_to_leave_a_sandbox_is_refused_and_reported() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let key = paths::path_text(write_file(&home, ".ssh/id_ed25519"));
    let outside = paths::path_text(home.path().join("home/escaped"));
    let listen = || TcpListener::bind("127.0.0.1:0").expect("listen");
    let (allowed, other) = (listen(), listen());
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    let sandbox = json!({"network": "listed", "connect": [port(&allowed)]});
    let curious = Curious::add(&hub, &sandbox);
    let wait_until_reported = |is_there: &dyn Fn(&Value) -> bool| {
        wait_for_report(&hub, "curious", is_there);
    };
    curious.assert("read", &key, REFUSED);
    wait_until_reported(&|summary| lists_file(summary, &key, "read", true));
    curious.assert("write", &outside, REFUSED);
    wait_until_reported(&|summary| lists_file(summary, &outside, "write", true));
    curious.assert("connect", port(&other), REFUSED);
    wait_until_reported(&|summary| lists_address(summary, "connect", port(&other), true));
    curious.assert("connect", port(&allowed), "done");
    wait_until_reported(&|summary| lists_address(summary, "connect", port(&allowed), false));
    // The recorder answers these calls, with the error of the sandbox.
    curious.assert("local", &key, REFUSED);
    wait_until_reported(&|summary| refuses_call(summary, "local_socket"));
    curious.assert("uring", "", REFUSED);
    wait_until_reported(&|summary| refuses_call(summary, "io_uring"));
    // A process that leaves the session is recorded, too.
    let second_file = paths::path_text(write_file(&home, ".ssh/second"));
    curious.assert("run", format!("cat {second_file}"), "failed");
    wait_until_reported(&|summary| lists_file(summary, &second_file, "read", true));
    wait_until_reported(&|summary| {
        let programs = summary["programs"].as_array().cloned().unwrap_or_default();
        programs.iter().any(|program| {
            program["path"]
                .as_str()
                .is_some_and(|path| path.ends_with("/cat"))
                && program["refused"] == false
        })
    });
    let shown = home.cli(&["servers", "report", "curious"]).expect_success();
    for text in ["Refused by the sandbox", "id_ed25519", "use local sockets"] {
        assert!(shown.stdout().contains(text), "{text}: {}", shown.stdout());
    }
    // No refused path is proposed, and the report remains after a restart.
    let view = hub.run_verb("servers.access_report", &json!({"id": "curious"}));
    let proposed = view["proposal"]["sandbox"].to_string();
    assert!(!proposed.contains(".ssh"), "{proposed}");
    assert_eq!(view["is_recording"], true);
    drop(curious);
    hub.stop(Signal::SIGTERM);
    let hub = Hub::serve(&home);
    let view = hub.run_verb("servers.access_report", &json!({"id": "curious"}));
    assert!(lists_file(
        &view["report"]["access"]["summary"],
        &second_file,
        "read",
        true
    ));
}

#[test]
fn only_the_first_run_is_recorded_until_a_person_asks_for_another_recording() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let curious = Curious::add(&hub, &Value::Null);
    let file = |name: &str| paths::path_text(write_file(&home, name));
    let (first, second, third) = (file("a/first"), file("b/second"), file("c/third"));
    let view = || hub.run_verb("servers.access_report", &json!({"id": "curious"}));
    curious.assert("read", &first, "done");
    wait_for_report(&hub, "curious", |summary| {
        lists_file(summary, &first, "read", false)
    });
    assert_eq!(view()["is_recording"], true);
    hub.run_verb("servers.restart", &json!({"id": "curious"}));
    curious.assert("read", &second, "done");
    let unrecorded = view();
    assert_eq!(unrecorded["is_recording"], false);
    assert!(lists_file(
        &unrecorded["report"]["access"]["summary"],
        &first,
        "read",
        false
    ));
    home.cli(&["servers", "record", "curious"]).expect_success();
    curious.assert("read", &third, "done");
    let report = wait_for_report(&hub, "curious", |summary| {
        lists_file(summary, &third, "read", false)
    });
    let summary = &report["report"]["access"]["summary"];
    for earlier in [&first, &second] {
        assert!(!lists_file(summary, earlier, "read", false), "{summary}");
    }
    assert_eq!(report["proposal"]["sandbox"]["read"], json!(["~/c/third"]));
    assert_eq!(report["proposal"]["sandbox"]["network"], "none");
}

#[test]
fn real_servers_keep_working_in_the_sandboxes_that_are_proposed() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let project = write_file(&home, "project/readme.md");
    let folder = paths::path_text(project.parent().expect("a folder"));
    let file = paths::path_text(&project);
    let files = paths::path_text(paths::npm_file(
        "@modelcontextprotocol/server-filesystem/dist/index.js",
    ));
    let python = python();
    hub.add_server("files", &[], &["node", &files, &folder]);
    hub.add_server("time", &[], &[&python, "-m", "mcp_server_time"]);
    for name in ["files", "time"] {
        hub.set_policy(name, "allow");
        hub.wait_until_synced(name);
    }
    let client = hub.connect_client("desk");
    let use_all = || {
        let call = |tool: &str, arguments: Value| client.call(tool, &arguments.to_string());
        let text = call("files__read_text_file", json!({"path": file})).text();
        assert_eq!(text, "private");
        let notes = format!("{folder}/notes.md");
        let written = call("files__write_file", json!({"path": notes, "content": "x"}));
        assert!(!written.is_error(), "{}", written.raw);
        let zone = json!({"timezone": "Europe/Berlin"});
        let text = call("time__get_current_time", zone).text();
        assert!(text.contains("Europe/Berlin"), "{text}");
    };
    use_all();
    let report = wait_for_report(&hub, "files", |summary| {
        lists_file(summary, &file, "read", false)
            && summary["files"].to_string().contains("notes.md")
    });
    let proposal = report["proposal"]["sandbox"].clone();
    assert_eq!(
        proposal,
        json!({"files": "listed", "write": ["~/project"], "network": "none"})
    );
    for (name, write) in [("files", json!(["~/project"])), ("time", Value::Null)] {
        let view = hub.run_verb("servers.access_report", &json!({"id": name}));
        let sandbox = view["proposal"]["sandbox"].clone();
        assert_eq!(sandbox["write"], write, "{name}: {view:#}");
        let mut spec = hub.show_server(name)["spec"].clone();
        spec["sandbox"] = sandbox;
        hub.run_verb("servers.update", &json!({"id": name, "spec": spec}));
        hub.wait_until_synced(name);
    }
    use_all();
    // The reports are about the servers in their new sandboxes, which are enforced.
    for name in ["files", "time"] {
        let view = hub.run_verb("servers.access_report", &json!({"id": name}));
        assert_eq!(view["is_current"], true, "{view:#}");
        let enforced = &hub.show_server(name)["sandbox"];
        assert!(enforced["landlock"].is_u64(), "{enforced}");
    }
}
