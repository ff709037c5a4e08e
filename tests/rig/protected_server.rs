//! A remote server that requires sign-in (the official SDK's server, with a real authorization
//! server), and stand-ins for a person's browser and for the program that opens browsers.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use serde_json::Value;

use crate::{
    Home,
    http::{Request, Url},
    paths,
    process::Process,
};

/// The protected server and its authorization server.
pub struct ProtectedServer {
    /// The URL of the protected server.
    pub server: String,
    /// The URL of the authorization server.
    pub issuer: String,
    /// The URL at which the server returns its records (GET) and changes its settings (POST).
    control: Url,
    _process: Process,
}

impl ProtectedServer {
    #[track_caller]
    pub fn start(home: &Home) -> Self {
        let mut command = home.command("node");
        // Panics if the package that the script needs is not installed, and says how to install it.
        paths::npm_file("oidc-provider/lib/index.js");
        command.arg(paths::pinned_packages_dir().join("authorization.mjs"));
        let mut process = Process::start(home, "remote", &mut command);
        let urls: Value =
            serde_json::from_str(&process.read_line()).expect("the server prints its URLs as JSON");
        let read_url = |name: &str| urls[name].as_str().expect("a URL").to_owned();
        Self {
            server: read_url("server"),
            issuer: read_url("issuer"),
            control: Url::parse(&read_url("control")),
            _process: process,
        }
    }

    /// Changes settings of the server. `settings` in `authorization.mjs` lists them.
    #[track_caller]
    pub fn configure(&self, settings: &Value) {
        let headers = [("Content-Type", "application/json")];
        let body = settings.to_string();
        let request = Request {
            method: "POST",
            url: &self.control,
            headers: &headers,
            body: body.as_bytes(),
        };
        assert_eq!(
            request.send().expect("the protected server answers").status,
            200
        );
    }

    /// Returns the record with this name. `recorded` in `authorization.mjs` lists the records.
    #[track_caller]
    pub fn recorded(&self, name: &str) -> Value {
        let request = Request {
            method: "GET",
            url: &self.control,
            headers: &[],
            body: &[],
        };
        let text = request
            .send()
            .and_then(|response| response.text())
            .expect("the protected server answers");
        serde_json::from_str::<Value>(&text).expect("JSON")[name].take()
    }
}

/// Plays a browser whose user signs in and consents. Returns the URL and the text of the last page.
#[track_caller]
pub fn sign_in_as_browser(home: &Home, url: &str) -> Value {
    let mut command = home.command("node");
    let output = command
        .arg(paths::pinned_packages_dir().join("authorization.mjs"))
        .args(["browse", url])
        .output()
        .expect("node");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("no page ({e}): {}", String::from_utf8_lossy(&output.stderr)))
}

/// A replacement for `xdg-open` that only records its arguments.
pub struct BrowserLauncher {
    folder: PathBuf,
}

impl BrowserLauncher {
    #[track_caller]
    pub fn new(home: &Home) -> Self {
        let folder = home.file("launcher");
        fs::create_dir_all(&folder).expect("create the folder");
        let script = folder.join("xdg-open");
        let record = folder.join("opened");
        fs::write(
            &script,
            format!(
                "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" >> '{}'\n",
                record.display()
            ),
        )
        .expect("write the script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
            .expect("make the script executable");
        Self { folder }
    }

    /// Returns a `PATH` with the replacement in front.
    pub fn search_path(&self, home: &Home) -> String {
        format!(
            "{}:{}",
            self.folder.display(),
            home.variable("PATH").expect("a PATH")
        )
    }

    /// Returns the lines of the record. Each run adds a line with the number of its arguments, and
    /// then a line for each argument.
    pub fn recorded_lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("opened")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
