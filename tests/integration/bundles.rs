//! MCP bundles: their servers are added, used and removed, and run in a sandbox. A bundle that
//! cannot be added, or whose server was removed, leaves no files.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use drawbridge_tests::{DesktopSession, Home, Hub, paths};
use serde_json::{Value, json};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

const SECRET: &str = "correct-horse-battery-staple";

/// Writes a bundle with the fixture server `upstream-probe` and these further entries.
fn write_bundle(home: &Home, entries: &[&str]) -> String {
    let manifest = json!({
        "manifest_version": "0.3",
        "name": "desk-probe",
        "display_name": "Desk probe",
        "version": "1.2.3",
        "description": "Says what it was told",
        "author": {"name": "Ada"},
        "server": {
            "type": "binary",
            "entry_point": "server/probe",
            "mcp_config": {
                "command": "${__dirname}/server/probe",
                "args": ["--describe", "${user_config.words}"],
                "env": {"PROBE_KEY": "${user_config.key}"},
            },
        },
        "tools": [{"name": "variable", "description": "Shows a variable"}],
        "user_config": {
            "key": {
                "type": "string", "title": "Key", "description": "of your account",
                "required": true, "sensitive": true,
            },
            "words": {
                "type": "string", "title": "Words", "description": "", "default": "From a bundle",
            },
        },
    });
    let program = fs::read(paths::built_binary("upstream-probe")).expect("read the server");
    let mut files = vec![("server/probe".to_owned(), program)];
    files.extend(entries.iter().map(|name| ((*name).to_owned(), vec![b'x'])));
    pack(home, "probe", &manifest, files)
}

/// Writes a bundle with these files. Returns its path.
fn pack(home: &Home, name: &str, manifest: &Value, files: Vec<(String, Vec<u8>)>) -> String {
    let file = home.file(&format!("{name}.mcpb"));
    let mut zip = ZipWriter::new(File::create(&file).expect("create the bundle"));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let manifest = (
        "manifest.json".to_owned(),
        manifest.to_string().into_bytes(),
    );
    for (name, content) in [manifest].into_iter().chain(files) {
        zip.start_file(name, stored).expect("an entry");
        zip.write_all(&content).expect("its content");
    }
    zip.finish().expect("an archive");
    paths::path_text(&file)
}

/// Reads all files below a folder, with their paths below `prefix`. Skips links, as tools that pack
/// bundles do, and `__pycache__` folders.
fn read_files(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("read a folder").flatten() {
        let name = format!("{prefix}/{}", entry.file_name().display());
        let kind = entry.file_type().expect("the kind of an entry");
        if kind.is_dir() && entry.file_name() != "__pycache__" {
            read_files(&entry.path(), &name, files);
        } else if kind.is_file() {
            files.push((name, fs::read(entry.path()).expect("read a file")));
        }
    }
}

/// Returns the files of an npm package and of all packages that it needs, as `npm install` puts
/// them into `node_modules`.
fn read_packages(package: &str) -> Vec<(String, Vec<u8>)> {
    let modules = paths::repository_root().join("tests/real/node_modules");
    let (mut pending, mut visited) = (vec![package.to_owned()], BTreeSet::new());
    let mut files = Vec::new();
    while let Some(name) = pending.pop() {
        let folder = modules.join(&name);
        if !folder.is_dir() || !visited.insert(name.clone()) {
            continue;
        }
        let text = fs::read(folder.join("package.json")).expect("a package.json");
        let package: Value = serde_json::from_slice(&text).expect("JSON");
        let needed = package["dependencies"].as_object().into_iter().flatten();
        pending.extend(needed.map(|(name, _)| name.clone()));
        read_files(&folder, &format!("node_modules/{name}"), &mut files);
    }
    files
}

/// Adds and accepts the server of a bundle, and allows its calls. Returns the server's spec.
fn add_bundle(home: &Home, hub: &Hub, id: &str, bundle: &str) -> Value {
    let added = home
        .cli(&["servers", "add", "--bundle", bundle, "--json"])
        .expect_json();
    assert_eq!(added["id"], id, "{added}");
    home.accept_server(id);
    hub.wait_until_synced(id);
    hub.set_policy(id, "allow");
    added["spec"].clone()
}

/// Returns the folder with the unpacked files of the server `desk-probe`.
fn unpacked_dir(home: &Home) -> PathBuf {
    home.data_dir().join("bundles/desk-probe")
}

#[track_caller]
fn assert_nothing_added(home: &Home) {
    assert!(!unpacked_dir(home).exists(), "unpacked files remain");
    let servers = home.cli(&["servers", "list", "--json"]).expect_json();
    let added = servers["servers"].as_array().expect("a list");
    assert!(
        added.iter().all(|server| server["id"] != "desk-probe"),
        "{servers}"
    );
}

#[test]
fn a_bundle_is_added_accepted_used_and_removed_with_its_files() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    let bundle = write_bundle(&desktop, &[]);
    let source = json!({"path": bundle});

    let opened = hub.run_verb("bundles.open", &json!({"source": source}));
    assert_eq!(
        (&opened["title"], &opened["version"], &opened["author"]),
        (&json!("Desk probe"), &json!("1.2.3"), &json!("Ada"))
    );
    assert_eq!(opened["tools"][0]["name"], "variable");
    assert_eq!(
        opened["choice"]["preview"],
        "<__dirname>/server/probe --describe <words>"
    );
    let inputs = opened["choice"]["inputs"].as_array().expect("a list");
    let shown: Vec<_> = inputs
        .iter()
        .map(|input| (&input["name"], &input["secret"], &input["default"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("key"), &json!(true), &Value::Null),
            (&json!("words"), &json!(false), &json!("From a bundle")),
        ]
    );

    let (status, refused) = hub.try_verb("bundles.add", &json!({"source": source}));
    assert!(
        status == 400 && refused.contains("Key (key)"),
        "a required value is missing: {status} {refused}"
    );
    assert_nothing_added(&desktop);

    let secret = format!("key={SECRET}");
    let options = ["servers", "add", "--bundle", &bundle, "--secret", &secret];
    let added = desktop
        .cli(&[options.as_slice(), &["--json"]].concat())
        .expect_json();
    assert_eq!(
        (&added["id"], &added["acceptance"]),
        (&json!("desk-probe"), &json!("new")),
        "{added}"
    );
    assert_eq!(
        added["spec"]["env"]["PROBE_KEY"],
        "${keyring:desk-probe.PROBE_KEY}"
    );
    assert!(!added.to_string().contains(SECRET), "{added}");
    let command = added["spec"]["command"].as_str().expect("a command");
    assert!(fs::canonicalize(command).is_ok_and(|path| {
        path.starts_with(fs::canonicalize(unpacked_dir(&desktop)).expect("the folder"))
    }));
    let recorded = hub.run_verb("audit.list", &json!({"kind": "server_added"}));
    assert_eq!(recorded["entries"][0]["body"]["server"], "desk-probe");

    desktop.accept_server("desk-probe");
    hub.wait_until_synced("desk-probe");
    hub.set_policy("desk-probe", "allow");
    let client = hub.connect_client("desk");
    let answer = client.call("desk-probe__variable", r#"{"name":"PROBE_KEY"}"#);
    assert_eq!(answer.text(), SECRET);

    desktop
        .cli(&["servers", "remove", "desk-probe"])
        .expect_success();
    assert_nothing_added(&desktop);
}

#[test]
fn the_command_line_asks_for_a_missing_secret() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    let bundle = write_bundle(&desktop, &[]);
    let typed = format!("{SECRET}\n");
    let added = desktop.cli_at_terminal(&["servers", "add", "--bundle", &bundle], &typed);
    let shown = added.expect_success().stdout();
    assert!(
        shown.contains("Value of key") && shown.contains("Server 'desk-probe' added."),
        "{shown}"
    );
    let server = hub.show_server("desk-probe");
    assert_eq!(server["state"], "needs_acceptance");
    assert_eq!(
        server["spec"]["env"]["PROBE_KEY"],
        "${keyring:desk-probe.PROBE_KEY}"
    );
}

#[test]
fn a_bundle_with_a_file_outside_its_folder_changes_nothing() {
    let home = Home::new();
    let _hub = Hub::serve(&home);
    let bundle = write_bundle(&home, &["../../../escaped"]);
    let secret = format!("key={SECRET}");
    let refused = home.cli(&["servers", "add", "--bundle", &bundle, "--secret", &secret]);
    assert_eq!(refused.exit_code(), 1);
    assert!(
        refused.stderr().contains("leaves the folder of the bundle"),
        "{}",
        refused.stderr()
    );
    assert_nothing_added(&home);
    assert!(!home.data_dir().join("bundles").exists());
    assert!(!home.file("escaped").exists() && !home.data_dir().join("escaped").exists());
}

#[test]
fn a_bundle_whose_secret_cannot_be_stored_leaves_no_files() {
    // This home has no keyring.
    let home = Home::new();
    let hub = Hub::serve(&home);
    let bundle = write_bundle(&home, &[]);
    let (status, refused) = hub.try_verb(
        "bundles.add",
        &json!({"source": {"path": bundle}, "values": {"key": SECRET}}),
    );
    assert!(
        status == 503 && refused.contains("keyring"),
        "{status} {refused}"
    );
    assert!(!refused.contains(SECRET), "{refused}");
    assert_nothing_added(&home);
}

#[test]
fn a_node_server_runs_from_a_bundle_also_in_a_sandbox() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let server = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let manifest = json!({
        "manifest_version": "0.3", "name": "everything", "version": "1.0.0",
        "description": "Every kind of tool", "author": {"name": "Ada"},
        "server": {
            "type": "node", "entry_point": server,
            "mcp_config": {"command": "node", "args": [format!("${{__dirname}}/{server}"), "stdio"]},
        },
    });
    let files = read_packages("@modelcontextprotocol/server-everything");
    let bundle = pack(&home, "everything", &manifest, files);
    let mut spec = add_bundle(&home, &hub, "everything", &bundle);
    let client = hub.connect_client("desk");
    let answer = client.call("everything__echo", r#"{"message":"packed"}"#);
    assert_eq!(answer.text(), "Echo: packed");

    // The server may read its own files, although the sandbox lists none.
    spec["sandbox"] = json!({});
    hub.run_verb("servers.update", &json!({"id": "everything", "spec": spec}));
    hub.wait_until_synced("everything");
    let answer = client.call("everything__echo", r#"{"message":"confined"}"#);
    assert_eq!(answer.text(), "Echo: confined");
}

#[test]
fn a_bundle_in_a_sandbox_reads_its_own_files_and_changes_none() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let manifest = json!({
        "manifest_version": "0.3", "name": "curious", "version": "1.0.0",
        "description": "Attempts forbidden accesses", "author": {"name": "Ada"},
        "server": {
            "type": "python", "entry_point": "server/curious.py",
            "mcp_config": {
                "command": paths::path_text(paths::python_program()),
                "args": ["${__dirname}/server/curious.py"],
            },
        },
    });
    let script = paths::repository_root().join("tests/upstreams/curious.py");
    let script = fs::read(script).expect("read the server");
    let files = vec![
        ("server/curious.py".to_owned(), script),
        ("data/words".to_owned(), b"x".to_vec()),
    ];
    let bundle = pack(&home, "curious", &manifest, files);
    let mut spec = add_bundle(&home, &hub, "curious", &bundle);
    let script = PathBuf::from(spec["args"][0].as_str().expect("a path"));
    let folder = script
        .ancestors()
        .nth(2)
        .expect("the folder of the bundle")
        .to_owned();
    spec["sandbox"] = json!({});
    hub.run_verb("servers.update", &json!({"id": "curious", "spec": spec}));
    hub.wait_until_synced("curious");
    let client = hub.connect_client("desk");
    let other_folder = home.data_dir().join("bundles/other");
    fs::create_dir_all(&other_folder).expect("create a folder");
    for (kind, target, expected) in [
        ("read", folder.join("data/words"), "done"),
        ("list", folder.clone(), "done"),
        ("write", folder.join("data/words"), "EACCES"),
        ("write", folder.join("new"), "EACCES"),
        ("list", other_folder, "EACCES"),
        ("list", home.data_dir().to_owned(), "EACCES"),
    ] {
        let target = paths::path_text(target);
        let arguments = json!({"kind": kind, "target": target});
        let answer = client.call("curious__attempt", &arguments.to_string());
        assert_eq!(answer.text(), expected, "{kind} {target}");
    }
}

#[test]
fn a_python_server_runs_from_a_bundle_with_its_packages() {
    let home = Home::new();
    let hub = Hub::serve(&home);
    let python = paths::python_program();
    let lib = python
        .ancestors()
        .nth(2)
        .expect("an environment")
        .join("lib");
    let version = fs::read_dir(&lib)
        .expect("read lib")
        .flatten()
        .next()
        .expect("a version");
    let mut files = Vec::new();
    read_files(&version.path().join("site-packages"), "lib", &mut files);
    files.retain(|(name, _)| !name.starts_with("lib/pip"));
    let start = b"from mcp_server_time import main\nmain()\n".to_vec();
    files.push(("server/main.py".to_owned(), start));
    let manifest = json!({
        "manifest_version": "0.4", "name": "time", "version": "1.0.0",
        "description": "Tells the time", "author": {"name": "Ada"},
        "server": {
            "type": "python", "entry_point": "server/main.py",
            "mcp_config": {
                // The interpreter to which the environment links does not find the packages of the
                // environment, so the server uses the packages in the bundle.
                "command": paths::path_text(fs::canonicalize(&python).expect("an interpreter")),
                "args": ["-s", "${__dirname}/server/main.py"],
                "env": {"PYTHONPATH": "${__dirname}/lib"},
            },
        },
    });
    let bundle = pack(&home, "time", &manifest, files);
    add_bundle(&home, &hub, "time", &bundle);
    let client = hub.connect_client("desk");
    let answer = client.call("time__get_current_time", r#"{"timezone":"Europe/Berlin"}"#);
    assert!(answer.text().contains("Europe/Berlin"), "{}", answer.text());
}

#[test]
fn files_of_a_bundle_without_a_server_are_deleted_at_the_next_start() {
    let desktop = DesktopSession::new();
    let hub = Hub::serve(&desktop);
    let bundle = write_bundle(&desktop, &[]);
    let secret = format!("key={SECRET}");
    for name in ["kept", "dropped"] {
        desktop
            .cli(&[
                "servers", "add", name, "--bundle", &bundle, "--secret", &secret,
            ])
            .expect_success();
    }
    let folder = |name: &str| desktop.data_dir().join("bundles").join(name);
    let unfinished = folder("kept").join(format!("{}.part", "a".repeat(32)));
    fs::create_dir(&unfinished).expect("an interrupted addition");
    drop(hub);

    let spec_file = |name: &str| desktop.data_dir().join(format!("servers/{name}.json"));
    let spec = fs::read(spec_file("dropped")).expect("a spec file");
    fs::write(spec_file("dropped"), "{").expect("break the file");
    drop(Hub::serve(&desktop));
    assert!(
        folder("dropped").exists(),
        "a broken file may refer to any bundle"
    );
    assert!(unfinished.exists());

    fs::write(spec_file("dropped"), spec).expect("repair the file");
    fs::remove_file(spec_file("dropped")).expect("delete a spec by hand");
    drop(Hub::serve(&desktop));
    assert!(!folder("dropped").exists() && !unfinished.exists());
    let remaining = fs::read_dir(folder("kept")).expect("the bundle in use");
    assert_eq!(remaining.count(), 1);
}
