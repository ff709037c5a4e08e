use std::{
    io::{Cursor, Write as _},
    path::{Path, PathBuf},
};

use drawbridge_model::{ids::ServerId, spec::ServerSpec};
use proptest::prelude::*;
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

use super::*;

/// Makes an archive of entries: names, Unix modes and contents.
fn zip(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, mode, content) in entries {
        let options = SimpleFileOptions::default().unix_permissions(*mode);
        zip.start_file(*name, options).expect("an entry");
        zip.write_all(content).expect("its content");
    }
    zip.finish().expect("an archive").into_inner()
}

fn manifest(changes: &[(&str, Value)]) -> String {
    let mut manifest = json!({
        "manifest_version": "0.3",
        "name": "files",
        "version": "1.2.3",
        "description": "Reads files",
        "author": {"name": "A"},
        "server": {
            "type": "node",
            "entry_point": "server/index.js",
            "mcp_config": {"command": "node", "args": ["${__dirname}/server/index.js"]},
        },
    });
    for (name, value) in changes {
        manifest[*name] = value.clone();
    }
    manifest.to_string()
}

fn bundle_bytes(manifest: &str) -> Vec<u8> {
    zip(&[
        ("manifest.json", 0o644, manifest.as_bytes()),
        ("server/index.js", 0o755, b"code"),
        ("server/helper", 0o755, b"helper"),
        ("pyproject.toml", 0o644, b""),
    ])
}

fn read(changes: &[(&str, Value)]) -> Result<Bundle, BundleError> {
    Bundle::read(bundle_bytes(&manifest(changes)))
}

/// Returns the message for a bundle that has to be refused.
fn refusal(read: Result<Bundle, BundleError>) -> String {
    read.err().expect("the bundle is refused").to_string()
}

fn values(values: &[(&str, &[&str])]) -> BundleValues {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    values
        .iter()
        .map(|(name, entries)| ((*name).to_owned(), texts(entries)))
        .collect()
}

/// Returns a bundle whose server has `args` and `env`, and needs the values in `user_config`.
fn configured(args: &Value, env: &Value, user_config: &Value) -> Bundle {
    let server = json!({
        "type": "node",
        "entry_point": "server/index.js",
        "mcp_config": {"command": "node", "args": args, "env": env},
    });
    read(&[("server", server), ("user_config", user_config.clone())]).expect("a bundle")
}

#[test]
fn entries_with_unsafe_or_colliding_paths_are_refused() {
    for (name, mode, fault) in [
        ("../x", 0o644, "leaves the folder"),
        ("a/../../x", 0o644, "leaves the folder"),
        ("/etc/x", 0o644, "absolute path"),
        ("C:x", 0o644, "colon"),
        ("a\\..\\x", 0o644, "backslash"),
        ("a//x", 0o644, "empty name"),
        ("x.", 0o644, "ends with a dot"),
        ("MANIFEST.json", 0o644, "upper and lower case"),
        ("manifest.json/x", 0o644, "inside another entry"),
    ] {
        let text = manifest(&[]);
        let bytes = zip(&[
            ("manifest.json", 0o644, text.as_bytes()),
            (name, mode, b"x"),
        ]);
        let message = refusal(Bundle::read(bytes));
        assert!(message.contains(fault), "{name}: {message}");
    }
}

#[test]
fn a_symbolic_link_is_refused() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.add_symlink("link", "/etc/passwd", SimpleFileOptions::default())
        .expect("a link");
    let bytes = zip.finish().expect("an archive").into_inner();
    assert!(refusal(Bundle::read(bytes)).contains("a link or a special file"));
}

/// Changes the name of the entry `from` in both headers of an archive.
fn renamed(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    for start in 0..=bytes.len() - from.len() {
        if bytes[start..].starts_with(from) {
            bytes[start..start + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn duplicate_names_and_names_that_are_not_utf8_are_refused() {
    let archive = || zip(&[("first", 0o644, b""), ("other", 0o644, b"")]);
    let twice = renamed(archive(), b"other", b"first");
    assert!(refusal(Bundle::read(twice)).contains("the same name"));
    let not_utf8 = renamed(archive(), b"other", b"oth\xffr");
    assert!(refusal(Bundle::read(not_utf8)).contains("not UTF-8"));
}

#[test]
fn an_encrypted_entry_is_refused() {
    let mut bytes = zip(&[("secret", 0o644, b"x")]);
    // Sets the flag of encryption in the local header and in the central directory.
    for (signature, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let start = bytes.windows(4).position(|four| four == signature);
        bytes[start.expect("a header") + flags] |= 1;
    }
    assert!(refusal(Bundle::read(bytes)).contains("is encrypted"));
}

#[test]
fn a_file_that_unpacks_to_far_more_than_its_packed_form_is_refused() {
    let zeros = vec![0; 4 * 1024 * 1024];
    let bytes = zip(&[("zeros", 0o644, &zeros)]);
    assert!(refusal(Bundle::read(bytes)).contains("200 times larger"));
}

#[test]
fn a_faulty_manifest_is_refused_with_the_member_at_fault() {
    let uv = json!({"type": "uv", "entry_point": "server/index.js"});
    let bad_default =
        json!({"n": {"type": "number", "title": "N", "description": "", "default": "x"}});
    let lacks_file =
        json!({"type": "node", "entry_point": "no.js", "mcp_config": {"command": "node"}});
    for (member, value, fault) in [
        (
            "manifest_version",
            json!("9.9"),
            "manifest_version: it is '9.9'",
        ),
        (
            "manifest_version",
            Value::Null,
            "manifest_version: it is missing",
        ),
        ("name", json!(" "), "name: it is empty"),
        ("author", json!({"name": 1}), "author.name: "),
        ("nmae", json!("x"), "unknown field `nmae`"),
        ("server", uv, "'uv' exists only from version 0.4"),
        ("server", lacks_file, "the bundle has no file 'no.js'"),
        (
            "user_config",
            bad_default,
            "user_config.n: its 'default' is of another type",
        ),
    ] {
        let message = refusal(read(&[(member, value)]));
        assert!(message.contains(fault), "{member}: {message}");
    }
}

#[test]
fn a_uv_bundle_of_version_0_4_is_started_with_uv() {
    let server = json!({"type": "uv", "entry_point": "server/index.js"});
    let bundle = read(&[("manifest_version", json!("0.4")), ("server", server)]).expect("a bundle");
    let filled = bundle
        .fill("Files", Path::new("/data/b"), &BundleValues::new())
        .expect("a spec");
    assert_eq!(filled.spec.command.as_deref(), Some("uv"));
    assert_eq!(
        filled.spec.args,
        ["run", "--directory", "/data/b", "server/index.js"]
    );
}

#[test]
fn values_are_expanded_unset_values_are_left_out_and_invalid_values_are_refused() {
    let declared = |kind: &str, more: Value| {
        let mut declared = json!({"type": kind, "title": "T", "description": "D"});
        declared
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        declared
    };
    let bundle = configured(
        &json!([
            "${__dirname}${/}x",
            "${user_config.dirs}",
            "--n=${user_config.n}",
            "${user_config.none}"
        ]),
        &json!({"TOKEN": "Bearer ${user_config.key}", "NONE": "${user_config.none}"}),
        &json!({
            "dirs": declared("directory", json!({"multiple": true, "required": true})),
            "n": declared("number", json!({"default": 10, "min": 1, "max": 100})),
            "none": declared("string", json!({})),
            "key": declared("string", json!({"sensitive": true, "required": true})),
        }),
    );
    let fill =
        |entered: &[(&str, &[&str])]| bundle.fill("Files", Path::new("/data/b"), &values(entered));
    let filled = fill(&[("dirs", &["/a", "/b"]), ("key", &["s3cret"])]).expect("a spec");
    assert_eq!(filled.spec.args, ["/data/b/x", "/a", "/b", "--n=10"]);
    assert_eq!(filled.spec.env.len(), 0, "the secret is not in the spec");
    assert_eq!(filled.secret_env["TOKEN"], "Bearer s3cret");
    assert_eq!(filled.spec.required_env, ["TOKEN"]);

    let message = |entered: &[(&str, &[&str])]| fill(entered).err().expect("refused").to_string();
    assert!(message(&[("key", &["k"])]).contains("T (dirs)"));
    let dirs: (&str, &[&str]) = ("dirs", &["/a"]);
    let key: (&str, &[&str]) = ("key", &["k"]);
    assert!(message(&[dirs, key, ("n", &["101"])]).contains("'n' must be at most 100"));
    assert!(message(&[dirs, key, ("other", &["x"])]).contains("no value 'other'"));
    assert!(message(&[dirs, key, ("n", &["0.5"])]).contains("'n' must be at least 1"));
    assert!(message(&[("dirs", &["a"]), key]).contains("'dirs' must be an absolute path"));
}

#[test]
fn paths_may_begin_with_a_folder_of_the_user_and_inputs_show_their_limits() {
    let bundle = configured(
        &json!(["--n", "${user_config.n}", "${user_config.dirs}"]),
        &json!({}),
        &json!({
            "dirs": {
                "type": "directory", "title": "Folders", "description": "", "multiple": true,
                "default": ["${HOME}/notes", "${DOCUMENTS}"],
            },
            "n": {
                "type": "number", "title": "N", "description": "", "default": 2.5,
                "min": 1, "max": 10.5,
            },
        }),
    );
    let dirs = directories::UserDirs::new().expect("a home folder");
    let notes = dirs.home_dir().join("notes").display().to_string();
    let inputs = bundle.manifest.inputs().expect("inputs");
    let [folders, number] = &inputs[..] else {
        panic!("{inputs:?}")
    };
    let shown: Vec<_> = folders
        .default
        .iter()
        .flat_map(|text| text.lines())
        .collect();
    assert!(folders.repeated && shown.len() == 2, "{folders:?}");
    assert_eq!(shown[0], notes);
    assert_eq!(number.default.as_deref(), Some("2.5"));
    assert_eq!(number.range().as_deref(), Some("from 1 to 10.5"));

    let fill = |entered: &[(&str, &[&str])]| {
        let filled = bundle.fill("F", Path::new("/b"), &values(entered));
        filled.expect("a spec").spec.args
    };
    assert_eq!(fill(&[])[..3], ["--n", "2.5", &notes]);
    assert_eq!(
        fill(&[("dirs", &["~/notes", "/srv"])]),
        ["--n", "2.5", &notes, "/srv"]
    );
}

#[test]
fn a_secret_on_the_command_line_is_refused() {
    let key =
        json!({"key": {"type": "string", "title": "K", "description": "", "sensitive": true}});
    let bundle = configured(&json!(["${user_config.key}"]), &json!({}), &key);
    let filled = bundle.fill("F", Path::new("/b"), &values(&[("key", &["k"])]));
    assert!(matches!(filled, Err(BundleError::ExposedSecret(name)) if name == "key"));
    assert!(
        bundle
            .fill("F", Path::new("/b"), &BundleValues::new())
            .is_ok()
    );
}

#[test]
fn a_secret_in_the_command_is_refused() {
    let config =
        json!({"key": {"type": "string", "title": "K", "description": "", "sensitive": true}});
    let mut bundle = configured(&json!([]), &json!({}), &config);
    let launch = bundle.manifest.server.mcp_config.as_mut();
    launch.expect("a command").command = "run-${user_config.key}".to_owned();
    let filled = bundle.fill("F", Path::new("/b"), &values(&[("key", &["k"])]));
    assert!(matches!(filled, Err(BundleError::ExposedSecret(name)) if name == "key"));
}

#[test]
fn a_default_cannot_copy_a_secret() {
    let bundle = configured(
        &json!(["${user_config.other}"]),
        &json!({}),
        &json!({
            "key": {"type": "string", "title": "K", "description": "", "sensitive": true},
            "other": {
                "type": "string", "title": "O", "description": "", "default": "${user_config.key}",
            },
        }),
    );
    let filled = bundle.fill("F", Path::new("/b"), &values(&[("key", &["k"])]));
    let message = filled.err().expect("refused").to_string();
    let reason = "user_config.other.default: it refers to the value 'key'";
    assert!(message.contains(reason), "{message}");
    assert!(bundle.manifest.inputs().is_err());
}

#[test]
fn a_manifest_cannot_refer_to_secrets_of_the_user() {
    let direct = configured(&json!(["${keyring:github.TOKEN}"]), &json!({}), &json!({}));
    let filled = direct.fill("F", Path::new("/b"), &BundleValues::new());
    assert!(matches!(filled, Err(BundleError::Manifest { .. })));
    // A default completes the reference.
    let part = json!({"a": {"type": "string", "title": "A", "description": "", "default": "{keyring:github.TOKEN}"}});
    let joined = configured(&json!(["x$${user_config.a}"]), &json!({}), &part);
    let filled = joined.fill("F", Path::new("/b"), &BundleValues::new());
    assert!(matches!(filled, Err(BundleError::SecretReference)));
}

#[test]
fn a_bundle_for_other_systems_only_is_refused() {
    let bundle = read(&[("compatibility", json!({"platforms": ["amiga"]}))]).expect("a bundle");
    let filled = bundle.fill("F", Path::new("/b"), &BundleValues::new());
    assert!(matches!(filled, Err(BundleError::Platform { .. })));
}

#[test]
fn a_bundle_is_unpacked_as_a_whole_and_removed_with_its_server() {
    let data_dir = tempfile::tempdir().expect("a folder");
    let id = ServerId::new("files");
    let server = json!({
        "type": "binary",
        "entry_point": "server/index.js",
        "mcp_config": {"command": "${__dirname}/server/index.js"},
    });
    let mut bundle = read(&[("server", server)]).expect("a bundle");
    let folder = bundle_folder(data_dir.path(), &id, &bundle.digest);
    unpack(&mut bundle, &folder).expect("unpacked");
    assert_eq!(
        fs::read(folder.join("server/helper")).expect("a file"),
        b"helper"
    );
    let siblings = fs::read_dir(folder.parent().expect("a parent")).expect("a folder");
    assert_eq!(siblings.count(), 1, "no temporary folder remains");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |name: &str| {
            fs::metadata(folder.join(name))
                .expect("a file")
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(
            (mode("server/index.js"), mode("server/helper")),
            (0o700, 0o600)
        );
    }
    delete_bundles(data_dir.path(), &id).expect("removed");
    assert!(!folder.exists());
    delete_bundles(data_dir.path(), &id).expect("nothing to remove is no error");
}

#[test]
fn only_folders_that_no_spec_names_are_unused() {
    let data_dir = tempfile::tempdir().expect("a folder");
    let make = |path: String| {
        let folder = data_dir.path().join("bundles").join(path);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("x"), "x").expect("a file");
        folder
    };
    let digest = |digit: &str| digit.repeat(32);
    let old = make(format!("files/{}", digest("a")));
    let current = make(format!("files/{}", digest("b")));
    let unfinished = make(format!("files/{}.part", digest("b")));
    let copied = make(format!("notes/{}", digest("c")));
    let gone = make(format!("gone/{}", digest("b")));
    let other = make("mine/things".to_owned());
    let spec = |args: &[PathBuf]| ServerSpec {
        command: Some("node".to_owned()),
        args: args.iter().map(|arg| arg.display().to_string()).collect(),
        ..ServerSpec::default()
    };
    let specs = [
        spec(&[current.join("index.js")]),
        ServerSpec {
            cwd: Some(copied.display().to_string()),
            ..spec(&[])
        },
    ];
    let mut removed = delete_unused_bundles(data_dir.path(), specs.iter()).expect("removed");
    removed.sort();
    let mut expected = vec![old, unfinished, gone.clone()];
    expected.sort();
    assert_eq!(removed, expected);
    assert!(removed.iter().all(|folder| !folder.exists()));
    assert!(!gone.parent().expect("a parent").exists());
    assert!(
        [current, copied, other]
            .iter()
            .all(|folder| folder.join("x").exists())
    );
    let nothing = tempfile::tempdir().expect("a folder");
    assert!(
        delete_unused_bundles(nothing.path(), specs.iter())
            .expect("nothing")
            .is_empty()
    );
}

#[test]
fn unpacking_a_bundle_again_replaces_its_files() {
    let data_dir = tempfile::tempdir().expect("a folder");
    let mut bundle = read(&[]).expect("a bundle");
    let folder = bundle_folder(data_dir.path(), &ServerId::new("files"), &bundle.digest);
    unpack(&mut bundle, &folder).expect("unpacked");
    fs::write(folder.join("extra"), "x").expect("a file");
    unpack(&mut bundle, &folder).expect("unpacked again");
    assert!(folder.join("server/helper").exists());
    assert!(!folder.join("extra").exists());
    let siblings = fs::read_dir(folder.parent().expect("a parent")).expect("a folder");
    assert_eq!(siblings.count(), 1, "the old files are deleted");
}

#[test]
fn an_interrupted_replacement_of_a_bundle_leaves_the_old_files_or_the_new_ones() {
    let data_dir = tempfile::tempdir().expect("a folder");
    let mut bundle = read(&[]).expect("a bundle");
    let folder = bundle_folder(data_dir.path(), &ServerId::new("files"), &bundle.digest);
    let replaced = folder.with_extension("old");
    let spec = ServerSpec {
        command: Some(folder.join("server/helper").display().to_string()),
        ..ServerSpec::default()
    };
    let start = || {
        complete_replacements(data_dir.path()).expect("completed");
        delete_unused_bundles(data_dir.path(), [&spec].into_iter()).expect("deleted")
    };
    unpack(&mut bundle, &folder).expect("unpacked");
    let foreign = data_dir.path().join("bundles/files/things.old");
    fs::create_dir(&foreign).expect("a folder");

    // The new files are not in place yet.
    fs::rename(&folder, &replaced).expect("renamed");
    fs::create_dir(folder.with_extension("part")).expect("a folder");
    start();
    assert!(folder.join("server/helper").exists());

    // The old files are not deleted yet.
    fs::create_dir(&replaced).expect("a folder");
    start();
    assert!(folder.join("server/helper").exists());
    assert!(!replaced.exists());

    // The bundle is added again before the next start.
    fs::rename(&folder, &replaced).expect("renamed");
    unpack(&mut bundle, &folder).expect("unpacked");
    assert!(folder.join("server/helper").exists());
    assert!(!replaced.exists());
    assert!(foreign.exists(), "a folder of another name stays");
}

#[test]
fn a_changed_bundle_has_another_folder() {
    let folder = |changes: &[(&str, Value)]| {
        let bundle = read(changes).expect("a bundle");
        bundle_folder(Path::new("/data"), &ServerId::new("files"), &bundle.digest)
    };
    assert_eq!(folder(&[]), folder(&[]));
    assert_ne!(folder(&[]), folder(&[("version", json!("1.2.4"))]));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        let _ = Bundle::read(bytes);
    }

    /// A damaged bundle is refused, or unpacks nothing outside its own folder.
    #[test]
    fn a_damaged_bundle_never_leaves_its_folder(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = bundle_bytes(&manifest(&[]));
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(mut bundle) = Bundle::read(bytes) {
            let parent = tempfile::tempdir().expect("a folder");
            let _ = unpack(&mut bundle, &parent.path().join("bundles/digest"));
            let list = |folder: &Path| -> Vec<_> {
                let entries = fs::read_dir(folder).into_iter().flatten();
                entries
                    .map(|entry| entry.expect("an entry").file_name())
                    .collect()
            };
            let names = list(parent.path());
            prop_assert!(names.iter().all(|name| name == "bundles"), "{names:?}");
            let names = list(&parent.path().join("bundles"));
            prop_assert!(names.iter().all(|name| name == "digest"), "{names:?}");
        }
    }

    /// The path of an entry is refused, or is below the folder to which it is joined.
    #[test]
    fn an_entry_of_any_name_is_refused_or_below_the_folder(name in "[a./\\\\: ]{1,12}") {
        let text = manifest(&[]);
        let bytes = zip(&[
            ("manifest.json", 0o644, text.as_bytes()),
            ("server/index.js", 0o644, b""),
            (&name, 0o644, b"x"),
        ]);
        if Bundle::read(bytes).is_ok() {
            let plain = |part| matches!(part, std::path::Component::Normal(_));
            prop_assert!(Path::new(&name).components().all(plain), "{name}");
        }
    }
}
