use std::{
    fs,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use tempfile::TempDir;

use super::*;

/// The content of files outside the shared folder. The content is longer than the path of any link,
/// so that the size of these files differs from the size of each link.
const OUTSIDE: &[u8] = &[b'!'; 5_000];

/// A shared folder `shared`, with secret files beside it.
struct Fixture {
    _home: TempDir,
    folder: SharedFolder,
    outside: PathBuf,
}

impl Fixture {
    fn new(all_files: bool) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let base = home.path().canonicalize().expect("a path without links");
        let path = base.join("shared");
        fs::create_dir_all(path.join("notes/deep")).expect("folders");
        fs::write(path.join("notes/a.md"), "# A").expect("a file");
        fs::write(path.join("notes/deep/b.txt"), "b").expect("a file");
        let outside = base.join("outside");
        fs::create_dir(&outside).expect("a folder");
        fs::write(outside.join("secret"), OUTSIDE).expect("a file");
        // A sibling whose path begins with the same letters.
        fs::create_dir(base.join("shared-not")).expect("a folder");
        fs::write(base.join("shared-not/secret"), OUTSIDE).expect("a file");
        Self {
            _home: home,
            folder: SharedFolder { path, all_files },
            outside,
        }
    }

    fn file(&self, path: &str) -> PathBuf {
        self.folder.path.join(path)
    }

    fn read(&self, path: &str) -> Result<Contents, ReadError> {
        Tree::new(&self.folder, Vec::new()).read(Path::new(path))
    }

    fn error(&self, path: &str) -> String {
        self.read(path).expect_err("an error").to_string()
    }

    fn list(&self, limit: usize) -> (Vec<String>, bool) {
        let mut files = Vec::new();
        let is_complete = Tree::new(&self.folder, Vec::new())
            .list(limit, &mut files)
            .expect("a list");
        let paths = files.iter().map(|file| file.path.display().to_string());
        (paths.collect(), is_complete)
    }
}

#[test]
fn the_files_and_folders_of_a_shared_folder_are_read_and_listed() {
    let fixture = Fixture::new(false);
    assert_eq!(
        fixture.read("notes/a.md").expect("read"),
        Contents::File(b"# A".to_vec())
    );
    assert_eq!(
        fixture.read("notes").expect("read"),
        Contents::Folder {
            names: vec!["a.md".to_owned(), "deep/".to_owned()],
            is_complete: true
        }
    );
    assert!(matches!(fixture.read(""), Ok(Contents::Folder { .. })));
    assert_eq!(
        fixture.list(10),
        (
            vec!["notes/a.md".to_owned(), "notes/deep/b.txt".to_owned()],
            true
        )
    );
    assert_eq!(fixture.list(1).0.len(), 1);
    assert!(!fixture.list(1).1, "there are more");
    assert_eq!(fixture.error("notes/c"), "there is no such file");
    assert_eq!(fixture.error("notes/a.md/x"), "there is no such file");
}

#[test]
fn no_path_and_no_link_leads_out_of_the_folder() {
    let fixture = Fixture::new(true);
    symlink(&fixture.outside, fixture.file("away")).expect("a link");
    symlink("../../outside/secret", fixture.file("notes/up")).expect("a link");
    symlink("../../shared-not/secret", fixture.file("notes/sibling")).expect("a link");
    symlink("/etc/hostname", fixture.file("absolute")).expect("a link");
    symlink("loop", fixture.file("loop")).expect("a link");
    for path in [
        "../outside/secret",
        "notes/../../outside/secret",
        "/etc/hostname",
        "away/secret",
        "notes/up",
        "notes/sibling",
        "absolute",
        "loop",
        "notes/./../../outside/secret",
    ] {
        let read = fixture.read(path);
        assert!(read.is_err(), "{path}: {read:?}");
    }
    assert_eq!(
        fixture.error("../outside/secret"),
        ReadError::Outside.to_string()
    );
    assert_eq!(fixture.error("notes/up"), ReadError::Outside.to_string());
    assert_eq!(
        fixture.list(100).0,
        ["notes/a.md", "notes/deep/b.txt"],
        "no link to the outside is listed"
    );
}

#[test]
fn a_link_within_the_folder_leads_to_its_file_unless_the_file_is_private() {
    let fixture = Fixture::new(false);
    fs::write(fixture.file(".env"), "KEY=1").expect("a file");
    fs::write(fixture.file("notes/id_rsa"), "key").expect("a file");
    symlink("notes/a.md", fixture.file("linked.md")).expect("a link");
    symlink(".env", fixture.file("harmless.txt")).expect("a link");
    assert_eq!(
        fixture.read("linked.md").expect("read"),
        Contents::File(b"# A".to_vec())
    );
    for path in [".env", "harmless.txt", "notes/id_rsa"] {
        assert_eq!(
            fixture.error(path),
            ReadError::Private.to_string(),
            "{path}"
        );
    }
    assert_eq!(
        fixture.list(100).0,
        ["linked.md", "notes/a.md", "notes/deep/b.txt"]
    );
    let all = Fixture::new(true);
    fs::write(all.file(".env"), "KEY=1").expect("a file");
    assert!(all.read(".env").is_ok() && all.list(100).0.contains(&".env".to_owned()));
}

#[test]
fn an_excluded_folder_is_not_shared_even_through_a_link() {
    let fixture = Fixture::new(true);
    symlink("deep/b.txt", fixture.file("notes/link")).expect("a link");
    let excluded = fixture.file("notes/deep");
    let tree = Tree::new(&fixture.folder, vec![excluded.as_path()]);
    for path in ["notes/deep", "notes/deep/b.txt", "notes/link"] {
        let error = tree.read(Path::new(path)).expect_err("an error");
        assert!(matches!(error, ReadError::Excluded), "{path}: {error}");
    }
    let mut files = Vec::new();
    tree.list(100, &mut files).expect("a list");
    assert_eq!(files.len(), 1);
}

#[test]
fn special_files_and_files_above_the_size_limit_are_refused() {
    let fixture = Fixture::new(false);
    nix::unistd::mkfifo(&fixture.file("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(fixture.file("socket")).expect("a socket");
    for path in ["pipe", "socket"] {
        assert_eq!(fixture.error(path), ReadError::Special.to_string());
    }
    let large = fs::File::create(fixture.file("large")).expect("a file");
    large.set_len(MAX_FILE + 1).expect("a size");
    assert!(fixture.error("large").contains("at most 5242880"));
    large.set_len(MAX_FILE).expect("a size");
    assert!(fixture.read("large").is_ok());
}

#[test]
fn a_folder_that_was_replaced_by_a_link_is_not_shared() {
    let fixture = Fixture::new(true);
    fs::rename(&fixture.folder.path, fixture.outside.join("moved")).expect("moved");
    symlink(&fixture.outside, &fixture.folder.path).expect("a link");
    assert!(matches!(fixture.read("secret"), Err(ReadError::Folder(_))));
}

/// Another thread swaps a folder and a file with links to the outside while this thread reads them.
#[test]
fn ten_thousand_races_with_swapped_links_read_nothing_outside() {
    let fixture = Fixture::new(true);
    fs::create_dir(fixture.file("dir")).expect("a folder");
    fs::write(fixture.file("dir/secret"), "inside").expect("a file");
    fs::write(fixture.file("file"), "inside").expect("a file");
    let is_done = AtomicBool::new(false);
    /// Ends the other thread, even if an assertion fails.
    struct EndOnDrop<'a>(&'a AtomicBool);
    impl Drop for EndOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (mut inside, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (real, parked) = (fixture.file("dir"), fixture.file("parked"));
            let (file, parked_file) = (fixture.file("file"), fixture.file("parked-file"));
            while !is_done.load(Ordering::Relaxed) {
                fs::rename(&real, &parked).expect("moved");
                symlink(&fixture.outside, &real).expect("a link");
                fs::rename(&file, &parked_file).expect("moved");
                symlink(fixture.outside.join("secret"), &file).expect("a link");
                fs::remove_file(&real).expect("removed");
                fs::rename(&parked, &real).expect("moved back");
                fs::remove_file(&file).expect("removed");
                fs::rename(&parked_file, &file).expect("moved back");
            }
        });
        let _end = EndOnDrop(&is_done);
        for turn in 0..10_000 {
            let path = if turn % 2 == 0 { "dir/secret" } else { "file" };
            match fixture.read(path) {
                Ok(Contents::File(bytes)) => {
                    assert_ne!(bytes, OUTSIDE, "an escape at turn {turn}");
                    inside += 1;
                }
                Ok(folder @ Contents::Folder { .. }) => panic!("{path} is a folder: {folder:?}"),
                Err(_) => refused += 1,
            }
            if turn % 100 == 0 {
                let mut files = Vec::new();
                let tree = Tree::new(&fixture.folder, Vec::new());
                tree.list(100, &mut files).expect("a list");
                assert!(
                    files.iter().all(|file| file.size != OUTSIDE.len() as u64),
                    "{files:?}"
                );
            }
        }
    });
    assert!(
        inside > 0 && refused > 0,
        "both sides of the race happened: {inside} read, {refused} refused"
    );
}
