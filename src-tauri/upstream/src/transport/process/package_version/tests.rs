use std::{fs, os::unix::fs::PermissionsExt};

use drawbridge_model::spec::package;
use tempfile::TempDir;

use super::*;

/// A folder with programs that stand for npm, uvx and Docker.
struct Programs(TempDir);

impl Programs {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn add(&self, name: &str, script: &str) {
        let file = self.0.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("write the program");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("make executable");
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.0.path().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("create");
        fs::write(file, text).expect("write");
    }

    /// Returns the version, or why it is not known.
    async fn find(&self, line: &str) -> String {
        let folder = self.0.path().display().to_string();
        let mut words = line.split(' ').map(str::to_owned);
        let spec = ServerSpec {
            command: words.next(),
            args: words.collect(),
            env: [("PATH".to_owned(), folder.clone())].into(),
            cwd: Some(folder),
            ..ServerSpec::default()
        };
        let packages = package::floating_packages(&spec);
        let package = packages.first().expect("a floating package");
        find_version(&spec, package)
            .await
            .unwrap_or_else(|error| error.to_string())
    }
}

#[tokio::test]
async fn a_package_of_npx_has_the_version_that_npx_finds_first() {
    let programs = Programs::new();
    programs.add(
        "npm",
        r#"case "$*" in root) echo "$PWD/local";; root*) echo "$PWD/global";; *) echo "$PWD/cache";; esac"#,
    );
    let never = programs.find("npx -y @a/b").await;
    assert!(
        never.starts_with("npx has not downloaded it yet"),
        "{never}"
    );
    for (folder, made_for, version) in [
        ("1", r#"{"_npx": {"packages": ["@a/b"]}}"#, "1.0.0"),
        (
            "2",
            r#"{"_npx": {"packages": ["@a/b@next"]}}"#,
            "2.0.0-rc.1",
        ),
        ("3", r#"{"_npx": {"packages": ["other"]}}"#, "3.0.0"),
        ("4", r#"{"dependencies": {"old": "^4"}}"#, "4.0.0"),
    ] {
        let name = if folder == "4" { "old" } else { "@a/b" };
        programs.write(&format!("cache/_npx/{folder}/package.json"), made_for);
        programs.write(
            &format!("cache/_npx/{folder}/node_modules/{name}/package.json"),
            &format!(r#"{{"version": "{version}"}}"#),
        );
    }
    assert_eq!(programs.find("npx -y @a/b").await, "1.0.0");
    assert_eq!(programs.find("npx @a/b@next").await, "2.0.0-rc.1");
    assert_eq!(programs.find("npx old").await, "4.0.0");
    programs.write("global/@a/b/package.json", r#"{"version": "5.0.0"}"#);
    assert_eq!(programs.find("npx -y @a/b").await, "5.0.0");
    programs.write("local/@a/b/package.json", r#"{"version": "6.0.0"}"#);
    assert_eq!(programs.find("npx -y @a/b").await, "6.0.0");
}

#[tokio::test]
async fn a_package_of_uvx_has_the_version_that_uv_has_downloaded() {
    let programs = Programs::new();
    programs.add(
        "uvx",
        r#"case "$*" in
            "--python 3.12 --offline --from name[x] python -c import importlib.metadata as m; print(m.version(\"name\"))") echo 1.2.3;;
            *) exit 1;;
        esac"#,
    );
    assert_eq!(
        programs
            .find("uvx --offline --python 3.12 name[x] --db x")
            .await,
        "1.2.3"
    );
    let never = programs.find("uvx other").await;
    assert!(
        never.starts_with("uvx has not downloaded it yet"),
        "{never}"
    );
}

#[tokio::test]
async fn an_image_has_the_digest_of_its_registry() {
    let programs = Programs::new();
    programs.add(
        "docker",
        r#"case "$*" in ps*) test ! -e down;; *:gone) exit 1;; *:mine) ;; *) echo mirror/a@sha256:1; echo mcp/a@sha256:2; echo;; esac"#,
    );
    assert_eq!(
        programs.find("docker run -i docker.io/mcp/a:latest").await,
        "sha256:2"
    );
    assert_eq!(
        programs.find("docker run mcp/a:mine").await,
        "the image was built on this computer, and no registry gave it a digest"
    );
    let gone = programs.find("docker run mcp/a:gone").await;
    assert!(
        gone.starts_with("docker has not downloaded it yet"),
        "{gone}"
    );
    programs.write("down", "");
    let down = programs.find("docker run mcp/a:gone").await;
    assert!(down.starts_with("'docker' cannot be asked"), "{down}");
    assert_eq!(
        programs.find("podman run mcp/a").await,
        "'podman' was not found on the server's PATH"
    );
}

#[tokio::test]
async fn a_package_of_another_program_has_no_known_version() {
    let programs = Programs::new();
    assert_eq!(
        programs.find("bunx name").await,
        "Drawbridge does not know where bunx keeps its packages"
    );
    assert_eq!(
        programs.find("npx user/repo").await,
        "it is the address of a repository or a file"
    );
}
