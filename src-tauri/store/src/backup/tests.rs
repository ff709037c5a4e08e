use std::io::Cursor;

use super::*;

/// Makes a data folder with a setting, a spec and an audit log.
async fn make_data_dir() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("make a folder");
    let (store, _) = Store::open(&folder.path().join(DATABASE))
        .await
        .expect("open the store");
    let journal = store.journal();
    journal.recover().await.expect("recover the journal");
    store
        .set_setting("marker", "original")
        .await
        .expect("write a setting");
    store.append_audit(AuditKind::Paused, &serde_json::json!({}));
    journal.close().await;
    fs::create_dir(folder.path().join(SERVERS)).expect("make a folder");
    for name in ["files.json", ".files.json.tmp"] {
        fs::write(folder.path().join(SERVERS).join(name), "{}").expect("write a spec");
    }
    folder
}

fn back_up(folder: &Path) -> Vec<u8> {
    let mut archive = Cursor::new(Vec::new());
    create_backup(folder, "1.2.3", &mut archive).expect("make a backup");
    archive.into_inner()
}

async fn restore(folder: &Path, archive: &[u8]) -> Result<RestoredBackup, BackupError> {
    let data_dir = DataDir::open(folder.to_owned()).expect("open the data folder");
    restore_backup(&data_dir, Cursor::new(archive)).await
}

async fn marker(folder: &Path) -> Option<String> {
    let (store, moved) = Store::open(&folder.join(DATABASE)).await.expect("open");
    assert_eq!(moved, None);
    let marker = store.setting("marker").await.expect("read the setting");
    let journal = store.journal();
    journal.recover().await.expect("recover the journal");
    let report = journal.verify().await.expect("verify");
    assert_eq!(report.broken, None, "the audit log is intact");
    journal.close().await;
    store.close().await;
    marker
}

async fn audit_kinds(folder: &Path) -> Vec<String> {
    let connection = Connection::open(folder.join(DATABASE)).expect("open the database");
    let mut statement = connection
        .prepare("SELECT kind FROM audit ORDER BY seq")
        .expect("a statement");
    let rows = statement.query_map([], |row| row.get(0)).expect("query");
    rows.map(|row| row.expect("a row")).collect()
}

#[tokio::test]
async fn a_backup_of_a_hub_in_use_is_restored_elsewhere() {
    let folder = make_data_dir().await;
    // A hub has the database open, and its last write is only in the write-ahead log.
    let (hub, _) = Store::open(&folder.path().join(DATABASE))
        .await
        .expect("open the store");
    hub.set_setting("marker", "latest").await.expect("write");
    let archive = back_up(folder.path());
    hub.close().await;
    let leftovers: Vec<_> = fs::read_dir(folder.path())
        .expect("read the folder")
        .map(|entry| entry.expect("an entry").file_name())
        .filter(|name| name.to_string_lossy().starts_with(TEMPORARY_PREFIX))
        .collect();
    assert_eq!(leftovers, Vec::<std::ffi::OsString>::new());

    let target = tempfile::tempdir().expect("make a folder");
    let restored = restore(target.path(), &archive).await.expect("restore");

    assert_eq!(restored.manifest.version, "1.2.3");
    assert_eq!(restored.previous, None, "the folder was empty");
    assert_eq!(restored.audit_fault, None);
    assert_eq!(marker(target.path()).await.as_deref(), Some("latest"));
    assert!(target.path().join("servers/files.json").exists());
    assert!(!target.path().join("servers/.files.json.tmp").exists());
    let kinds = audit_kinds(target.path()).await;
    assert_eq!(kinds.last().map(String::as_str), Some("backup_restored"));
    assert!(kinds.iter().any(|kind| kind == "paused"), "{kinds:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn restored_files_are_only_for_this_user() {
    use std::os::unix::fs::PermissionsExt;

    let folder = make_data_dir().await;
    let target = tempfile::tempdir().expect("make a folder");
    restore(target.path(), &back_up(folder.path()))
        .await
        .expect("restore");
    for name in [DATABASE, "audit.key", "audit.head", "servers/files.json"] {
        let mode = fs::metadata(target.path().join(name))
            .expect("read the mode")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_restore_keeps_the_replaced_files() {
    let folder = make_data_dir().await;
    let archive = back_up(folder.path());
    let (store, _) = Store::open(&folder.path().join(DATABASE))
        .await
        .expect("open the store");
    store.set_setting("marker", "later").await.expect("write");
    store.close().await;
    fs::write(folder.path().join("servers/later.json"), "{}").expect("write a spec");

    let restored = restore(folder.path(), &archive).await.expect("restore");

    assert_eq!(marker(folder.path()).await.as_deref(), Some("original"));
    assert!(!folder.path().join("servers/later.json").exists());
    let previous = restored.previous.expect("the folder was not empty");
    assert!(previous.join("servers/later.json").exists());
    assert_eq!(marker(&previous).await.as_deref(), Some("later"));
}

/// Returns an archive with these files, and a manifest of them to which `change` was applied.
fn pack(files: &[(&str, &[u8])], change: impl FnOnce(&mut BackupManifest)) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut manifest = BackupManifest {
        format: FORMAT,
        version: "9.9.9".into(),
        created_at: Timestamp(1),
        files: BTreeMap::new(),
    };
    for (name, bytes) in files {
        zip.start_file(*name, zip_options()).expect("start a file");
        zip.write_all(bytes).expect("write a file");
        let (bytes, sha256) = (bytes.len() as u64, hex::encode(Sha256::digest(bytes)));
        manifest
            .files
            .insert((*name).to_owned(), BackedUpFile { bytes, sha256 });
    }
    change(&mut manifest);
    zip.start_file(MANIFEST, zip_options())
        .expect("start the manifest");
    serde_json::to_writer(&mut zip, &manifest).expect("write the manifest");
    zip.finish().expect("finish").into_inner()
}

#[tokio::test]
async fn a_backup_that_is_damaged_hostile_or_newer_changes_nothing() {
    let folder = make_data_dir().await;
    let good = back_up(folder.path());
    let database = fs::read(folder.path().join(DATABASE)).expect("read the database");
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x40;
    let cases: [(&str, Vec<u8>, &str); 8] = [
        ("no archive", b"hello".to_vec(), "not a backup"),
        (
            "half of an archive",
            good[..good.len() / 2].to_vec(),
            "not a backup",
        ),
        ("a changed byte", flipped, "damaged"),
        (
            "a path that leads out",
            pack(&[(DATABASE, &database), ("../evil", b"x")], |_| ()),
            "unknown file '../evil'",
        ),
        (
            "a path below a folder of specs",
            pack(&[(DATABASE, &database), ("servers/a/b.json", b"x")], |_| ()),
            "unknown file 'servers/a/b.json'",
        ),
        (
            "a file that is longer than stated",
            pack(&[(DATABASE, &database)], |manifest| {
                let file = manifest.files.get_mut(DATABASE).expect("the database");
                file.bytes = 10;
            }),
            "damaged",
        ),
        (
            "a database that is not SQLite",
            pack(&[(DATABASE, b"not a database, but long enough")], |_| ()),
            "damaged",
        ),
        (
            "a later format",
            pack(&[(DATABASE, &database)], |manifest| manifest.format = 2),
            "made by version 9.9.9",
        ),
    ];
    for (case, archive, expected) in cases {
        let error = match restore(folder.path(), &archive).await {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{case}: restored"),
        };
        assert!(error.contains(expected), "{case}: {error}");
        assert_eq!(
            marker(folder.path()).await.as_deref(),
            Some("original"),
            "{case}"
        );
        assert!(
            !folder.path().join(".drawbridge-restore.tmp").exists(),
            "{case}"
        );
    }
}

#[test]
fn an_empty_folder_cannot_be_backed_up() {
    let folder = tempfile::tempdir().expect("make a folder");
    let Err(error) = create_backup(folder.path(), "1", Cursor::new(Vec::new())) else {
        panic!("a backup was made");
    };
    assert!(error.to_string().contains("nothing to back up"), "{error}");
    assert!(!folder.path().join(DATABASE).exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_spec_behind_a_symbolic_link_is_backed_up() {
    let folder = make_data_dir().await;
    let elsewhere = tempfile::tempdir().expect("make a folder");
    let spec = elsewhere.path().join("linked.json");
    fs::write(&spec, "{\"command\":\"x\"}").expect("write a spec");
    let servers = folder.path().join(SERVERS);
    for (target, name) in [
        (spec.as_path(), "linked.json"),
        (Path::new("/none"), "none.json"),
    ] {
        std::os::unix::fs::symlink(target, servers.join(name)).expect("make a link");
    }

    let target = tempfile::tempdir().expect("make a folder");
    restore(target.path(), &back_up(folder.path()))
        .await
        .expect("restore");

    let restored = target.path().join(SERVERS).join("linked.json");
    assert_eq!(fs::read(&spec).ok(), fs::read(&restored).ok());
    assert!(!target.path().join(SERVERS).join("none.json").exists());
}

#[tokio::test]
async fn a_backup_is_not_made_while_a_restore_is_incomplete() {
    let folder = make_data_dir().await;
    fs::create_dir_all(folder.path().join(".drawbridge-restore/new")).expect("make a folder");
    let Err(error) = create_backup(folder.path(), "1", Cursor::new(Vec::new())) else {
        panic!("a backup was made");
    };
    assert!(
        error.to_string().contains("start Drawbridge again"),
        "{error}"
    );
}

#[tokio::test]
async fn the_copy_that_a_killed_backup_left_is_deleted_by_the_next_backup() {
    let folder = make_data_dir().await;
    let leftover = folder.path().join(".drawbridge-backup-abc123");
    fs::write(&leftover, "calls").expect("write a file");
    back_up(folder.path());
    assert!(!leftover.exists());
}

#[test]
fn a_manifest_that_is_too_long_is_refused() {
    let archive = pack(&[(DATABASE, b"")], |manifest| {
        manifest.version = "9".repeat(usize::try_from(MAX_MANIFEST_BYTES).expect("a length"));
    });
    let error = read_manifest(Cursor::new(archive)).expect_err("the manifest is read");
    assert!(
        error.to_string().contains("its manifest is too long"),
        "{error}"
    );
}

#[tokio::test]
async fn a_backup_whose_manifest_would_be_too_long_is_not_made() {
    let folder = make_data_dir().await;
    let version = "9".repeat(usize::try_from(MAX_MANIFEST_BYTES).expect("a length"));
    let Err(error) = create_backup(folder.path(), &version, Cursor::new(Vec::new())) else {
        panic!("a backup was made");
    };
    assert!(matches!(error, BackupError::TooManyFiles(4)), "{error}");
}

#[tokio::test]
async fn a_prepared_restore_is_made_by_the_next_start_only() {
    let folder = make_data_dir().await;
    let archive = back_up(folder.path());
    let (hub, _) = Store::open(&folder.path().join(DATABASE))
        .await
        .expect("open");
    hub.set_setting("marker", "later").await.expect("write");
    prepare_restore(folder.path(), Cursor::new(&archive))
        .await
        .expect("prepare the restore");
    let again = prepare_restore(folder.path(), Cursor::new(&archive)).await;
    assert!(
        matches!(again, Err(BackupError::RestoreIncomplete)),
        "{again:?}"
    );
    hub.set_setting("marker", "latest")
        .await
        .expect("the hub goes on");
    assert_eq!(
        hub.setting("marker").await.expect("read").as_deref(),
        Some("latest")
    );
    hub.close().await;

    drop(DataDir::open(folder.path().to_owned()).expect("start again"));
    assert!(!is_replacement_prepared(folder.path()));
    assert_eq!(marker(folder.path()).await.as_deref(), Some("original"));
}

#[tokio::test]
async fn a_prepared_restore_can_be_cancelled() {
    let folder = make_data_dir().await;
    let archive = back_up(folder.path());
    prepare_restore(folder.path(), Cursor::new(&archive))
        .await
        .expect("prepare the restore");
    assert!(cancel_prepared(folder.path()).expect("cancel"));
    assert!(!cancel_prepared(folder.path()).expect("cancel again"));
    let kinds = audit_kinds(folder.path()).await;
    drop(DataDir::open(folder.path().to_owned()).expect("start again"));
    assert_eq!(
        audit_kinds(folder.path()).await,
        kinds,
        "nothing was replaced"
    );
}

#[tokio::test]
async fn a_damaged_backup_prepares_nothing() {
    let folder = make_data_dir().await;
    let mut archive = back_up(folder.path());
    let middle = archive.len() / 2;
    archive[middle] ^= 0xff;
    let refused = prepare_restore(folder.path(), Cursor::new(&archive)).await;
    assert!(refused.is_err());
    assert!(!is_replacement_prepared(folder.path()));
}

#[tokio::test]
async fn a_reset_begins_anew_and_keeps_the_old_contents() {
    let folder = make_data_dir().await;
    prepare_reset(folder.path(), &ResetPart::ALL.into())
        .await
        .expect("prepare the reset");
    drop(DataDir::open(folder.path().to_owned()).expect("start again"));
    assert_eq!(marker(folder.path()).await, None);
    assert!(!folder.path().join("servers/files.json").exists());
    let kept = fs::read_dir(folder.path())
        .expect("read the folder")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().contains("replaced-"))
        .expect("the old contents are kept");
    assert!(kept.join("servers/files.json").exists() && kept.join(DATABASE).exists());
}

#[tokio::test]
async fn a_reset_of_some_parts_keeps_the_others() {
    let folder = make_data_dir().await;
    let (hub, _) = Store::open(&folder.path().join(DATABASE))
        .await
        .expect("open");
    for (name, value) in [
        ("approval_timeout_s", "7"),
        ("default_policy", "\"deny\""),
        ("paused", "true"),
    ] {
        hub.set_setting(name, value).await.expect("write");
    }
    let parts = BTreeSet::from([ResetPart::Settings, ResetPart::Servers]);
    prepare_reset(folder.path(), &parts)
        .await
        .expect("prepare the reset");
    hub.close().await;
    drop(DataDir::open(folder.path().to_owned()).expect("start again"));

    assert_eq!(marker(folder.path()).await.as_deref(), Some("original"));
    assert!(!folder.path().join("servers/files.json").exists());
    let kinds = audit_kinds(folder.path()).await;
    assert!(kinds.iter().any(|kind| kind == "paused"), "{kinds:?}");
    assert!(
        kinds.iter().any(|kind| kind == "replacement_prepared"),
        "the audit log records the reset: {kinds:?}"
    );
    let (store, _) = Store::open(&folder.path().join(DATABASE))
        .await
        .expect("open");
    let stored = async |name| store.setting(name).await.expect("read");
    assert_eq!(stored("approval_timeout_s").await, None);
    assert_eq!(stored("default_policy").await.as_deref(), Some("\"deny\""));
    assert_eq!(stored("paused").await.as_deref(), Some("true"));
    store.close().await;
}

#[tokio::test]
async fn a_reset_of_the_records_begins_an_audit_log_that_is_intact() {
    let folder = make_data_dir().await;
    let old_key = fs::read(folder.path().join(audit::KEY_FILE)).expect("a key");
    prepare_reset(folder.path(), &BTreeSet::from([ResetPart::Records]))
        .await
        .expect("prepare the reset");
    drop(DataDir::open(folder.path().to_owned()).expect("start again"));

    assert_eq!(marker(folder.path()).await.as_deref(), Some("original"));
    assert!(folder.path().join("servers/files.json").exists());
    let kinds = audit_kinds(folder.path()).await;
    assert!(!kinds.iter().any(|kind| kind == "paused"), "{kinds:?}");
    let new_key = fs::read(folder.path().join(audit::KEY_FILE)).expect("a key");
    assert_ne!(old_key, new_key);
}
