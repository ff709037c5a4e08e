//! The files for containers and systemd: the command lines in them are valid, and the steps of the
//! image, done in an empty root, give a hub and a client that work. The configuration of the
//! packages for all systems is valid.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use drawbridge_tests::{Home, home::CliOutput, hub::ADMIN_TOKEN, paths, process::Process};
use saphyr::{LoadableYamlNode, Yaml};
use serde_json::Value;

const PROGRAM: &str = "/usr/local/bin/drawbridge";

#[track_caller]
fn read_package_file(name: &str) -> String {
    let file = paths::repository_root().join("packaging").join(name);
    fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// An instruction of the Dockerfile, such as `COPY` with its arguments.
struct Instruction {
    name: String,
    arguments: String,
}

/// Reads the instructions of the Dockerfile, with continued lines joined.
fn read_dockerfile() -> Vec<Instruction> {
    let text = read_package_file("Dockerfile");
    let text: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let text = text.join("\n").replace("\\\n", " ");
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, arguments)| Instruction {
            name: name.to_owned(),
            arguments: arguments.trim().to_owned(),
        })
        .collect()
}

/// Returns the instructions of the last stage, which become the image.
fn read_last_stage() -> Vec<Instruction> {
    let mut instructions = read_dockerfile();
    let start = instructions
        .iter()
        .rposition(|instruction| instruction.name == "FROM")
        .expect("a stage");
    instructions.split_off(start)
}

/// Returns the list of an instruction in the exec form, such as `CMD ["serve"]`.
#[track_caller]
fn read_list(instructions: &[Instruction], name: &str) -> Vec<String> {
    let matching = instructions
        .iter()
        .find(|instruction| instruction.name == name);
    let matching = matching.unwrap_or_else(|| panic!("no {name}"));
    let list = &matching.arguments[matching.arguments.find('[').expect("the exec form")..];
    serde_json::from_str(list).unwrap_or_else(|e| panic!("{name} {list}: {e}"))
}

/// Reads the compose file.
fn read_compose() -> Value {
    let text = read_package_file("compose.yaml");
    let documents = Yaml::load_from_str(&text).unwrap_or_else(|e| panic!("compose.yaml: {e}"));
    to_json(&documents[0])
}

fn to_json(yaml: &Yaml<'_>) -> Value {
    if let Yaml::Sequence(items) = yaml {
        return items.iter().map(to_json).collect();
    }
    if let Yaml::Mapping(members) = yaml {
        return members
            .iter()
            .map(|(name, value)| (name.as_str().expect("a name").to_owned(), to_json(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
    }
    yaml.as_str()
        .map(Value::from)
        .or_else(|| yaml.as_bool().map(Value::from))
        .unwrap_or(Value::Null)
}

/// Returns the command of a service.
#[track_caller]
fn read_command(compose: &Value, service: &str) -> Vec<String> {
    let command = &compose["services"][service]["command"];
    serde_json::from_value(command.clone()).unwrap_or_else(|e| panic!("{service}: {command}: {e}"))
}

/// Fails unless the command line accepts these arguments. With `--help` after the arguments, the
/// command line exits as soon as it has parsed them.
#[track_caller]
fn assert_accepted(home: &Home, arguments: &[String]) {
    let output = home
        .command(paths::built_binary("drawbridge"))
        .args(arguments)
        .arg("--help")
        .output()
        .expect("start drawbridge");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_options_in_the_files_for_containers_and_systemd_exist() {
    let home = Home::new();
    let image = read_last_stage();
    assert_eq!(read_list(&image, "ENTRYPOINT"), ["drawbridge"]);
    assert_accepted(&home, &read_list(&image, "CMD"));
    let health = read_list(&image, "HEALTHCHECK");
    assert_eq!(health[0], "drawbridge");
    assert_accepted(&home, &health[1..]);
    let compose = read_compose();
    for service in ["mcp-hub", "client"] {
        assert_accepted(&home, &read_command(&compose, service));
    }
    let unknown_option = ["serve".to_owned(), "--no-such-option".to_owned()];
    let refused = std::panic::catch_unwind(|| assert_accepted(&home, &unknown_option));
    assert!(refused.is_err(), "an option that does not exist is noticed");

    let unit = read_package_file("drawbridge.service");
    let start = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart=%h/.local/bin/drawbridge "))
        .expect("the unit starts the hub");
    let arguments: Vec<_> = start.split(' ').map(str::to_owned).collect();
    assert_accepted(&home, &arguments);
}

#[test]
fn the_image_copies_files_that_exist_and_the_compose_file_has_the_port_of_the_hub() {
    for instruction in read_dockerfile() {
        if instruction.name != "COPY" || instruction.arguments.starts_with("--from") {
            continue;
        }
        let words: Vec<_> = instruction.arguments.split(' ').collect();
        let (_, sources) = words.split_last().expect("a target");
        for source in sources {
            let path = paths::repository_root().join(source);
            assert!(path.exists(), "COPY {source}");
        }
    }
    let compose = read_compose();
    let hub = &compose["services"]["mcp-hub"];
    assert_eq!(
        hub["ports"][0], "127.0.0.1:8082:8765",
        "the default port of the hub"
    );
    assert_eq!(
        compose["services"]["client"]["environment"]["MCP_HUB_URL"],
        "http://mcp-hub:8765/mcp"
    );
}

#[test]
fn systemd_accepts_the_unit() {
    let home = Home::new();
    home.install_program("drawbridge", "drawbridge");
    let unit = home.file("config/systemd/user/drawbridge.service");
    fs::create_dir_all(unit.parent().expect("a folder")).expect("the folder of units");
    fs::write(&unit, read_package_file("drawbridge.service")).expect("write the unit");
    let output = home
        .command(paths::find_program("systemd-analyze"))
        .args(["--user", "--man=no", "verify"])
        .arg(&unit)
        .output()
        .expect("run systemd-analyze");
    let complaints = String::from_utf8_lossy(&output.stderr);
    let own: Vec<_> = complaints
        .lines()
        .filter(|line| line.contains("drawbridge"))
        .collect();
    assert!(output.status.success() && own.is_empty(), "{complaints}");
}

/// A root folder with only the files of the image that the program needs.
struct CleanRoot {
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl CleanRoot {
    /// Performs the steps of the image: copies the program and the files of the base image that the
    /// program needs, and creates the data folder and the environment.
    fn new(home: &Home, name: &str) -> Self {
        let folder = home.file(name);
        let program = paths::built_binary("drawbridge");
        let mut root = Self {
            folder,
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        };
        root.copy(&program, PROGRAM);
        for library in list_libraries(&program) {
            root.copy(&library, &paths::path_text(&library));
        }
        // The package ca-certificates, which the image installs.
        let certificates = "/etc/ssl/certs/ca-certificates.crt";
        root.copy(Path::new(certificates), certificates);
        root.write("/etc/nsswitch.conf", "hosts: files\n");
        root.write("/etc/hosts", "127.0.0.1 localhost mcp-hub\n");
        root.write(
            "/etc/passwd",
            "drawbridge:x:10001:10001::/home/drawbridge:/bin/sh\n",
        );
        for empty in ["proc", "dev", "tmp", "home/drawbridge"] {
            fs::create_dir_all(root.folder.join(empty)).expect("a folder of the root");
        }
        for instruction in read_last_stage() {
            match instruction.name.as_str() {
                "ENV" => {
                    let (name, value) = instruction.arguments.split_once('=').expect("a value");
                    root.environment.push((name.to_owned(), value.to_owned()));
                }
                "VOLUME" => {
                    let volume = root.path(&instruction.arguments);
                    fs::create_dir_all(&volume).expect("the data folder");
                    fs::set_permissions(&volume, fs::Permissions::from_mode(0o700))
                        .expect("a private folder");
                }
                "COPY" => assert!(instruction.arguments.ends_with(PROGRAM)),
                _ => {}
            }
        }
        root
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path.trim_start_matches('/'))
    }

    fn copy(&self, from: &Path, to: &str) {
        let target = self.path(to);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder of the root");
        fs::copy(from, &target).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
    }

    fn write(&self, path: &str, text: &str) {
        let target = self.path(path);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder of the root");
        fs::write(target, text).expect("a file of the root");
    }

    /// Returns a command that runs the program in this root. The program sees only this root,
    /// `/proc` and a new `/dev`.
    fn command(&self, home: &Home, arguments: &[String], variables: &[(&str, &str)]) -> Command {
        let mut command = home.command(paths::find_program("bwrap"));
        command.arg("--bind").arg(&self.folder).arg("/");
        command.args([
            "--dev",
            "/dev",
            "--ro-bind",
            "/proc",
            "/proc",
            "--die-with-parent",
        ]);
        command.args([
            "--unshare-ipc",
            "--unshare-uts",
            "--chdir",
            "/",
            "--clearenv",
        ]);
        let own = self
            .environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in own.chain(variables.iter().copied()) {
            command.args(["--setenv", name, value]);
        }
        command.arg(PROGRAM).args(arguments);
        command
    }
}

/// Returns the shared libraries of a program, and its loader.
fn list_libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new(paths::find_program("ldd"))
        .arg(program)
        .output()
        .expect("run ldd");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

#[test]
fn the_image_runs_a_hub_and_a_client_that_knows_only_its_url() {
    let home = Home::new();
    if let Some(engine) = find_container_engine(&home) {
        build_image(&home, engine);
    }
    let compose = read_compose();
    let (hub_root, client_root) = (
        CleanRoot::new(&home, "hub"),
        CleanRoot::new(&home, "client"),
    );
    for root in [&hub_root, &client_root] {
        root.write("/run/secrets/admin-token", ADMIN_TOKEN);
    }
    let token_file = ("DRAWBRIDGE_ADMIN_TOKEN_FILE", "/run/secrets/admin-token");
    assert_eq!(
        compose["services"]["mcp-hub"]["environment"][token_file.0],
        token_file.1
    );
    let mut arguments = read_command(&compose, "mcp-hub");
    // Another test may use the default port.
    arguments.extend(["--port".to_owned(), "0".to_owned()]);
    let mut command = hub_root.command(&home, &arguments, &[token_file]);
    let mut hub = Process::start(&home, "hub", &mut command);
    let url = hub
        .read_line()
        .replace("listening on http://0.0.0.0", "http://mcp-hub");
    assert!(
        hub_root.path("/data/drawbridge.db").is_file(),
        "the data is in the volume"
    );

    let variables = [("MCP_HUB_URL", url.as_str()), token_file];
    let run = |arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let mut command = client_root.command(&home, &arguments, &variables);
        CliOutput::run(&mut command)
    };
    let added = run(&["clients", "add", "desk", "--json"]).expect_json();
    assert_eq!(added["url"], url, "clients get a URL with the allowed name");
    let listed = run(&["clients", "list", "--json"]).expect_json();
    assert_eq!(listed[0]["name"], "desk", "{listed}");
    assert!(
        !client_root.path("/data/drawbridge.db").exists(),
        "the client has no hub of its own"
    );
    let mut health = read_list(&read_last_stage(), "HEALTHCHECK").split_off(1);
    for argument in &mut health {
        if argument.starts_with("http://") {
            *argument = url.replace("mcp-hub", "127.0.0.1").replace("/mcp", "");
        }
    }
    let mut command = hub_root.command(&home, &health, &[token_file]);
    CliOutput::run(&mut command).expect_success();
}

#[test]
fn the_configuration_of_the_packages_is_valid_for_all_systems() {
    let root = paths::repository_root();
    let read = |file: &str| -> Value {
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{file}: {e}"))
    };
    let schema = read("ui/node_modules/@tauri-apps/cli/config.schema.json");
    let validator = jsonschema::validator_for(&schema).expect("Tauri's schema is valid");
    let config = read("tauri.conf.json");
    let mut for_windows = config.clone();
    let windows = read("packaging/bundle-windows.json");
    for (name, value) in windows["bundle"].as_object().expect("an object") {
        for_windows["bundle"][name] = value.clone();
    }
    for config in [&config, &for_windows] {
        let errors: Vec<_> = validator
            .iter_errors(config)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }

    let bundle = &config["bundle"];
    let icons = bundle["icon"].as_array().expect("a list of icons");
    let icons = icons.iter().map(|icon| icon.as_str().expect("a path"));
    let files = ["deb", "rpm", "appimage"].map(|format| &bundle["linux"][format]["files"]);
    let files = files.into_iter().chain([&bundle["macOS"]["files"]]);
    let files = files.flat_map(|files| files.as_object().expect("a map of files").values());
    let files = files.map(|file| file.as_str().expect("a path"));
    for file in icons.chain(files) {
        // `cargo xtask bundle` writes the files in `target/package`, and the test of the deb
        // package checks them.
        let is_generated = file.starts_with("target/package/");
        assert!(
            is_generated || root.join(file).is_file(),
            "{file} does not exist"
        );
    }
}

/// Returns the name of a program that can build images.
fn find_container_engine(home: &Home) -> Option<&'static str> {
    ["docker", "podman"].into_iter().find(|engine| {
        let output = home.command(engine).arg("info").output();
        output.is_ok_and(|output| output.status.success())
    })
}

/// Builds the image as docs/headless.md says.
fn build_image(home: &Home, engine: &str) {
    let mut command = home.command(engine);
    command.args([
        "build",
        "--file",
        "packaging/Dockerfile",
        "--tag",
        "drawbridge-test",
        ".",
    ]);
    command.current_dir(paths::repository_root());
    let mut build = Process::start(home, "image-build", &mut command);
    let (status, _) = build.wait_until_exit(Duration::from_secs(3600));
    assert!(status.success(), "{}", build.stderr());
}
