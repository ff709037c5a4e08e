use super::*;

fn spec() -> ServerSpec {
    new_spec(Path::new("/data/docling/models"))
}

fn with_version(version: &str) -> ServerSpec {
    let mut spec = spec();
    for arg in &mut spec.args {
        if arg.starts_with(PACKAGE) {
            *arg = format!("{PACKAGE}{version}");
        }
    }
    spec
}

#[test]
fn the_spec_pins_a_version_and_names_the_folder_of_the_models() {
    let spec = spec();
    spec.check().expect("a valid spec");
    assert_eq!(spec.name, "docling");
    assert!(is_own_command(&spec) && is_local(&spec));
    assert_eq!(
        models_folder(&spec),
        Some(PathBuf::from("/data/docling/models"))
    );
    assert_eq!(raise_version(&spec), None);
}

#[test]
fn an_older_version_is_raised_and_everything_else_stays() {
    let mut older = with_version("1.3.2");
    older
        .env
        .insert("DOCLING_MCP_DO_OCR".into(), "false".into());
    older.enabled = false;
    let raised = raise_version(&older).expect("a newer version");
    assert_eq!(raised.args, spec().args);
    assert_eq!((raised.enabled, &raised.env), (false, &older.env));
    assert!(raise_version(&with_version("3.2.9")).is_some());
    assert_eq!(raise_version(&with_version("3.10.0")), None);
}

#[test]
fn a_command_that_the_user_changed_is_kept() {
    let mut other_extra = spec();
    other_extra.args[1] = "docling-mcp==1.0.0".into();
    let mut more = with_version("1.0.0");
    more.args.push("conversion".into());
    let mut other_program = with_version("1.0.0");
    other_program.command = Some("/opt/uv/bin/uvx".into());
    for edited in [
        other_extra,
        more,
        other_program,
        with_version("1.0.0rc1"),
        with_version("latest"),
    ] {
        assert!(!is_own_command(&edited), "{:?}", edited.args);
        assert_eq!(raise_version(&edited), None);
    }
}

#[test]
fn docling_tools_comes_from_the_same_package() {
    let (program, args) = tools_command(&spec()).expect("a command");
    assert_eq!(program, "uvx");
    assert_eq!(
        args,
        ["--from", "docling-mcp[local]==3.3.0", "docling-tools"]
    );
    let installed = ServerSpec {
        command: Some("/opt/docling/bin/docling-mcp-server".into()),
        args: vec!["--transport".into(), "stdio".into()],
        ..ServerSpec::default()
    };
    let expected = ("/opt/docling/bin/docling-tools".to_owned(), Vec::new());
    assert_eq!(tools_command(&installed), Some(expected));
    let image = ServerSpec {
        command: Some("docker".into()),
        args: vec!["run".into(), "docling".into()],
        ..ServerSpec::default()
    };
    assert_eq!(tools_command(&image), None);
}
