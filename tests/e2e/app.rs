//! The app in a desktop session, and the actions of a person in its windows.

use drawbridge_tests::{
    Desk, Driver,
    clients::{Client, Door, Sdk, ToolResult},
    driver::free_port,
    places,
    process::Running,
    until,
    wait::yes,
};
use serde_json::{Value, json};

/// The running app, with the WebDriver client that controls it.
pub(crate) struct App<'a> {
    pub(crate) desk: &'a Desk,
    pub(crate) driver: Driver,
    /// The URL of the endpoint.
    pub(crate) url: String,
}

/// Returns the command of the public server with every kind of tool.
pub(crate) fn everything() -> Vec<String> {
    let script = places::npm("@modelcontextprotocol/server-everything/dist/index.js");
    vec!["node".to_owned(), places::text(script), "stdio".to_owned()]
}

/// Returns the command of the public file server for a folder.
pub(crate) fn filesystem(folder: &str) -> Vec<String> {
    let script = places::npm("@modelcontextprotocol/server-filesystem/dist/index.js");
    vec!["node".to_owned(), places::text(script), folder.to_owned()]
}

/// Creates a folder with a file for the file server. Returns its path.
pub(crate) fn folder(desk: &Desk) -> String {
    let folder = desk.file("home/notes");
    std::fs::create_dir_all(&folder).expect("make the folder");
    std::fs::write(folder.join("note.txt"), "the drawbridge is down\n").expect("write the note");
    places::text(std::fs::canonicalize(folder).expect("the folder's own path"))
}

impl<'a> App<'a> {
    /// Starts the app with its window open.
    #[track_caller]
    pub(crate) fn open(desk: &'a Desk) -> Self {
        let app = Self::start(desk, &[]);
        app.look_at_main();
        app
    }

    /// Starts the app with additional arguments.
    #[track_caller]
    pub(crate) fn start(desk: &'a Desk, more: &[&str]) -> Self {
        let port = free_port().to_string();
        let url = format!("http://127.0.0.1:{port}/mcp");
        let data_dir = places::text(desk.data_dir());
        let own = [
            "--data-dir",
            &data_dir,
            "--port",
            &port,
            "--skip-config-gen",
        ];
        let arguments: Vec<String> = own.iter().chain(more).map(ToString::to_string).collect();
        let driver = Driver::open(desk, &places::built("drawbridge-desktop"), &arguments);
        Self { desk, driver, url }
    }

    /// Returns the process of the app itself.
    #[track_caller]
    pub(crate) fn process(&self) -> Running {
        let processes = self.desk.processes();
        let own = |process: &&Running| {
            process.command.contains("drawbridge-desktop")
                && process.variable("DRAWBRIDGE_RUN").is_none()
        };
        processes.iter().find(own).expect("the app runs").clone()
    }

    #[track_caller]
    pub(crate) fn look_at_main(&self) {
        self.driver
            .look_at("the main window", |url| !url.contains("#/popup"));
        self.driver.until("nav-servers");
    }

    /// Waits until the popup is visible and switches to it.
    #[track_caller]
    pub(crate) fn look_at_popup(&self) {
        self.driver
            .look_at("the popup", |url| url.contains("#/popup"));
        until("the popup is on the screen", || {
            yes(self.driver.is_visible())
        });
    }

    /// Waits until the popup is hidden.
    #[track_caller]
    pub(crate) fn until_popup_hides(&self) {
        self.driver
            .look_at("the popup", |url| url.contains("#/popup"));
        until("the popup is gone from the screen", || {
            yes(!self.driver.is_visible())
        });
    }

    /// Runs a verb through the window's own IPC.
    #[track_caller]
    pub(crate) fn verb(&self, command: &str, request: &Value) -> Value {
        let script = "const [command, request, done] = arguments; \
            window.__TAURI_INTERNALS__.invoke(command, {request}).then(done, e => done({refused: e}))";
        let answer = self.driver.run_async(script, &json!([command, request]));
        assert!(
            answer.get("refused").is_none(),
            "{command} was refused: {answer}"
        );
        answer
    }

    /// Adds a client on the Clients screen. Returns the endpoint and the token that the screen
    /// shows.
    #[track_caller]
    pub(crate) fn add_client(&self, name: &str) -> Door {
        self.driver.click("nav-clients");
        self.driver.click("add-client");
        self.driver.fill("client-name", name);
        self.driver.click("client-create");
        let door = Door {
            url: self.driver.text("client-url"),
            token: self.driver.text("client-token"),
        };
        assert!(
            self.driver.text("client-config").contains(&door.url),
            "the config names the URL"
        );
        self.driver.picture("06-client");
        self.driver.click("client-done");
        self.driver.until("client-row");
        assert_eq!(
            door.url, self.url,
            "the client is told where the hub listens"
        );
        door
    }

    /// Begins a call of the TypeScript client.
    pub(crate) fn call(&self, door: &Door, tool: &str, arguments: &Value) -> Client {
        Client::call(self.desk, Sdk::TypeScript, door, tool, arguments)
    }

    /// Makes a call that waits for no person, and returns its result.
    #[track_caller]
    pub(crate) fn call_now(&self, door: &Door, tool: &str, arguments: &Value) -> ToolResult {
        self.call(door, tool, arguments).result()
    }
}

/// Adds a server and a client through the command line, before the app starts. Returns the client's
/// token.
#[track_caller]
pub(crate) fn provision(desk: &Desk, name: &str, command: &[String]) -> String {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    desk.cli(&[&["servers", "add", name, "--"], words.as_slice()].concat())
        .ok();
    let added = desk.cli(&["clients", "add", "typescript", "--json"]).json();
    added["token"].as_str().expect("a token").to_owned()
}
