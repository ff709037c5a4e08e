//! The folders without which a program in a sandbox cannot run: those of the system, of the
//! programs on the PATH, of the program itself, and of its scripts. Also the variables that make
//! the server's own folder the home folder.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{super::home_dir, TEMPORARY_FOLDER};

/// Folders of the system that any user may read, and that hold programs, libraries and settings.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/proc",
    "/sys",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/run/current-system",
    "/home/linuxbrew/.linuxbrew",
];
/// Files below `/etc` that are links to elsewhere on some systems.
const LINKED: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/localtime",
];
/// Variables with the path of a file or folder that programs read to check certificates.
const CERTIFICATE_VARIABLES: &[&str] = &["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"];
/// Programs on the PATH that run scripts or packages. Other programs start them, and scripts name
/// them in their first line.
const INTERPRETERS: &[&str] = &[
    "node", "python3", "python", "uv", "uvx", "npx", "bun", "deno",
];
/// Names of folders that hold programs. The parent of such a folder holds the files that the
/// programs need.
const PROGRAM_FOLDERS: &[&str] = &["bin", "shims"];
/// Folders in the home folder that hold programs in `bin`, and secrets or other data beside it.
const SHARED_PREFIXES: &[&str] = &[".local", ".cargo"];

/// Returns the files and folders that a program with these scripts may read besides those that its
/// sandbox lists.
pub(super) fn list_folders(
    program: &Path,
    scripts: &[PathBuf],
    env: &BTreeMap<String, String>,
) -> Vec<PathBuf> {
    let finder = FolderFinder { home: home_dir() };
    let mut folders: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    folders.extend(LINKED.iter().filter_map(|file| fs::canonicalize(file).ok()));
    let certificates = CERTIFICATE_VARIABLES
        .iter()
        .filter_map(|name| env.get(*name))
        .filter(|path| !path.is_empty());
    folders.extend(certificates.map(PathBuf::from));
    let path = env.get("PATH").map_or("", String::as_str);
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        for name in INTERPRETERS {
            let interpreter = folder.join(name);
            if interpreter.is_file() {
                folders.extend(finder.around_program(&interpreter));
            }
        }
        folders.extend(finder.around_folder(&folder));
    }
    folders.extend(finder.around_program(program));
    for script in scripts {
        folders.extend(finder.around_script(script));
        if let Ok(target) = fs::canonicalize(script) {
            folders.extend(finder.around_script(&target));
        }
    }
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// Returns the variables that make a server's own folder the home folder of its program. Variables
/// without a value have to be removed.
pub(super) fn own_environment(own_folder: &Path) -> [(&'static str, Option<String>); 8] {
    let home = own_folder.display().to_string();
    let temporary = own_folder.join(TEMPORARY_FOLDER).display().to_string();
    [
        ("HOME", Some(home)),
        ("TMPDIR", Some(temporary.clone())),
        ("TMP", Some(temporary.clone())),
        ("TEMP", Some(temporary)),
        ("XDG_CACHE_HOME", None),
        ("XDG_CONFIG_HOME", None),
        ("XDG_DATA_HOME", None),
        ("XDG_RUNTIME_DIR", None),
    ]
}

/// Finds the folders that belong to a program. Shared folders, such as the user's home folder, are
/// never among them.
struct FolderFinder {
    home: Option<PathBuf>,
}

impl FolderFinder {
    /// Returns whether a folder is the root, the home folder, a folder that contains the home
    /// folder, or one of [`SHARED_PREFIXES`].
    fn is_shared(&self, folder: &Path) -> bool {
        folder.parent().is_none()
            || self.home.as_ref().is_some_and(|home| {
                home.starts_with(folder)
                    || SHARED_PREFIXES
                        .iter()
                        .any(|prefix| folder == home.join(prefix))
            })
    }

    /// Returns a folder of programs, and its parent if the parent belongs to the programs. Shared
    /// folders are left out.
    fn around_folder(&self, folder: &Path) -> Vec<PathBuf> {
        let name = folder.file_name().and_then(|name| name.to_str());
        let prefix = name
            .filter(|name| PROGRAM_FOLDERS.contains(name))
            .and_then(|_| folder.parent())
            .filter(|prefix| !self.is_shared(prefix));
        [
            prefix,
            Some(folder).filter(|folder| !self.is_shared(folder)),
        ]
        .into_iter()
        .flatten()
        .map(Path::to_owned)
        .collect()
    }

    /// Returns a program with the folders around it. If the program is a link, also returns the
    /// target of the link with the folders around the target.
    fn around_program(&self, program: &Path) -> Vec<PathBuf> {
        let mut paths = vec![program.to_owned()];
        let target = fs::canonicalize(program).ok();
        for file in [Some(program), target.as_deref()].into_iter().flatten() {
            paths.push(file.to_owned());
            if let Some(folder) = file.parent() {
                paths.extend(self.around_folder(folder));
            }
        }
        paths
    }

    /// Returns a script with its package: the outermost `node_modules` around it, or else the
    /// folder of the nearest project file, or else the script's own folder. Shared folders are
    /// left out.
    fn around_script(&self, script: &Path) -> Vec<PathBuf> {
        let is_modules = |folder: &&Path| folder.ends_with("node_modules");
        let is_project = |folder: &&Path| {
            ["package.json", "pyproject.toml"]
                .iter()
                .any(|file| folder.join(file).is_file())
        };
        let around = || script.ancestors().skip(1);
        let outermost = around().filter(is_modules).last();
        let package = outermost
            .or_else(|| {
                around()
                    .take_while(|folder| !self.is_shared(folder))
                    .find(is_project)
            })
            .or_else(|| script.parent());
        let package = package.filter(|folder| !self.is_shared(folder));
        [Some(script), package]
            .into_iter()
            .flatten()
            .map(Path::to_owned)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_its_own_installation_and_nothing_else_of_the_home_folder() {
        let finder = FolderFinder {
            home: Some(PathBuf::from("/home/me")),
        };
        let around = |folder: &str| finder.around_folder(Path::new(folder));
        let paths = |paths: &[&str]| -> Vec<PathBuf> { paths.iter().map(PathBuf::from).collect() };
        for (folder, expected) in [
            (
                "/home/me/.nvm/versions/node/v24/bin",
                paths(&[
                    "/home/me/.nvm/versions/node/v24",
                    "/home/me/.nvm/versions/node/v24/bin",
                ]),
            ),
            ("/home/me/.local/bin", paths(&["/home/me/.local/bin"])),
            ("/home/me/.cargo/bin", paths(&["/home/me/.cargo/bin"])),
            ("/home/me/bin", paths(&["/home/me/bin"])),
            ("/home/me", paths(&[])),
            ("/home", paths(&[])),
            ("/bin", paths(&["/bin"])),
        ] {
            assert_eq!(around(folder), expected, "{folder}");
        }
    }

    #[test]
    fn a_script_gets_its_package() {
        let folder = tempfile::tempdir().expect("a folder");
        let finder = FolderFinder {
            home: Some(folder.path().to_owned()),
        };
        let file = |name: &str| {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().expect("a parent")).expect("create");
            fs::write(&file, "").expect("write");
            file
        };
        file("app/package.json");
        file("other/pyproject.toml");
        for (script, package) in [
            ("app/dist/index.js", Some("app")),
            (
                "x/node_modules/a/node_modules/b/index.js",
                Some("x/node_modules"),
            ),
            ("alone/server.py", Some("alone")),
            ("server.py", None),
        ] {
            let script = file(script);
            let mut expected = vec![script.clone()];
            expected.extend(package.map(|package| folder.path().join(package)));
            assert_eq!(finder.around_script(&script), expected);
        }
    }
}
