//! Identifies the program that a spec starts, so that a person can accept it, and Drawbridge
//! notices if it is replaced.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, PoisonError},
    time::SystemTime,
};

use drawbridge_model::{
    digest,
    program::{Program, ProgramFile},
    spec::ServerSpec,
};

use super::{find_program, home_dir, login_path::login_path};

/// Programs that run packages, images or scripts. A system upgrade replaces these programs, so only
/// their paths count.
const RUNTIMES: &[&str] = &[
    // Packages and images, which the arguments name.
    "npx",
    "npm",
    "pnpm",
    "pnpx",
    "yarn",
    "bunx",
    "uv",
    "uvx",
    "pipx",
    "dnx",
    "docker",
    "podman",
    // Scripts.
    "node",
    "nodejs",
    "deno",
    "bun",
    "python",
    "pythonw",
    "pypy",
    "java",
    "javaw",
    "dotnet",
    "ruby",
    "perl",
    "php",
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "pwsh",
    "powershell",
    "cmd",
    "env",
];
/// The extensions of files that an interpreter or the system runs.
const SCRIPT_EXTENSIONS: &[&str] = &[
    "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "py", "pyw", "pyc", "pyz", "rb", "pl",
    "php", "lua", "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "exe", "jar", "dll", "wasm",
];
/// Options of runtimes whose value is the folder to which later arguments are relative.
const FOLDER_OPTIONS: &[&str] = &[
    "--directory",
    "--project",
    "--cwd",
    "--prefix",
    "--dir",
    "-C",
];

/// The metadata of a file that changes when its content does.
#[derive(Clone, PartialEq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    /// The device, the inode, and the time of the inode's last change in seconds and nanoseconds; 0
    /// on systems without them.
    node: (u64, u64, i64, i64),
}

/// The digests of files, each with the stamp that the file had when it was read.
static DIGESTS: LazyLock<Mutex<HashMap<PathBuf, (Stamp, String)>>> = LazyLock::new(Mutex::default);

/// Returns the program that a spec starts now; `None` for a remote server.
pub async fn identify_program(spec: &ServerSpec) -> Option<Program> {
    let command = spec.command.clone()?;
    let path = match spec.env.get("PATH") {
        Some(path) => path.clone(),
        None => login_path().await.to_owned(),
    };
    let folder = spec.cwd.as_ref().map(PathBuf::from).or_else(home_dir);
    let (args, program_changes) = (spec.args.clone(), spec.program_changes);
    let identified = tokio::task::spawn_blocking(move || {
        let folder = folder.unwrap_or_else(|| PathBuf::from("."));
        let Some(program) = find_program(&command, &path, &folder) else {
            return Program {
                path: None,
                link_target: None,
                files: Vec::new(),
            };
        };
        // If a person replaces the program on purpose, only its path counts.
        let files = if program_changes {
            Vec::new()
        } else {
            list_files(&program, &args, &folder)
        };
        let target = fs::canonicalize(&program).ok();
        Program {
            path: Some(program.display().to_string()),
            link_target: target
                .filter(|target| *target != program)
                .map(|target| target.display().to_string()),
            files: files
                .into_iter()
                .map(|file| ProgramFile {
                    sha256: read_digest(&file),
                    path: file.display().to_string(),
                })
                .collect(),
        }
    });
    Some(
        identified
            .await
            .expect("identifying a program does not panic"),
    )
}

/// Returns the files whose content identifies the program: the program itself, unless it is a
/// runtime, and the scripts among the arguments.
pub(super) fn list_files(program: &Path, args: &[String], folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    let is_runtime = is_runtime(program);
    if !is_runtime {
        files.push(program.to_owned());
    }
    let mut expects_script = is_runtime;
    let mut is_folder = false;
    for arg in args {
        let (option, value) = match arg.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (option, value),
            _ => ("", arg.as_str()),
        };
        if is_folder || FOLDER_OPTIONS.contains(&option) {
            folders.push(folder.join(value));
            is_folder = false;
            continue;
        }
        is_folder = FOLDER_OPTIONS.contains(&value);
        let is_script = Path::new(value)
            .extension()
            .and_then(|extension| extension.to_str())
            .is_some_and(|extension| {
                SCRIPT_EXTENSIONS.contains(&extension.to_lowercase().as_str())
            });
        // For a runtime, the first argument that is no option may be a script without an extension.
        let is_first = expects_script && !arg.starts_with('-');
        expects_script &= !is_first;
        if is_script || is_first {
            let candidates = folders.iter().map(|folder| folder.join(value));
            files.extend(candidates.filter(|file| file.is_file()));
        }
    }
    // Joined to each folder, an absolute path stays the same.
    let mut unique = BTreeSet::new();
    files.retain(|file| unique.insert(file.clone()));
    files
}

fn is_runtime(program: &Path) -> bool {
    let name = program.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default().to_lowercase();
    let name = [".exe", ".cmd", ".bat"]
        .iter()
        .find_map(|extension| name.strip_suffix(extension))
        .unwrap_or(&name);
    // Remove a version, as in `python3.11`.
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    RUNTIMES.contains(&name)
}

/// Returns the digest of a file, or an empty text if the file cannot be read. A file that has not
/// changed since the last call is not read again.
fn read_digest(file: &Path) -> String {
    let Ok(metadata) = fs::metadata(file) else {
        return String::new();
    };
    let stamp = stamp(&metadata);
    let cached = digests().get(file).cloned();
    if let Some((_, digest)) = cached.filter(|(cached_stamp, _)| *cached_stamp == stamp) {
        return digest;
    }
    let Ok(digest) = fs::File::open(file).and_then(digest::sha256_reader) else {
        return String::new();
    };
    digests().insert(file.to_owned(), (stamp, digest.clone()));
    digest
}

fn digests() -> std::sync::MutexGuard<'static, HashMap<PathBuf, (Stamp, String)>> {
    DIGESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stamp(metadata: &fs::Metadata) -> Stamp {
    #[cfg(unix)]
    let node = {
        use std::os::unix::fs::MetadataExt;
        (
            metadata.dev(),
            metadata.ino(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        )
    };
    #[cfg(not(unix))]
    let node = (0, 0, 0, 0);
    Stamp {
        size: metadata.len(),
        modified: metadata.modified().ok(),
        node,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use drawbridge_model::program::ProgramChange;

    use super::*;

    fn write_program(file: &Path, text: &str) {
        fs::write(file, text).expect("write");
        fs::set_permissions(file, fs::Permissions::from_mode(0o700)).expect("make executable");
    }

    fn spec(command: &Path, args: &[&str]) -> ServerSpec {
        ServerSpec {
            command: Some(command.display().to_string()),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            cwd: command.parent().map(|folder| folder.display().to_string()),
            ..ServerSpec::default()
        }
    }

    #[tokio::test]
    async fn a_replaced_program_or_script_differs_and_a_replaced_runtime_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        fs::create_dir(file("project")).expect("create");
        let names = [
            "server",
            "python3.11",
            "npx",
            "uv",
            "script.py",
            "script",
            "data.db",
            "project/main.py",
        ];
        for name in names {
            write_program(&file(name), "1");
        }
        let changing = ServerSpec {
            program_changes: true,
            ..spec(&file("server"), &["script.py"])
        };
        let with_args = |command: &str, args: &[&str]| spec(&file(command), args);
        let cases = [
            (with_args("server", &["data.db"]), "server", true),
            (with_args("server", &["data.db"]), "data.db", false),
            (
                with_args("server", &["run", "script.py"]),
                "script.py",
                true,
            ),
            (with_args("python3.11", &["-u", "script"]), "script", true),
            (
                with_args("python3.11", &["-u", "script"]),
                "python3.11",
                false,
            ),
            (
                with_args("python3.11", &["script", "data.db"]),
                "data.db",
                false,
            ),
            (with_args("npx", &["tsx", "script.py"]), "script.py", true),
            (with_args("npx", &["pkg@1", "data.db"]), "data.db", false),
            (with_args("npx", &["pkg@1"]), "npx", false),
            (
                with_args("uv", &["--directory", "project", "run", "main.py"]),
                "project/main.py",
                true,
            ),
            (
                with_args(
                    "uv",
                    &["--directory=project", "run", "x", "--db", "data.db"],
                ),
                "data.db",
                false,
            ),
            (changing.clone(), "server", false),
            (changing, "script.py", false),
        ];
        for (number, (spec, replaced, differs)) in cases.into_iter().enumerate() {
            let before = identify_program(&spec).await.expect("a local server");
            assert_eq!(identify_program(&spec).await.as_ref(), Some(&before));
            write_program(&file(replaced), &format!("new {number}"));
            let now = identify_program(&spec).await.expect("a local server");
            let change = ProgramChange::find(&before, &now);
            assert_eq!(change.is_some(), differs, "{spec:?} {replaced}: {change:?}");
        }
    }

    #[tokio::test]
    async fn a_program_may_be_found_at_its_link_or_its_target_but_nowhere_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| folder.path().join(name);
        for name in ["one", "two"] {
            fs::create_dir(file(name)).expect("create");
            write_program(&file(name).join("node"), name);
        }
        let link = |target: &str, name: &str| {
            let _ = fs::remove_file(file(name));
            std::os::unix::fs::symlink(file(target).join("node"), file(name)).expect("link");
        };
        link("one", "node");
        let accepted = identify_program(&spec(&file("node"), &[]))
            .await
            .expect("local");
        let find_change = async |command: &str| {
            let now = identify_program(&spec(&file(command), &[]))
                .await
                .expect("local");
            ProgramChange::find(&accepted, &now)
        };
        assert_eq!(find_change("one/node").await, None);
        link("two", "node");
        assert_eq!(find_change("node").await, None);
        assert!(matches!(
            find_change("two/node").await,
            Some(ProgramChange::Moved { .. })
        ));
        fs::remove_file(file("node")).expect("remove");
        let change = find_change("node").await;
        assert_eq!(change, None, "a removed program cannot start");
    }
}
