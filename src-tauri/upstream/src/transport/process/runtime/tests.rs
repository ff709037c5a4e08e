use super::*;

#[test]
fn the_version_is_found_in_the_output_of_each_program() {
    for (output, expected) in [
        ("10.9.2\n", Some("10.9.2")),
        ("v22.3.0\n", Some("22.3.0")),
        ("uvx 0.5.1 (abc 2026-01-01)\n", Some("0.5.1")),
        ("Docker version 28.2.2, build e6534b4\n", Some("28.2.2")),
        ("Python 3.13.1\n", Some("3.13.1")),
        ("usage: dnx\n", None),
        ("", None),
    ] {
        assert_eq!(parse_version(output).as_deref(), expected, "{output}");
    }
}

#[test]
fn each_runtime_is_recognized_by_its_command() {
    for runtime in Runtime::ALL {
        assert_eq!(Runtime::from_name(runtime.command()), Some(runtime));
    }
    assert_eq!(Runtime::from_name("NPX.cmd"), Some(Runtime::Npx));
    assert_eq!(Runtime::from_name("bash"), None);
}

#[cfg(unix)]
mod with_programs {
    use std::{fs, os::unix::fs::PermissionsExt};

    use tempfile::TempDir;

    use super::*;

    /// Returns a folder with one program that runs `script`, and an environment in which no other
    /// program is found.
    fn environment_with(name: &str, script: &str) -> (TempDir, BTreeMap<String, String>) {
        let folder = TempDir::new().expect("a folder");
        let file = folder.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("write the program");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))
            .expect("make the file executable");
        let env = BTreeMap::from([("PATH".to_owned(), folder.path().display().to_string())]);
        (folder, env)
    }

    #[tokio::test]
    async fn a_runtime_is_found_with_its_path_and_version() {
        let (folder, env) = environment_with("npx", "echo 10.9.2");
        let status = check_runtime(Runtime::Npx, &env).await;
        assert_eq!(
            status.path,
            Some(folder.path().join("npx").display().to_string())
        );
        assert_eq!(
            (status.version.as_deref(), status.problem.as_str()),
            (Some("10.9.2"), "")
        );
        assert!(status.remedy.is_empty());
    }

    #[tokio::test]
    async fn a_missing_runtime_is_reported_with_an_install_hint() {
        let (_folder, env) = environment_with("npx", "echo 10.9.2");
        let status = check_runtime(Runtime::Uvx, &env).await;
        assert_eq!(status.path, None);
        assert!(
            status.problem.contains("cannot find 'uvx'"),
            "{}",
            status.problem
        );
        assert!(status.remedy.contains("Install uv"), "{}", status.remedy);
    }

    #[tokio::test]
    async fn a_runtime_that_fails_has_a_problem_and_no_version() {
        let (_folder, env) = environment_with("node", "exit 3");
        let status = check_runtime(Runtime::Node, &env).await;
        assert!(status.path.is_some() && status.version.is_none());
        assert!(status.problem.contains("exit code 3"), "{}", status.problem);
    }

    #[tokio::test(start_paused = true)]
    async fn a_runtime_that_hangs_is_given_up_after_5_s() {
        let (_folder, env) = environment_with("uvx", "exec /bin/sleep 600");
        let status = check_runtime(Runtime::Uvx, &env).await;
        assert!(status.problem.contains("within 5 s"), "{}", status.problem);
    }

    #[tokio::test]
    async fn docker_without_its_daemon_is_reported_as_such() {
        let (_folder, env) = environment_with(
            "docker",
            r#"[ "$1" = --version ] && echo "Docker version 28.2.2, build x""#,
        );
        let status = check_runtime(Runtime::Docker, &env).await;
        assert_eq!(status.version.as_deref(), Some("28.2.2"));
        assert!(
            status.problem.contains("daemon does not answer"),
            "{}",
            status.problem
        );
        assert!(status.remedy.contains("Start"), "{}", status.remedy);
        let (_folder, env) = environment_with("docker", "echo 28.2.2");
        assert_eq!(check_runtime(Runtime::Docker, &env).await.problem, "");
    }
}
