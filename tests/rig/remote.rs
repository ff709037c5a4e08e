//! A remote server that a person signs in to: the official SDK's server, a real authorization server before it,
//! the person's browser, and the desk's launcher of browsers.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use serde_json::Value;

use crate::{
    Home,
    http::{Request, Url},
    places,
    process::Process,
};

/// The protected server and its authorization server.
pub struct Remote {
    /// Its URL.
    pub server: String,
    pub issuer: String,
    control: Url,
    _process: Process,
}

impl Remote {
    #[track_caller]
    pub fn start(home: &Home) -> Self {
        let mut command = home.command("node");
        places::npm("oidc-provider/lib/index.js");
        command.arg(places::real().join("authorization.mjs"));
        let mut process = Process::start(home, "remote", &mut command);
        let said: Value = serde_json::from_str(&process.line()).expect("where it listens");
        let text = |name: &str| said[name].as_str().expect("a URL").to_owned();
        Self {
            server: text("server"),
            issuer: text("issuer"),
            control: Url::of(&text("control")),
            _process: process,
        }
    }

    /// Turns knobs.
    #[track_caller]
    pub fn turn(&self, knobs: &Value) {
        let headers = [("Content-Type", "application/json")];
        let body = knobs.to_string();
        let request = Request {
            method: "POST",
            url: &self.control,
            headers: &headers,
            body: body.as_bytes(),
        };
        assert_eq!(request.send().expect("the remote answers").status, 200);
    }

    /// What it saw.
    #[track_caller]
    pub fn seen(&self, what: &str) -> Value {
        let request = Request {
            method: "GET",
            url: &self.control,
            headers: &[],
            body: &[],
        };
        let text = request
            .send()
            .and_then(|response| response.text())
            .expect("the remote answers");
        serde_json::from_str::<Value>(&text).expect("JSON")[what].take()
    }
}

/// The browser of a person, who signs in and agrees: the last page.
#[track_caller]
pub fn browse(home: &Home, url: &str) -> Value {
    let mut command = home.command("node");
    let output = command
        .arg(places::real().join("authorization.mjs"))
        .args(["browse", url])
        .output()
        .expect("node");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("no page ({e}): {}", String::from_utf8_lossy(&output.stderr)))
}

/// The desk's launcher of browsers, which only notes what it was given.
pub struct Launcher {
    folder: PathBuf,
}

impl Launcher {
    #[track_caller]
    pub fn new(home: &Home) -> Self {
        let folder = home.file("launcher");
        fs::create_dir_all(&folder).expect("a folder");
        let script = folder.join("xdg-open");
        let noted = folder.join("opened");
        fs::write(
            &script,
            format!(
                "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" >> '{}'\n",
                noted.display()
            ),
        )
        .expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a program");
        Self { folder }
    }

    /// The `PATH` on which it comes first.
    pub fn path(&self, home: &Home) -> String {
        format!(
            "{}:{}",
            self.folder.display(),
            home.variable("PATH").expect("a PATH")
        )
    }

    /// How many arguments it was given, and which.
    pub fn opened(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("opened")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
