//! The app in a desktop session, and the actions of a person in its windows.

use std::{
    fs,
    path::{Path, PathBuf},
};

use drawbridge_tests::{
    DesktopSession, WebDriver,
    clients::{Client, Endpoint, Sdk, ToolResult},
    paths,
    ports::find_free_port,
    process::RunningProcess,
    wait::some_if,
    wait_until,
};
use serde_json::{Value, json};

/// The running app, with the WebDriver client that controls it.
pub(crate) struct App<'a> {
    pub(crate) desktop: &'a DesktopSession,
    pub(crate) driver: WebDriver,
    /// The URL of the endpoint.
    pub(crate) url: String,
}

/// Returns the command of the MCP project's server `everything`, which has every kind of tool.
pub(crate) fn everything_command() -> Vec<String> {
    vec!["mcp-server-everything".to_owned(), "stdio".to_owned()]
}

/// Returns the command of the MCP project's file server for a folder.
pub(crate) fn filesystem_command(folder: &str) -> Vec<String> {
    vec!["mcp-server-filesystem".to_owned(), folder.to_owned()]
}

/// Creates a folder with a file for the file server. Returns its path.
pub(crate) fn create_served_folder(desktop: &DesktopSession) -> String {
    let folder = desktop.file("home/notes");
    fs::create_dir_all(&folder).expect("make the folder");
    fs::write(folder.join("note.txt"), "the drawbridge is down\n").expect("write the note");
    paths::path_text(fs::canonicalize(folder).expect("canonicalize the folder's path"))
}

/// Installs the app in a new folder. Returns the path of its program.
#[track_caller]
pub(crate) fn install_app(folder: &Path) -> PathBuf {
    fs::create_dir_all(folder).expect("create the folder of programs");
    for name in ["drawbridge", "drawbridge-desktop"] {
        let (built, installed) = (paths::built_binary(name), folder.join(name));
        // A link is much faster than a copy, but both must be on the same file system.
        if fs::hard_link(&built, &installed).is_err() {
            fs::copy(&built, &installed).expect("install the program");
        }
    }
    folder.join("drawbridge-desktop")
}

impl<'a> App<'a> {
    /// Starts the app with its window open.
    #[track_caller]
    pub(crate) fn open(desktop: &'a DesktopSession) -> Self {
        let app = Self::start(desktop, &[]);
        app.switch_to_main();
        app
    }

    /// Starts the app with additional arguments.
    #[track_caller]
    pub(crate) fn start(desktop: &'a DesktopSession, extra_arguments: &[&str]) -> Self {
        let program = paths::built_binary("drawbridge-desktop");
        Self::start_program(desktop, &program, extra_arguments)
    }

    /// Installs the app in the user's `~/.local/bin`, and starts it with its window open.
    #[track_caller]
    pub(crate) fn install_and_open(desktop: &'a DesktopSession) -> Self {
        let program = install_app(&desktop.file("home/.local/bin"));
        Self::open_program(desktop, &program)
    }

    /// Starts an installed app with its window open.
    #[track_caller]
    pub(crate) fn open_program(desktop: &'a DesktopSession, program: &Path) -> Self {
        let app = Self::start_program(desktop, program, &[]);
        app.switch_to_main();
        app
    }

    #[track_caller]
    fn start_program(
        desktop: &'a DesktopSession,
        program: &Path,
        extra_arguments: &[&str],
    ) -> Self {
        let data_dir = paths::path_text(desktop.data_dir());
        let arguments = [&["--data-dir", &data_dir], extra_arguments].concat();
        Self::start_with_default_data_dir(desktop, program, &arguments)
    }

    /// Starts the app on the port of its settings, with its window open.
    #[track_caller]
    pub(crate) fn open_on_port_of_settings(desktop: &'a DesktopSession, port: u16) -> Self {
        desktop
            .cli(&["settings", "set", "port", &port.to_string()])
            .expect_success();
        let program = paths::built_binary("drawbridge-desktop");
        let data_dir = paths::path_text(desktop.data_dir());
        let arguments = ["--data-dir", &data_dir, "--skip-config-gen"].map(str::to_owned);
        let app = Self {
            desktop,
            driver: WebDriver::open(desktop, &program, &arguments),
            url: format!("http://127.0.0.1:{port}/mcp"),
        };
        app.switch_to_main();
        app
    }

    /// Starts the app. Unless `extra_arguments` has a `--data-dir`, the app uses its default data
    /// folder.
    #[track_caller]
    pub(crate) fn start_with_default_data_dir(
        desktop: &'a DesktopSession,
        program: &Path,
        extra_arguments: &[&str],
    ) -> Self {
        let port = find_free_port().to_string();
        let url = format!("http://127.0.0.1:{port}/mcp");
        // The app leaves the files of clients as they are at its start (`--skip-config-gen`).
        let fixed_arguments = ["--port", &port, "--skip-config-gen"];
        let arguments: Vec<String> = fixed_arguments
            .iter()
            .chain(extra_arguments)
            .map(ToString::to_string)
            .collect();
        let driver = WebDriver::open(desktop, program, &arguments);
        Self {
            desktop,
            driver,
            url,
        }
    }

    /// Returns the process of the app itself.
    #[track_caller]
    pub(crate) fn find_process(&self) -> RunningProcess {
        let processes = self.desktop.processes();
        // Only the processes that a hub starts, such as servers, have this variable.
        let is_app = |process: &&RunningProcess| {
            process.command.contains("drawbridge-desktop")
                && process.variable("DRAWBRIDGE_RUN").is_none()
        };
        processes.iter().find(is_app).expect("the app runs").clone()
    }

    #[track_caller]
    pub(crate) fn switch_to_main(&self) {
        self.driver
            .switch_to_window("the main window", |url| !url.contains("#/popup"));
        self.driver.wait_for("nav-servers");
    }

    /// Waits until the popup is visible and switches to it.
    #[track_caller]
    pub(crate) fn switch_to_popup(&self) {
        self.driver
            .switch_to_window("the popup", |url| url.contains("#/popup"));
        wait_until("the popup is on the screen", || {
            some_if(self.driver.is_visible())
        });
    }

    /// Waits until the popup is hidden.
    #[track_caller]
    pub(crate) fn wait_until_popup_hides(&self) {
        self.driver
            .switch_to_window("the popup", |url| url.contains("#/popup"));
        wait_until("the popup is gone from the screen", || {
            some_if(!self.driver.is_visible())
        });
    }

    /// Runs a verb through the window's own IPC.
    #[track_caller]
    pub(crate) fn run_verb(&self, command: &str, request: &Value) -> Value {
        let script = "const [command, request, done] = arguments; \
            window.__TAURI_INTERNALS__.invoke(command, {request}).then(done, e => done({refused: e}))";
        let answer = self
            .driver
            .run_async_script(script, &json!([command, request]));
        assert!(
            answer.get("refused").is_none(),
            "{command} was refused: {answer}"
        );
        answer
    }

    /// Adds a client on the Clients screen. Returns the endpoint and the token that the screen
    /// shows.
    #[track_caller]
    pub(crate) fn add_client(&self, name: &str) -> Endpoint {
        self.driver.click("nav-clients");
        self.driver.click("add-client");
        self.driver.fill("client-name", name);
        self.driver.click("client-create");
        let endpoint = Endpoint {
            url: self.driver.text("client-url"),
            token: self.driver.text("client-token"),
        };
        assert!(
            self.driver.text("client-config").contains(&endpoint.url),
            "the config names the URL"
        );
        self.driver.save_screenshot("06-client");
        self.driver.click("client-done");
        self.driver.wait_for("client-row");
        assert_eq!(
            endpoint.url, self.url,
            "the Clients screen shows the URL of the endpoint"
        );
        endpoint
    }

    /// Begins a call of the TypeScript client.
    pub(crate) fn begin_call(&self, endpoint: &Endpoint, tool: &str, arguments: &Value) -> Client {
        Client::begin_call(self.desktop, Sdk::TypeScript, endpoint, tool, arguments)
    }

    /// Makes a call, and waits for its result without deciding the call.
    #[track_caller]
    pub(crate) fn call_and_wait(
        &self,
        endpoint: &Endpoint,
        tool: &str,
        arguments: &Value,
    ) -> ToolResult {
        self.begin_call(endpoint, tool, arguments).wait_for_result()
    }
}

/// Adds a server and a client through the command line, before the app starts. Returns the client's
/// token.
#[track_caller]
pub(crate) fn provision(desktop: &DesktopSession, name: &str, command: &[String]) -> String {
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    desktop
        .cli(&[&["servers", "add", name, "--"], command.as_slice()].concat())
        .expect_success();
    let added = desktop
        .cli(&["clients", "add", "typescript", "--json"])
        .expect_json();
    added["token"].as_str().expect("a token").to_owned()
}
