//! Tests that connect each client, in each state that its file can have, and undo the change: byte
//! for byte, if the file has not changed since. Further tests have files that are broken, protected
//! or changed, entries that drifted, and a process that is killed.

use std::{collections::BTreeMap, fs, process::Command};

use super::*;
use crate::{CLIENTS, FileState, Os, Transport, kill_point::KILL_AT};

struct Home {
    folder: tempfile::TempDir,
    machine: Machine,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("make a folder");
        let machine = Machine {
            os: Os::Linux,
            home: folder.path().to_owned(),
            env: BTreeMap::new(),
        };
        Self { folder, machine }
    }

    fn backups(&self) -> Folder {
        Folder(self.folder.path().join("backups"))
    }

    /// Returns all files, links and folders below the home folder except the backups. Files have
    /// their bytes, and links their targets.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("read the folder").flatten() {
                let path = entry.path();
                if path == self.backups().0 {
                    continue;
                }
                if path.is_symlink() {
                    let target = fs::read_link(&path).expect("read the link");
                    found.insert(path, target.as_os_str().as_encoded_bytes().to_vec());
                } else if path.is_dir() {
                    found.insert(path.clone(), Vec::new());
                    folders.push(path);
                } else {
                    found.insert(path.clone(), fs::read(&path).expect("read the file"));
                }
            }
        }
        found
    }
}

/// A folder with unencrypted copies.
struct Folder(PathBuf);

impl Backups for Folder {
    fn save(&self, file_name: &str, bytes: &[u8]) -> Result<String, BackupError> {
        let save = || {
            fs::create_dir_all(&self.0)?;
            let number = fs::read_dir(&self.0)?.count();
            let name = format!("{number}-{file_name}");
            fs::write(self.0.join(&name), bytes)?;
            Ok(name)
        };
        save().map_err(|error: std::io::Error| BackupError(error.to_string()))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, BackupError> {
        fs::read(self.0.join(name)).map_err(|error| BackupError(error.to_string()))
    }
}

fn connection(client: &str) -> Connection {
    Connection {
        command: "/opt/drawbridge/drawbridge".to_owned(),
        url: "http://127.0.0.1:8765/mcp".to_owned(),
        client: client.to_owned(),
        data_dir: None,
        transport: Transport::Bridge,
    }
}

fn ask_once() -> AskOnce {
    AskOnce {
        tools: vec!["github__search".to_owned()],
    }
}

/// Returns a file of this client with other servers, keys that nobody knows, and comments.
fn other_servers(client: &Client) -> String {
    let container = client.container();
    let path = container.path.clone();
    match (client.format, container.is_list) {
        (Format::Jsonc, false) => {
            let open: String = path.iter().map(|key| format!("{{ \"{key}\": ")).collect();
            let close = " }".repeat(path.len());
            format!(
                "// Mine.\n{open}{{\n    \"other\": {{ \"command\": \"x\", \"unknown\": [1, 2.50], }}, // keep\n  }}{close}\n"
            )
        }
        (Format::Jsonc, true) => {
            format!(
                "{{ \"{}\": [ {{ \"name\": \"other\", \"command\": \"x\" }} ] }}\n",
                path[0]
            )
        }
        (Format::Toml, false) => format!(
            "# Mine.\nmodel = \"x\" # keep\n\n[{}.other]\ncommand = \"x\"\nunknown = 1\n",
            path.join(".")
        ),
        (Format::Toml, true) => format!(
            "# Mine.\n[[{}]]\nname = \"other\"\ncommand = \"x\"\n",
            path.join(".")
        ),
        (Format::Yaml, false) => format!(
            "# Mine.\nmodel: x   # keep\n{}:\n  other:\n    cmd: x\n    unknown: [1, 2]\n",
            path[0]
        ),
        (Format::Yaml, true) => format!(
            "# Mine.\nmodel: x   # keep\n{}:\n  - name: other\n    command: x\n",
            path[0]
        ),
    }
}

/// Returns the client's global file, or a made-up file if the client has none.
fn config_of(client: &Client, home: &Home) -> ConfigFile {
    client
        .files(&home.machine)
        .into_iter()
        .next()
        .unwrap_or_else(|| ConfigFile {
            path: home.folder.path().join("config"),
            scope: crate::FileScope::Global,
            conflict: None,
        })
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("make the folder");
    fs::write(path, bytes).expect("write the file");
}

/// Connects the client, checks the file's state, undoes the changes, and compares every byte.
fn connect_and_undo(client: &Client, home: &Home, case: &str) {
    let config = config_of(client, home);
    let before = home.contents();
    let connection = connection(client.id);
    let ask_once = client.supports_ask_once().then(ask_once);
    let connect = || {
        Plan::connect(
            client,
            &home.machine,
            &config,
            &connection,
            ask_once.as_ref(),
        )
    };
    let plan = connect().unwrap_or_else(|error| panic!("{} {case}: {error}", client.id));
    let receipt = plan
        .apply(&home.backups(), &plan.digest())
        .unwrap_or_else(|error| panic!("{} {case}: {error}", client.id));
    let state = client.inspect(&config, &connection, ask_once.as_ref());
    assert_eq!(
        state,
        FileState::Connected {
            entry: SERVER_NAME.to_owned()
        },
        "{} {case}",
        client.id
    );
    assert!(
        connect().expect("a plan").is_empty(),
        "{} {case}: a second time changes nothing",
        client.id
    );
    let stored = serde_json::to_string(&receipt).expect("a receipt is stored");
    let receipt: Receipt = serde_json::from_str(&stored).expect("a stored receipt is read");
    for undone in receipt.undo(&home.backups()) {
        undone
            .result
            .unwrap_or_else(|error| panic!("{} {case}: {error}", client.id));
    }
    assert_eq!(home.contents(), before, "{} {case}", client.id);
}

#[test]
fn each_client_is_connected_and_undone_byte_for_byte() {
    for client in CLIENTS {
        let others = other_servers(client);
        let with_bom = format!("\u{feff}{}", others.replace('\n', "\r\n"));
        for (case, bytes) in [
            ("without a file", None),
            ("with an empty file", Some(Vec::new())),
            ("with other servers", Some(others.clone().into_bytes())),
            ("with BOM and CRLF", Some(with_bom.into_bytes())),
        ] {
            let home = Home::new();
            let path = config_of(client, &home).path;
            if let Some(bytes) = &bytes {
                write(&path, bytes);
            }
            connect_and_undo(client, &home, case);
        }
    }
}

#[test]
fn a_receipt_of_an_earlier_build_is_undone() {
    let home = Home::new();
    let client = crate::find_client("continue").expect("the client is known");
    let config = config_of(client, &home);
    write(&config.path, other_servers(client).as_bytes());
    let before = home.contents();
    let connection = connection(client.id);
    let plan = Plan::connect(client, &home.machine, &config, &connection, None).expect("a plan");
    let receipt = plan
        .apply(&home.backups(), &plan.digest())
        .expect("applied");
    let stored = serde_json::to_string(&receipt).expect("a receipt is stored");
    let earlier = stored.replace("\"written_digest\"", "\"written\"");
    assert_ne!(earlier, stored);
    let receipt: Receipt = serde_json::from_str(&earlier).expect("an earlier receipt is read");
    for undone in receipt.undo(&home.backups()) {
        undone.result.expect("the file is restored");
    }
    assert_eq!(home.contents(), before);
}

#[test]
fn a_new_file_has_the_keys_that_the_client_requires() {
    let home = Home::new();
    let client = crate::find_client("continue").expect("the client is known");
    let config = config_of(client, &home);
    let plan = Plan::connect(
        client,
        &home.machine,
        &config,
        &connection("continue"),
        None,
    );
    let plan = plan.expect("a plan");
    plan.apply(&home.backups(), &plan.digest())
        .expect("applied");
    let text = fs::read_to_string(&config.path).expect("read the file");
    let required = "name: Local Config\nversion: 1.0.0\nschema: v1\nmcpServers:\n";
    assert!(text.starts_with(required), "{text}");
}

#[test]
fn the_text_of_a_person_stays() {
    for client in CLIENTS {
        let home = Home::new();
        let config = config_of(client, &home);
        let others = other_servers(client);
        write(&config.path, others.as_bytes());
        let plan = Plan::connect(client, &home.machine, &config, &connection(client.id), None)
            .unwrap_or_else(|error| panic!("{}: {error}", client.id));
        plan.apply(&home.backups(), &plan.digest())
            .expect("applied");
        let after = fs::read_to_string(&config.path).expect("read the file");
        // Each old line is there, in the old order.
        let mut rest = after.lines();
        for line in others.lines() {
            let kept = line.trim_end_matches([' ', '}', ']', ',']);
            assert!(
                rest.any(|new| new.starts_with(kept)),
                "{}: {line:?} is not in\n{after}",
                client.id
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_its_target_is_written() {
    for client in CLIENTS {
        let home = Home::new();
        let path = config_of(client, &home).path;
        let target = home.folder.path().join("dotfiles/config");
        write(&target, other_servers(client).as_bytes());
        fs::create_dir_all(path.parent().expect("a parent")).expect("make the folder");
        std::os::unix::fs::symlink(&target, &path).expect("make the link");
        connect_and_undo(client, &home, "through a link");
        assert!(path.is_symlink(), "{}", client.id);
    }
}

#[test]
fn a_broken_or_protected_file_is_refused_and_stays() {
    for client in CLIENTS {
        let home = Home::new();
        let config = config_of(client, &home);
        let broken: &[u8] = match client.format {
            Format::Jsonc => b"{ \"a\": ",
            Format::Toml => b"a = ",
            Format::Yaml => b"a: [",
        };
        for bytes in [broken, b"\xff\xfe"] {
            write(&config.path, bytes);
            let plan = Plan::connect(client, &home.machine, &config, &connection(client.id), None);
            assert!(plan.is_err(), "{}", client.id);
            assert_eq!(
                fs::read(&config.path).expect("read"),
                bytes,
                "{}",
                client.id
            );
            let state = client.inspect(&config, &connection(client.id), None);
            assert!(
                matches!(state, FileState::Broken { .. }),
                "{}: {state:?}",
                client.id
            );
        }
        let others = other_servers(client);
        write(&config.path, others.as_bytes());
        let mut permissions = fs::metadata(&config.path).expect("metadata").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&config.path, permissions).expect("protect the file");
        let plan = Plan::connect(client, &home.machine, &config, &connection(client.id), None)
            .expect("a plan");
        let error = plan
            .apply(&home.backups(), &plan.digest())
            .expect_err("the file is protected");
        assert!(error.to_string().contains("read-only"), "{error}");
        assert_eq!(fs::read_to_string(&config.path).expect("read"), others);
    }
}

#[test]
fn a_file_that_changed_since_the_preview_is_refused_and_earlier_files_are_restored() {
    let client = crate::find_client("claude-code").expect("the client");
    let home = Home::new();
    let config = config_of(client, &home);
    write(&config.path, br#"{"mcpServers": {}}"#);
    let settings = home.folder.path().join(".claude/settings.json");
    write(&settings, b"{}");
    let ask_once = ask_once();
    let plan = Plan::connect(
        client,
        &home.machine,
        &config,
        &connection("claude-code"),
        Some(&ask_once),
    )
    .expect("a plan");
    assert_eq!(plan.diffs().len(), 2);
    plan.check_files().expect("no file has changed");
    write(&settings, br#"{"theme": "dark"}"#);
    let before = home.contents();
    let error = plan.check_files().expect_err("the second file has changed");
    assert!(error.to_string().contains("settings.json"), "{error}");
    let error = plan
        .apply(&home.backups(), &plan.digest())
        .expect_err("the second file has changed");
    assert!(
        error.to_string().contains("changed by another program"),
        "{error}"
    );
    assert_eq!(home.contents(), before, "the first file is restored");
    assert!(matches!(
        plan.apply(&home.backups(), "another digest"),
        Err(PlanError::Outdated)
    ));
}

#[test]
fn undoing_keeps_a_later_change_of_the_file() {
    for client in CLIENTS {
        let home = Home::new();
        let config = config_of(client, &home);
        write(&config.path, other_servers(client).as_bytes());
        let connection = connection(client.id);
        let plan =
            Plan::connect(client, &home.machine, &config, &connection, None).expect("a plan");
        let receipt = plan
            .apply(&home.backups(), &plan.digest())
            .expect("applied");
        let comment = match client.format {
            Format::Jsonc => "// later\n",
            Format::Toml | Format::Yaml => "# later\n",
        };
        let mut text = fs::read_to_string(&config.path).expect("read");
        text.insert_str(0, comment);
        write(&config.path, text.as_bytes());
        let undone = receipt.undo(&home.backups());
        let result = undone[0].result.as_ref();
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", client.id));
        assert_eq!(*result, UndoOutcome::OwnChangesUndone, "{}", client.id);
        let text = fs::read_to_string(&config.path).expect("read");
        assert!(
            text.starts_with(comment) && text.contains("other"),
            "{text}"
        );
        assert!(!text.contains("drawbridge"), "{}: {text}", client.id);
    }
}

#[test]
fn an_entry_that_drifted_is_shown_and_repaired_and_keeps_its_own_members() {
    let client = crate::find_client("cursor").expect("the client");
    let home = Home::new();
    let config = config_of(client, &home);
    write(
        &config.path,
        br#"{"mcpServers": {"mine": {"url": "http://localhost:8765/mcp", "headers": {"Authorization": "Bearer secret-secret"}, "note": 1}}}"#,
    );
    let connection = connection("cursor");
    let state = client.inspect(&config, &connection, None);
    let FileState::Drifted { entry, differences } = state else {
        panic!("{state:?}");
    };
    assert_eq!(entry, "mine", "an entry that reaches Drawbridge is adopted");
    assert!(
        differences
            .iter()
            .any(|text| text.contains("'command' is missing")),
        "{differences:?}"
    );
    let plan = Plan::connect(client, &home.machine, &config, &connection, None).expect("a plan");
    let diff = plan.diffs().remove(0).diff;
    assert!(!diff.contains("secret-secret"), "{diff}");
    plan.apply(&home.backups(), &plan.digest())
        .expect("applied");
    let text = fs::read_to_string(&config.path).expect("read");
    assert!(
        text.contains(r#""note": 1"#) && !text.contains("Bearer"),
        "{text}"
    );
    assert_eq!(
        client.inspect(&config, &connection, None),
        FileState::Connected {
            entry: "mine".to_owned()
        }
    );
    let plan = Plan::disconnect(client, &home.machine, &config, &connection).expect("a plan");
    plan.apply(&home.backups(), &plan.digest())
        .expect("applied");
    assert_eq!(
        client.inspect(&config, &connection, None),
        FileState::NotConnected
    );
    assert!(matches!(
        Plan::disconnect(client, &home.machine, &config, &connection),
        Err(PlanError::NotConnected(_))
    ));
}

#[test]
fn a_server_of_the_person_with_the_name_of_drawbridge_is_not_replaced() {
    let client = crate::find_client("cursor").expect("the client");
    let home = Home::new();
    let config = config_of(client, &home);
    write(
        &config.path,
        br#"{"mcpServers": {"drawbridge": {"command": "mine"}}}"#,
    );
    assert!(matches!(
        Plan::connect(client, &home.machine, &config, &connection("cursor"), None),
        Err(PlanError::NameTaken(_))
    ));
}

/// Connects in a process that is killed at each step in turn.
#[cfg(unix)]
#[test]
fn a_process_that_is_killed_leaves_the_old_file_or_the_new_file() {
    const HOME: &str = "DRAWBRIDGE_TEST_HOME";
    const OLD: &[u8] = b"{\n  \"mcpServers\": {}\n}\n";
    let client = crate::find_client("cursor").expect("the client");
    if let Ok(folder) = std::env::var(HOME) {
        let machine = Machine {
            os: Os::Linux,
            home: folder.into(),
            env: BTreeMap::new(),
        };
        let config = client.files(&machine).remove(0);
        let plan =
            Plan::connect(client, &machine, &config, &connection("cursor"), None).expect("a plan");
        plan.apply(&Folder(machine.home.join("backups")), &plan.digest())
            .expect("applied");
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let mut new = None;
    for step in 0..100 {
        let home = Home::new();
        let path = config_of(client, &home).path;
        write(&path, OLD);
        let output = Command::new(&program)
            .args(["--exact", "--nocapture"])
            .arg("plan::tests::a_process_that_is_killed_leaves_the_old_file_or_the_new_file")
            .env(HOME, home.folder.path())
            .env(KILL_AT, step.to_string())
            .output()
            .expect("run the process");
        let found = fs::read(&path).expect("the file is there");
        if output.status.success() {
            assert!(step >= 4, "there are several steps");
            assert_ne!(found, OLD);
            return;
        }
        if found != OLD {
            let new = new.get_or_insert_with(|| found.clone());
            assert_eq!(
                *new, found,
                "step {step}: neither the old file nor the new one"
            );
            assert!(String::from_utf8_lossy(&found).contains("/opt/drawbridge"));
        }
    }
    panic!("the process was killed at each of 100 steps");
}
