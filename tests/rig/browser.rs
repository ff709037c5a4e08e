//! A real browser on the web UI: headless Chromium, moved by `tests/real/browser.mjs`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Home, places, process::Process};

/// What a browser saw while it worked.
pub struct Seen(pub Value);

impl Seen {
    fn list(&self, name: &str) -> Vec<String> {
        let list = self.0[name]
            .as_array()
            .unwrap_or_else(|| panic!("the browser told no {name}: {}", self.0));
        list.iter()
            .map(|entry| {
                entry
                    .as_str()
                    .map_or_else(|| entry.to_string(), str::to_owned)
            })
            .collect()
    }

    /// Fails where the console showed an error, a policy was violated, an element shuts someone out, text does
    /// not fit, or what others wrote is more than text.
    #[track_caller]
    pub fn nothing_wrong(&self) {
        for kind in ["errors", "violations", "barriers", "misfits", "intruders"] {
            let found = self.list(kind);
            assert!(
                found.is_empty(),
                "the browser met {kind}:\n{}",
                found.join("\n")
            );
        }
    }

    /// What the keyboard came to, in its order: a role and a name each, for each time that it was asked.
    pub fn orders(&self) -> Vec<Vec<String>> {
        serde_json::from_value(self.0["orders"].clone()).expect("lists of texts")
    }

    /// The pictures it took.
    pub fn pictures(&self) -> Vec<String> {
        self.list("pictures")
    }
}

/// Opens the login link and takes the steps, each an object with `do` and what it needs.
#[track_caller]
pub fn take_steps(home: &Home, link: &str, steps: &Value) -> Seen {
    let job = json!({
        "link": link, "steps": steps, "pictures": places::text(places::output_folder("screens")),
        "chromium": places::text(places::program("chromium")),
        "profile": places::text(home.file("chromium")),
    });
    let mut command = home.command(places::program("node"));
    command
        .arg(places::real().join("browser.mjs"))
        .arg(job.to_string());
    let mut process = Process::start(home, "browser.mjs", &mut command);
    let (status, printed) = process.finish(Duration::from_secs(180));
    assert!(
        status.success(),
        "the browser failed ({status}): {printed}\n{}",
        process.stderr()
    );
    let last = printed.lines().last().unwrap_or_default();
    Seen(
        serde_json::from_str(last)
            .unwrap_or_else(|e| panic!("the browser told no JSON ({e}): {printed}")),
    )
}
