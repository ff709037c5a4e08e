//! The paths of the product, the fixtures and the real programs.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Returns the root of the repository.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ has a parent")
        .to_owned()
}

/// Returns the path of a workspace binary, built beside this test.
pub fn built_binary(name: &str) -> PathBuf {
    let exe = env::current_exe().expect("this test knows its own path");
    let profile = exe
        .ancestors()
        .find(|folder| folder.join("deps").is_dir())
        .expect("this test lies in a target folder");
    let path = profile.join(name);
    assert!(
        path.is_file(),
        "{} is not built: run `cargo build --workspace` first",
        path.display()
    );
    path
}

/// Returns the path of a program on `PATH`.
pub fn find_program(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .unwrap_or_else(|| {
            panic!("{name} is not installed: `cargo xtask test` installs what the tests need")
        })
}

/// Returns the path of a shared library of the system.
pub fn find_library(name: &str) -> PathBuf {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    folders
        .map(|folder| folder.path().join(name))
        .find(|file| file.is_file())
        .unwrap_or_else(|| panic!("{name} is not installed"))
}

/// Returns the path of WebKit's own small browser, which is part of the library's package.
pub fn find_mini_browser() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let browser = folders
        .map(|folder| folder.path().join("webkit2gtk-4.1/MiniBrowser"))
        .find(|file| file.is_file());
    browser.unwrap_or_else(|| panic!("MiniBrowser is not installed (libwebkit2gtk-4.1-0)"))
}

/// Returns the folder of the pinned public packages.
pub fn pinned_packages_dir() -> PathBuf {
    repository_root().join("tests/real")
}

/// Returns this process's `PATH`, preceded by the folder with the commands of the pinned npm
/// packages, so that tests start these commands by name, as a user would.
pub fn path_with_pinned_packages() -> String {
    let path = env::var("PATH").expect("a PATH in UTF-8");
    let commands = pinned_packages_dir().join("node_modules/.bin");
    format!("{}:{path}", commands.display())
}

/// Returns the entry file of a pinned npm package.
pub fn npm_file(file: &str) -> PathBuf {
    let path = pinned_packages_dir().join("node_modules").join(file);
    assert!(
        path.is_file(),
        "{} is missing: `cargo xtask test` installs it (npm ci in tests/real)",
        path.display()
    );
    path
}

/// Returns the Node of the pinned packages, for programs that need a newer version than the system
/// may have.
pub fn node_program() -> PathBuf {
    let machine = match env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "x64",
    };
    npm_file(&format!("node-linux-{machine}/bin/node"))
}

/// Returns the Python interpreter with the pinned packages.
pub fn python_program() -> PathBuf {
    let path = pinned_packages_dir().join(".venv/bin/python");
    assert!(
        path.is_file(),
        "{} is missing: `cargo xtask test` creates it",
        path.display()
    );
    path
}

/// Returns a program of one of the environments that `tests/real/python` pins.
pub fn python_env_program(environment: &str, program: &str) -> PathBuf {
    let path = pinned_packages_dir()
        .join("python")
        .join(environment)
        .join("bin")
        .join(program);
    assert!(
        path.is_file(),
        "{} is missing: `cargo xtask test` creates it",
        path.display()
    );
    path
}

/// Returns the version that a requirements file below `tests/real` pins.
pub fn pip_version(file: &str, package: &str) -> String {
    let pinned = read_pinned_file(file);
    let version = pinned
        .lines()
        .find_map(|line| line.strip_prefix(package)?.strip_prefix("=="));
    version
        .unwrap_or_else(|| panic!("{file} does not pin {package}"))
        .to_owned()
}

/// Returns the version of an npm package that `tests/real/package.json` pins.
pub fn npm_version(package: &str) -> String {
    let pinned: serde_json::Value =
        serde_json::from_str(&read_pinned_file("package.json")).expect("package.json is JSON");
    let version = ["dependencies", "optionalDependencies"]
        .iter()
        .find_map(|kind| pinned[kind][package].as_str());
    let version = version.unwrap_or_else(|| panic!("package.json does not pin {package}"));
    version.rsplit('@').next().unwrap_or(version).to_owned()
}

fn read_pinned_file(file: &str) -> String {
    let path = pinned_packages_dir().join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("read {}: {e}", path.display()))
}

/// Returns the path of a file below `test-output/`, which is kept after the run. Creates its
/// folder.
pub fn output_file(path: impl AsRef<Path>) -> PathBuf {
    let path = repository_root().join("test-output").join(path);
    let folder = path.parent().expect("below test-output");
    fs::create_dir_all(folder).unwrap_or_else(|e| panic!("make {}: {e}", folder.display()));
    path
}

/// Creates a folder below `test-output/`, which is kept after the run.
pub fn output_folder(name: &str) -> PathBuf {
    let path = repository_root().join("test-output").join(name);
    fs::create_dir_all(&path).unwrap_or_else(|e| panic!("make {}: {e}", path.display()));
    path
}

/// Returns a path as text.
pub fn path_text(path: impl AsRef<OsStr>) -> String {
    path.as_ref().to_str().expect("a path in UTF-8").to_owned()
}
