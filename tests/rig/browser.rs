//! A real browser on the web UI: headless Chromium, controlled by `tests/real/browser.mjs`.

use std::{io::Write, process::Stdio, time::Duration};

use serde_json::{Value, json};

use crate::{Home, paths, process::Process};

/// How long a browser may take until it hands over to the test, or ends.
const STEPS_TIMEOUT: Duration = Duration::from_secs(180);

/// An action of the test, which runs while the browser waits at a step `hand_over`.
pub type Action<'a> = Box<dyn FnOnce() + 'a>;

/// The line with which the browser lets the test act.
const HANDED_OVER: &str = "handed over";

/// The report of a browser about the steps it took.
pub struct BrowserReport(pub Value);

impl BrowserReport {
    fn list(&self, name: &str) -> Vec<String> {
        let list = self.0[name]
            .as_array()
            .unwrap_or_else(|| panic!("the browser reported no {name}: {}", self.0));
        list.iter()
            .map(|entry| {
                entry
                    .as_str()
                    .map_or_else(|| entry.to_string(), str::to_owned)
            })
            .collect()
    }

    /// Fails if the console reported an error, a content security policy was violated, an element
    /// is not accessible, text does not fit, or foreign text was rendered as markup.
    #[track_caller]
    pub fn assert_no_problems(&self) {
        for kind in [
            "errors",
            "csp_violations",
            "accessibility_problems",
            "layout_problems",
            "foreign_content",
        ] {
            let problems = self.list(kind);
            assert!(
                problems.is_empty(),
                "the browser reported {kind}:\n{}",
                problems.join("\n")
            );
        }
    }

    /// Returns the order in which the Tab key reaches elements, as texts `ROLE PART`: one list for
    /// each step that recorded the order.
    pub fn focus_orders(&self) -> Vec<Vec<String>> {
        serde_json::from_value(self.0["focus_orders"].clone()).expect("lists of texts")
    }

    /// Returns the results of the evaluated scripts, the downloaded files and the copied texts, in
    /// the order of the steps.
    pub fn values(&self) -> &[Value] {
        self.0["values"].as_array().expect("a list of values")
    }

    /// Returns the paths of the screenshots.
    pub fn screenshots(&self) -> Vec<String> {
        self.list("screenshots")
    }
}

/// Opens the login link and takes the steps. Each step is an object with `do` and the parameters of
/// that step.
#[track_caller]
pub fn take_steps(home: &Home, link: &str, steps: &Value) -> BrowserReport {
    take_steps_with_actions(home, link, steps, Vec::new())
}

/// Like [`take_steps`]. At each step `hand_over`, the browser waits while the next action runs.
#[track_caller]
pub fn take_steps_with_actions(
    home: &Home,
    link: &str,
    steps: &Value,
    actions: Vec<Action<'_>>,
) -> BrowserReport {
    let job = json!({
        "link": link, "steps": steps, "screenshots": paths::path_text(paths::output_folder("screens")),
        "chromium": paths::path_text(paths::find_program("chromium")),
        "profile": paths::path_text(home.file("chromium")),
    });
    let mut command = home.command(paths::find_program("node"));
    command
        .arg(paths::pinned_packages_dir().join("browser.mjs"))
        .arg(job.to_string())
        .stdin(Stdio::piped());
    let mut process = Process::start(home, "browser.mjs", &mut command);
    let mut stdin = process.take_stdin();
    for action in actions {
        let line = process.read_line_within(STEPS_TIMEOUT);
        assert!(
            line == HANDED_OVER,
            "the browser printed '{line}' instead of handing over: {}",
            process.stderr()
        );
        action();
        writeln!(stdin).expect("let the browser continue");
    }
    drop(stdin);
    let (status, output) = process.wait_until_exit(STEPS_TIMEOUT);
    assert!(
        status.success(),
        "the browser failed ({status}): {output}\n{}",
        process.stderr()
    );
    let last_line = output.lines().last().unwrap_or_default();
    BrowserReport(
        serde_json::from_str(last_line)
            .unwrap_or_else(|e| panic!("the browser printed no JSON ({e}): {output}")),
    )
}
