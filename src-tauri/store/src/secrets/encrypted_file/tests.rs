use std::{fs, sync::Arc, thread};

use super::*;
use crate::secrets::{MoveError, Secrets, StoredName};

/// A data folder, and a folder for its key.
struct Folders {
    data: tempfile::TempDir,
    keys: tempfile::TempDir,
}

impl Folders {
    fn new() -> Self {
        Self {
            data: tempfile::tempdir().expect("a folder"),
            keys: tempfile::tempdir().expect("a folder"),
        }
    }

    fn path(&self) -> PathBuf {
        EncryptedFile::path_in(self.data.path())
    }

    fn key_file(&self, name: &str) -> KeySource {
        KeySource::KeyFile(self.keys.path().join(name).display().to_string())
    }

    fn passphrase_file(&self, passphrase: &str) -> KeySource {
        let path = self.keys.path().join("passphrase");
        let _ = fs::remove_file(&path);
        write_private(&path, passphrase.as_bytes()).expect("write the passphrase");
        KeySource::PassphraseFile(path.display().to_string())
    }

    fn create(&self, key: KeySource) -> EncryptedFile {
        let values = vec![("a.KEY".to_owned(), secret("first value"))];
        EncryptedFile::create(self.path(), &NewKey::Source(key), values, false)
            .expect("the file is created")
    }

    /// Returns the store as a later start of Drawbridge has it.
    fn reopen(&self) -> EncryptedFile {
        EncryptedFile::new(self.path(), None)
    }
}

fn secret(value: &str) -> Secret {
    Secret::new(value.to_owned())
}

#[track_caller]
fn value(store: &EncryptedFile, name: &str) -> Option<String> {
    let value = store.get(name).expect("the secret can be read");
    value.map(|value| value.expose().to_owned())
}

#[test]
fn secrets_are_read_back_after_a_restart_and_are_not_readable_in_the_file() {
    let folders = Folders::new();
    let file = folders.create(folders.key_file("key"));
    file.set("b", &secret("second \"value\"\n🏰")).expect("set");
    file.remove("a.KEY").expect("remove");
    drop(file);
    let file = folders.reopen();
    assert_eq!(value(&file, "b").as_deref(), Some("second \"value\"\n🏰"));
    assert_eq!(value(&file, "a.KEY"), None);
    assert_eq!(file.list_names(), Ok(Some(vec!["b".to_owned()])));
    let text = fs::read_to_string(folders.path()).expect("the file is text");
    assert!(!text.contains("second") && text.contains("BEGIN AGE ENCRYPTED FILE"));
}

#[test]
fn a_passphrase_opens_the_file_and_another_passphrase_does_not() {
    let folders = Folders::new();
    drop(folders.create(folders.passphrase_file("correct horse\n")));
    assert_eq!(
        value(&folders.reopen(), "a.KEY").as_deref(),
        Some("first value")
    );
    let typed = EncryptedFile::unlock(folders.path(), &secret("correct horse"));
    assert_eq!(
        value(&typed.expect("unlocked"), "a.KEY").as_deref(),
        Some("first value")
    );
    let wrong = FileError::WrongKey {
        path: folders.path(),
    };
    let refused = EncryptedFile::unlock(folders.path(), &secret("wrong horse"));
    assert_eq!(refused.err(), Some(wrong.clone().into()));
    folders.passphrase_file("wrong horse");
    assert_eq!(folders.reopen().check(), Err(wrong.into()));
}

#[test]
fn without_its_key_the_file_is_locked_and_another_key_is_refused() {
    let folders = Folders::new();
    drop(folders.create(folders.key_file("key")));
    let other = NewKey::Source(folders.key_file("other"));
    drop(other.prepare(folders.data.path()).expect("another key"));
    let with_other = EncryptedFile::new(folders.path(), Some(folders.key_file("other")));
    let wrong = FileError::WrongKey {
        path: folders.path(),
    };
    assert_eq!(with_other.get("a.KEY").err(), Some(wrong.clone().into()));
    assert_eq!(with_other.set("b", &secret("x")), Err(wrong.into()));
    fs::remove_file(folders.keys.path().join("key")).expect("remove the key");
    let locked = folders.reopen().get("a.KEY").err();
    assert!(
        matches!(locked, Some(SecretError::FileLocked { reason: Some(_) })),
        "{locked:?}"
    );
    let path = folders.path();
    drop(folders);
    let gone = EncryptedFile::new(path, None).check();
    assert!(
        matches!(gone, Err(SecretError::File(FileError::Io { .. }))),
        "{gone:?}"
    );
}

#[test]
fn a_typed_passphrase_has_to_be_typed_again_after_a_restart() {
    let folders = Folders::new();
    let key = NewKey::Passphrase(secret("typed"));
    let file = EncryptedFile::create(folders.path(), &key, Vec::new(), false).expect("created");
    file.set("a", &secret("b")).expect("set");
    assert_eq!(
        folders.reopen().get("a").err(),
        Some(SecretError::FileLocked { reason: None })
    );
    let file = EncryptedFile::unlock(folders.path(), &secret("typed")).expect("unlocked");
    assert_eq!(value(&file, "a").as_deref(), Some("b"));
}

#[test]
fn a_damaged_file_is_refused_and_not_overwritten() {
    let folders = Folders::new();
    drop(folders.create(folders.key_file("key")));
    let intact = fs::read_to_string(folders.path()).expect("read");
    let sealed_at = intact.find("-----\\n").expect("the armor") + 7;
    let near_end = intact.find("\\n-----END").expect("the end of the armor") - 3;
    let mut changed_end = intact.clone();
    let letter = if intact[near_end..].starts_with('A') {
        "B"
    } else {
        "A"
    };
    changed_end.replace_range(near_end..=near_end, letter);
    let damages = [
        String::new(),
        intact[..intact.len() / 2].to_owned(),
        intact.replace("\"format\": 1", "\"format\": \"x\""),
        format!("{}####{}", &intact[..sealed_at], &intact[sealed_at + 4..]),
        changed_end,
    ];
    for damaged in damages {
        fs::write(folders.path(), &damaged).expect("damage the file");
        let store = folders.reopen();
        let expected = SecretError::from(FileError::Damaged {
            path: folders.path(),
        });
        assert_eq!(store.check(), Err(expected.clone()), "{damaged}");
        assert_eq!(store.set("b", &secret("x")), Err(expected), "{damaged}");
        let kept = fs::read_to_string(folders.path()).expect("read");
        assert_eq!(kept, damaged);
    }
    for newer in [
        intact.replace("\"format\": 1", "\"format\": 2"),
        "{\"format\": 2, \"other\": {}}".to_owned(),
    ] {
        fs::write(folders.path(), newer).expect("write");
        let refused = folders.reopen().check();
        assert!(
            matches!(refused, Err(SecretError::File(FileError::Newer { .. }))),
            "{refused:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_file_or_key_that_others_can_read_or_change_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folders = Folders::new();
    let key = folders.keys.path().join("key");
    drop(folders.create(folders.key_file("key")));
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set the mode");
    };
    for path in [folders.path(), key] {
        let mode = fs::metadata(&path).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        // The mode 0o640 is not tried, because the group of a key that belongs to root may read it.
        for mode in [0o604, 0o602, 0o620, 0o666] {
            set_mode(&path, mode);
            let expected = FileError::Exposed { path: path.clone() };
            assert_eq!(folders.reopen().check(), Err(expected.into()), "{mode:o}");
        }
        set_mode(&path, 0o600);
        assert_eq!(folders.reopen().check(), Ok(()));
    }
}

#[test]
fn a_key_in_the_data_folder_is_refused() {
    let folders = Folders::new();
    let inside = folders.data.path().join("key").display().to_string();
    let key = NewKey::Source(KeySource::KeyFile(inside));
    let refused = EncryptedFile::create(folders.path(), &key, Vec::new(), false).err();
    assert!(
        matches!(
            refused,
            Some(SecretError::File(FileError::KeyInDataFolder { .. }))
        ),
        "{refused:?}"
    );
    assert_eq!(
        fs::read_dir(folders.data.path()).expect("a folder").count(),
        0
    );
}

#[test]
fn concurrent_writers_with_separate_handles_lose_nothing() {
    let folders = Folders::new();
    drop(folders.create(folders.key_file("key")));
    let folders = Arc::new(folders);
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let folders = folders.clone();
            thread::spawn(move || {
                let file = folders.reopen();
                for number in 0..5 {
                    let name = format!("{writer}.{number}");
                    file.set(&name, &secret(&name)).expect("set");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().expect("the writer ends");
    }
    let names = folders.reopen().list_names().expect("names");
    assert_eq!(names.expect("a file lists its names").len(), 8 * 5 + 1);
}

#[test]
fn another_key_replaces_the_former_key() {
    let folders = Folders::new();
    let file = folders.create(folders.key_file("key"));
    let values = vec![("a".to_owned(), secret("moved"))];
    let key = NewKey::Source(folders.key_file("new"));
    let refused = EncryptedFile::create(folders.path(), &key, Vec::new(), false).err();
    assert!(matches!(
        refused,
        Some(SecretError::File(FileError::Exists { .. }))
    ));
    EncryptedFile::create(folders.path(), &key, values, true).expect("replaced");
    // A process that knows the former key learns the new key.
    assert_eq!(value(&file, "a").as_deref(), Some("moved"));
    let with_former = EncryptedFile::new(folders.path(), Some(folders.key_file("key")));
    assert!(with_former.get("a").is_err());
}

#[tokio::test]
async fn secrets_move_to_a_new_key_and_a_failed_move_changes_nothing() {
    let folders = Folders::new();
    drop(folders.create(folders.key_file("key")));
    let secrets = Secrets::open(folders.data.path());
    assert_eq!(secrets.kind(), SecretStoreKind::File);
    let name = StoredName {
        name: "a.KEY".into(),
        is_long: false,
    };
    let inside = folders.data.path().join("key").display().to_string();
    let inside = NewKey::Source(KeySource::KeyFile(inside));
    let before = fs::read(folders.path()).expect("read");
    let refused = secrets
        .use_file(Some(inside), std::slice::from_ref(&name))
        .await;
    assert!(matches!(refused, Err(MoveError::Store(_))), "{refused:?}");
    assert_eq!(fs::read(folders.path()).expect("read"), before);
    let key = NewKey::Source(folders.key_file("new"));
    let moved = secrets.use_file(Some(key), &[name]).await.expect("moved");
    assert_eq!(moved.moved, ["a.KEY"]);
    fs::remove_file(folders.keys.path().join("key")).expect("remove the former key");
    let secrets = Secrets::open(folders.data.path());
    let value = secrets.get("a.KEY").await.expect("read").expect("kept");
    assert_eq!(value.expose(), "first value");
}
