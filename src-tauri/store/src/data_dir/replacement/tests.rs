use super::*;
use crate::data_dir::DataDir;

/// The last step of a process that is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LastStep {
    Committed,
    OneFileMovedAway,
    AllMovedAway,
    Ready,
    OneFileInPlace,
    AllInPlace,
}

const LAST_STEPS: [LastStep; 6] = [
    LastStep::Committed,
    LastStep::OneFileMovedAway,
    LastStep::AllMovedAway,
    LastStep::Ready,
    LastStep::OneFileInPlace,
    LastStep::AllInPlace,
];

fn write_contents(folder: &Path, text: &str, names: &[&str]) {
    for name in names {
        fs::write(folder.join(name), text).expect("write a file");
    }
    fs::create_dir_all(folder.join(SERVERS)).expect("make a folder");
    fs::write(folder.join(SERVERS).join(format!("{text}.json")), text).expect("write a spec");
}

/// Performs the steps up to `end`, like a process that is then killed.
fn run_until(data_dir: &Path, end: LastStep) {
    commit(data_dir).expect("commit");
    let work = data_dir.join(COMMITTED);
    let (new, ready, old) = (work.join("new"), work.join("ready"), work.join("old"));
    if end == LastStep::Committed {
        return;
    }
    fs::create_dir_all(&old).expect("make a folder");
    if end == LastStep::OneFileMovedAway {
        fs::rename(data_dir.join(DATABASE), old.join(DATABASE)).expect("move a file");
        return;
    }
    move_contents(data_dir, &old).expect("move the old contents");
    if end == LastStep::AllMovedAway {
        return;
    }
    fs::rename(&new, &ready).expect("rename");
    if end == LastStep::Ready {
        return;
    }
    if end == LastStep::OneFileInPlace {
        fs::rename(ready.join(DATABASE), data_dir.join(DATABASE)).expect("move a file");
        return;
    }
    move_contents(&ready, data_dir).expect("move the new contents");
}

#[test]
fn a_replacement_that_was_interrupted_is_completed_by_the_next_start() {
    for end in LAST_STEPS {
        let folder = tempfile::tempdir().expect("make a folder");
        let path = folder.path().canonicalize().expect("a path");
        write_contents(&path, "old", &[DATABASE, "drawbridge.db-wal", "audit.head"]);
        fs::write(path.join("drawbridge.log"), "log").expect("write a log");
        let staging = create_staging_dir(&path).expect("make the staging folder");
        write_contents(&staging, "new", &[DATABASE, "audit.key"]);
        run_until(&path, end);

        drop(DataDir::open(path.clone()).expect("open the data folder"));

        let read = |name: &str| fs::read_to_string(path.join(name)).ok();
        assert_eq!(read(DATABASE).as_deref(), Some("new"), "{end:?}");
        assert_eq!(read("audit.key").as_deref(), Some("new"), "{end:?}");
        assert_eq!(
            read("drawbridge.db-wal"),
            None,
            "{end:?}: the write-ahead log belongs to the old database"
        );
        assert_eq!(read("audit.head"), None, "{end:?}");
        assert_eq!(read("servers/new.json").as_deref(), Some("new"), "{end:?}");
        assert_eq!(read("servers/old.json"), None, "{end:?}");
        assert_eq!(read("drawbridge.log").as_deref(), Some("log"), "{end:?}");
        assert!(!path.join(COMMITTED).exists(), "{end:?}");
        let kept: Vec<_> = fs::read_dir(&path)
            .expect("read the folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.to_string_lossy().contains("replaced-"))
            .collect();
        let [kept] = kept.as_slice() else {
            panic!("{end:?}: {kept:?}");
        };
        for name in [
            DATABASE,
            "drawbridge.db-wal",
            "audit.head",
            "servers/old.json",
        ] {
            let text = fs::read_to_string(kept.join(name)).expect("read a replaced file");
            assert_eq!(text, "old", "{end:?}: {name}");
        }
    }
}

#[test]
fn new_contents_that_were_not_committed_are_not_used() {
    let folder = tempfile::tempdir().expect("make a folder");
    write_contents(folder.path(), "old", &[DATABASE]);
    let staging = create_staging_dir(folder.path()).expect("make the staging folder");
    write_contents(&staging, "new", &[DATABASE]);

    drop(DataDir::open(folder.path().to_owned()).expect("open the data folder"));

    let text = fs::read_to_string(folder.path().join(DATABASE)).expect("read the file");
    assert_eq!(text, "old");
}

#[test]
fn a_folder_of_the_user_in_the_data_folder_is_left_alone() {
    let folder = tempfile::tempdir().expect("make a folder");
    for name in ["restore", "restore.tmp"] {
        let user = folder.path().join(name);
        fs::create_dir_all(user.join("ready")).expect("make a folder");
        fs::write(user.join("ready/photo"), "photo").expect("write a file");
    }

    let data_dir = DataDir::open(folder.path().to_owned()).expect("open the data folder");
    let staging = create_staging_dir(data_dir.path()).expect("make the staging folder");
    write_contents(&staging, "new", &[DATABASE]);
    data_dir
        .replace_with_staged()
        .expect("replace the contents");

    for name in ["restore", "restore.tmp"] {
        assert!(
            folder.path().join(name).join("ready/photo").exists(),
            "{name}"
        );
    }
}

#[test]
fn contents_that_cannot_be_moved_away_stay_in_use() {
    for is_interrupted in [false, true] {
        let folder = tempfile::tempdir().expect("make a folder");
        let path = folder.path().canonicalize().expect("a path");
        write_contents(&path, "old", &[DATABASE, "audit.head"]);
        let data_dir = DataDir::open(path.clone()).expect("open the data folder");
        let staging = create_staging_dir(data_dir.path()).expect("make the staging folder");
        write_contents(&staging, "new", &[DATABASE, "audit.key"]);
        // A folder cannot be moved over a folder that is not empty.
        let obstacle = path.join(STAGED).join("old").join(SERVERS);
        fs::create_dir_all(&obstacle).expect("make a folder");
        fs::write(obstacle.join("obstacle.json"), "{}").expect("write a file");

        let refused = if is_interrupted {
            run_until(&path, LastStep::Committed);
            drop(data_dir);
            let opened = DataDir::open(path.clone()).map(drop);
            opened.expect_err("the folder is opened").to_string()
        } else {
            let replaced = data_dir.replace_with_staged();
            drop(data_dir);
            replaced.expect_err("the contents are replaced").to_string()
        };
        assert!(refused.contains("servers cannot be moved"), "{refused}");
        assert!(refused.contains("as it was before"), "{refused}");

        drop(DataDir::open(path.clone()).expect("the next start opens the folder"));
        for name in [DATABASE, "audit.head", "servers/old.json"] {
            let text = fs::read_to_string(path.join(name)).expect("read a file");
            assert_eq!(text, "old", "{name}");
        }
        for name in ["audit.key", "servers/new.json"] {
            assert!(!path.join(name).exists(), "{name}");
        }
    }
}
