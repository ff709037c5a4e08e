use super::*;

fn machine(os: Os, env: &[(&str, &str)]) -> Machine {
    Machine {
        os,
        home: PathBuf::from("/home/ada"),
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

#[test]
fn a_template_is_resolved_for_each_system() {
    for (os, env, template, path) in [
        (
            Os::Linux,
            &[][..],
            "<config>/Claude/x.json",
            "/home/ada/.config/Claude/x.json",
        ),
        (
            Os::Linux,
            &[("XDG_CONFIG_HOME", "/cfg")],
            "<config>/a",
            "/cfg/a",
        ),
        (
            Os::MacOs,
            &[],
            "<config>/a",
            "/home/ada/Library/Application Support/a",
        ),
        (Os::MacOs, &[], "<xdg>/zed/a", "/home/ada/.config/zed/a"),
        (
            Os::Windows,
            &[("AppData", "/roaming")],
            "<config>/a",
            "/roaming/a",
        ),
        (Os::Windows, &[], "<local>/a", "/home/ada/AppData/Local/a"),
        (
            Os::Linux,
            &[("CODEX_HOME", "/c")],
            "$CODEX_HOME/config.toml",
            "/c/config.toml",
        ),
        (
            Os::Linux,
            &[("CLINE_FILE", "~/x.json")],
            "$CLINE_FILE",
            "/home/ada/x.json",
        ),
        (Os::Linux, &[], "~/.a", "/home/ada/.a"),
        (Os::MacOs, &[], "/Applications/a.app", "/Applications/a.app"),
    ] {
        assert_eq!(
            machine(os, env).resolve(template),
            Some(PathBuf::from(path)),
            "{template} on {os:?}"
        );
    }
    assert_eq!(machine(Os::Linux, &[("A", "")]).resolve("$A/b"), None);
}

#[test]
fn a_star_finds_the_profiles_that_match() {
    let home = tempfile::tempdir().expect("a folder");
    for name in [".claude-work", ".claude-home", ".claudia"] {
        fs::create_dir(home.path().join(name)).expect("a profile");
        fs::write(home.path().join(name).join(".claude.json"), "{}").expect("a file");
    }
    let machine = Machine {
        home: home.path().to_owned(),
        ..machine(Os::Linux, &[])
    };
    let found = machine.find_paths("~/.claude-*/.claude.json");
    let names: Vec<_> = found
        .iter()
        .map(|path| path.strip_prefix(home.path()).expect("below the home"))
        .collect();
    assert_eq!(
        names,
        [
            Path::new(".claude-home/.claude.json"),
            Path::new(".claude-work/.claude.json")
        ]
    );
}

#[test]
fn a_program_is_found_in_the_path_of_the_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("codex"), "").expect("a program");
    fs::write(folder.path().join("cursor.exe"), "").expect("a program");
    let path = folder.path().to_str().expect("a path");
    assert!(machine(Os::Linux, &[("PATH", &format!("/nowhere:{path}"))]).has_program("codex"));
    assert!(!machine(Os::Linux, &[("PATH", path)]).has_program("cursor"));
    assert!(machine(Os::Windows, &[("Path", &format!("C:\\x;{path}"))]).has_program("cursor"));
}
