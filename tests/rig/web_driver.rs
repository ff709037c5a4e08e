//! A small WebDriver client that controls the windows of the app, or of another program with a web
//! view.
//!
//! A part is an element of the page, named by its `data-testid`:
//! `"server-row[data-server=files] server-sync"` is the sync button in the row of a server.

use std::{fmt, fs, path::Path};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::{
    DesktopSession, canary, http, paths,
    ports::find_free_port,
    process::{Process, find_children, signal_process},
    wait::{DEFAULT_TIMEOUT, some_if, try_until_within, wait_until},
};

/// The key under which WebDriver's JSON has the id of an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// Disables the compositing of WebKit unless its value is 0. The app sets the variable if there is
/// no graphics card.
const RENDERER_VARIABLE: &str = "WEBKIT_DISABLE_COMPOSITING_MODE";
/// The Enter key in WebDriver's encoding of keys.
const ENTER: &str = "\u{e007}";

/// Discards the events of the next click if they hit an element other than the given element.
const GUARD_CLICK: &str = "\
    const target = arguments[0]; \
    const types = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']; \
    const guard = { missed: false, end() { for (const type of types) removeEventListener(type, check, true); } }; \
    function check(event) { \
        if (!event.composedPath().includes(target)) { \
            guard.missed = true; event.preventDefault(); event.stopImmediatePropagation(); \
        } \
        if (event.type === 'click') guard.end(); \
    } \
    for (const type of types) addEventListener(type, check, true); \
    window.clickGuard = guard";
/// Ends the guard of a click, and returns whether the click hit another element.
const END_GUARD: &str = "\
    const guard = window.clickGuard; guard?.end(); delete window.clickGuard; return guard?.missed ?? false";

/// A WebDriver session with a program. Dropping it ends the program.
pub struct WebDriver {
    process: Process,
    server: http::Url,
    session: String,
}

/// The reason why an action in the window failed.
#[derive(Debug)]
pub struct WebDriverError(String);

impl fmt::Display for WebDriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl WebDriver {
    /// Starts a program with a web view on the screen of the desktop session.
    ///
    /// WebKitWebDriver chooses a free port for the program's inspector. If another process takes
    /// the port before the program binds it, WebKitWebDriver and the program are started again, at
    /// most twice.
    #[track_caller]
    pub fn open(desktop: &DesktopSession, binary: &Path, arguments: &[String]) -> Self {
        // WebDriver takes no screenshot of a web view that draws without compositing.
        Self::start(desktop, binary, arguments, &[(RENDERER_VARIABLE, "0")])
    }

    /// Starts a program like [`Self::open`], but lets the app choose how it draws, as without
    /// WebDriver. On a computer without a graphics card, no screenshot can be taken.
    #[track_caller]
    pub fn open_for_measurement(
        desktop: &DesktopSession,
        binary: &Path,
        arguments: &[String],
    ) -> Self {
        Self::start(desktop, binary, arguments, &[])
    }

    #[track_caller]
    fn start(
        desktop: &DesktopSession,
        binary: &Path,
        arguments: &[String],
        variables: &[(&str, &str)],
    ) -> Self {
        for _ in 0..2 {
            match Self::try_start(desktop, binary, arguments, variables) {
                Err(error) if error.0.contains("Address already in use") => {}
                opened => return opened.unwrap_or_else(|error| panic!("{error}")),
            }
        }
        Self::try_start(desktop, binary, arguments, variables)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[track_caller]
    fn try_start(
        desktop: &DesktopSession,
        binary: &Path,
        arguments: &[String],
        variables: &[(&str, &str)],
    ) -> Result<Self, WebDriverError> {
        let port = find_free_port();
        let mut command = desktop.command(paths::find_program("WebKitWebDriver"));
        command
            .arg(format!("--port={port}"))
            .env("TAURI_WEBVIEW_AUTOMATION", "true")
            .envs(variables.iter().copied());
        let process = Process::start(desktop, "WebKitWebDriver", &mut command);
        let server = http::Url::parse(&format!("http://127.0.0.1:{port}"));
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "webkitgtk:browserOptions": {"binary": paths::path_text(binary), "args": arguments}
        }}});
        wait_until("WebKitWebDriver answers", || {
            some_if(send(&server, "GET", "/status", &Value::Null).is_ok())
        });
        let response = send(&server, "POST", "/session", &capabilities).map_err(|error| {
            WebDriverError(format!(
                "{} did not start: {error}\n{}",
                binary.display(),
                process.stderr()
            ))
        })?;
        let session = response["sessionId"]
            .as_str()
            .expect("a session has an id")
            .to_owned();
        Ok(Self {
            process,
            server,
            session,
        })
    }

    /// Returns the handles of the open web views, including hidden web views.
    #[track_caller]
    pub fn windows(&self) -> Vec<String> {
        let handles = self
            .get("/window/handles")
            .unwrap_or_else(|e| panic!("list the windows: {e}"));
        handles
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|handle| handle.as_str().map(str::to_owned))
            .collect()
    }

    /// Waits for the window whose URL satisfies `is_wanted`, and switches to it. A failure is
    /// reported with `name`.
    #[track_caller]
    pub fn switch_to_window(&self, name: &str, is_wanted: impl Fn(&str) -> bool) {
        wait_until(format!("there is a window: {name}"), || {
            self.windows().into_iter().find_map(|handle| {
                self.post("/window", &json!({"handle": handle})).ok()?;
                some_if(is_wanted(self.get("/url").ok()?.as_str()?))
            })
        });
    }

    /// Returns whether the current window is visible.
    pub fn is_visible(&self) -> bool {
        self.run_script("return document.visibilityState") == "visible"
    }

    /// Runs a script in the window and returns its result.
    #[track_caller]
    pub fn run_script(&self, script: &str) -> Value {
        let answer = self.post("/execute/sync", &json!({"script": script, "args": []}));
        answer.unwrap_or_else(|e| panic!("run {script}: {e}"))
    }

    /// Runs a script whose last argument is a callback, and returns the value passed to the
    /// callback.
    #[track_caller]
    pub fn run_async_script(&self, script: &str, arguments: &Value) -> Value {
        let answer = self.post(
            "/execute/async",
            &json!({"script": script, "args": arguments}),
        );
        answer.unwrap_or_else(|e| panic!("run {script}: {e}"))
    }

    /// Waits for a part and clicks it. Retries while the part is hidden, disabled or moving.
    ///
    /// The driver reads the place of the element before it moves the pointer there. If the page
    /// moves the element in between, the click hits another element, and [`GUARD_CLICK`] discards
    /// the click.
    #[track_caller]
    pub fn click(&self, part: &str) {
        self.retry_until_done(&format!("'{part}' can be clicked"), || {
            let element = self.find(&enabled_selector(part))?;
            self.run_on(&element, GUARD_CLICK)?;
            let clicked = self
                .post(&format!("/element/{element}/click"), &json!({}))
                .inspect_err(|_| self.scroll_to(&element));
            // There is no answer if the click closes the window.
            let missed = self.post("/execute/sync", &json!({"script": END_GUARD, "args": []}));
            clicked?;
            match missed {
                Ok(missed) if missed == true => {
                    Err(WebDriverError("the part moved before the click".to_owned()))
                }
                _ => Ok(()),
            }
        });
    }

    /// Runs a script whose argument is an element.
    fn run_on(&self, element: &str, script: &str) -> Result<Value, WebDriverError> {
        let arguments = json!({"script": script, "args": [{ELEMENT: element}]});
        self.post("/execute/sync", &arguments)
    }

    /// Scrolls an element to the middle of the window, as a person would. The driver scrolls only
    /// elements that are out of sight, and refuses to click an element that is cut off.
    fn scroll_to(&self, element: &str) {
        let _ = self.run_on(element, "arguments[0].scrollIntoView({block: 'center'})");
    }

    /// Clicks a part that makes the app exit. The app may be gone before the click is answered, so
    /// the answer is ignored.
    #[track_caller]
    pub fn click_to_quit(&self, part: &str) {
        let element = self.retry_until_done(&format!("'{part}' can be clicked"), || {
            self.find(&enabled_selector(part))
        });
        let _ = self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Waits for a field and replaces its content with `text`.
    #[track_caller]
    pub fn fill(&self, part: &str, text: &str) {
        self.retry_until_done(&format!("'{part}' can be filled"), || {
            let element = self.find(&part_selector(part))?;
            self.post(&format!("/element/{element}/clear"), &json!({}))?;
            self.post(
                &format!("/element/{element}/value"),
                &json!({"text": text.replace('\n', ENTER)}),
            )
        });
        let read_value = || {
            self.run_script(&format!(
                "return document.querySelector({}).value",
                quote(&part_selector(part))
            ))
        };
        self.retry_until_done(&format!("'{part}' contains the typed text"), || {
            let value = read_value();
            if value == text {
                Ok(())
            } else {
                Err(WebDriverError(format!("the field contains {value}")))
            }
        });
    }

    /// Chooses a value of a native select.
    #[track_caller]
    pub fn select_option(&self, part: &str, value: &str) {
        self.wait_for(part);
        let script = format!(
            "const s = document.querySelector({}); s.value = {}; \
             for (const e of ['input', 'change']) s.dispatchEvent(new Event(e, {{bubbles: true}})); return s.value",
            quote(&part_selector(part)),
            quote(value)
        );
        assert_eq!(
            self.run_script(&script),
            value,
            "'{part}' has the chosen value"
        );
    }

    /// Ticks a checkbox.
    #[track_caller]
    pub fn tick_checkbox(&self, part: &str) {
        self.wait_for(part);
        let checked_script = format!(
            "return document.querySelector({}).checked",
            quote(&part_selector(part))
        );
        if self.run_script(&checked_script) != true {
            self.click(part);
        }
        wait_until(format!("'{part}' is ticked"), || {
            some_if(self.run_script(&checked_script) == true)
        });
    }

    /// Waits until a control can be used.
    #[track_caller]
    pub fn wait_until_enabled(&self, part: &str) {
        self.retry_until_done(&format!("'{part}' can be used"), || {
            self.find(&enabled_selector(part))
        });
    }

    /// Returns whether a control exists and is enabled.
    #[track_caller]
    pub fn is_enabled(&self, part: &str) -> bool {
        self.run_script(&format!(
            "return document.querySelector({}) !== null",
            quote(&enabled_selector(part))
        )) == true
    }

    /// Waits until a part exists.
    #[track_caller]
    pub fn wait_for(&self, part: &str) {
        self.retry_until_done(&format!("'{part}' exists"), || {
            self.find(&part_selector(part))
        });
    }

    /// Waits until a part, or the top of a large part, can be seen without scrolling.
    #[track_caller]
    pub fn wait_until_visible(&self, part: &str) {
        let script = format!(
            "const e = document.querySelector({}); if (!e) return false; const r = e.getBoundingClientRect(); \
             const top = document.elementFromPoint(r.x + r.width / 2, r.y + Math.min(r.height / 2, 12)); \
             return r.height > 0 && top !== null && e.contains(top)",
            quote(&part_selector(part))
        );
        self.retry_until_done(&format!("'{part}' can be seen without scrolling"), || {
            if self.run_script(&script) == true {
                Ok(())
            } else {
                Err(WebDriverError(
                    "the part does not exist, is covered or is outside of the view".to_owned(),
                ))
            }
        });
    }

    /// Waits until a part is gone.
    #[track_caller]
    pub fn wait_until_gone(&self, part: &str) {
        wait_until(format!("'{part}' is gone"), || {
            some_if(self.count_parts(part) == 0)
        });
    }

    /// Returns the number of matching parts.
    #[track_caller]
    pub fn count_parts(&self, part: &str) -> usize {
        let count = self.run_script(&format!(
            "return document.querySelectorAll({}).length",
            quote(&part_selector(part))
        ));
        usize::try_from(count.as_u64().expect("a number")).expect("the number of parts fits")
    }

    /// Waits until a part exists and returns its text, or its value if the part is a field that is
    /// not empty.
    #[track_caller]
    pub fn text(&self, part: &str) -> String {
        self.wait_for(part);
        let script = format!(
            "const e = document.querySelector({}); \
             return e.matches('input, textarea, select') && e.value !== '' ? e.value : e.textContent",
            quote(&part_selector(part))
        );
        self.run_script(&script)
            .as_str()
            .unwrap_or_default()
            .trim()
            .to_owned()
    }

    /// Waits until the text of a part contains `text`.
    #[track_caller]
    pub fn wait_for_text(&self, part: &str, text: &str) {
        wait_until(format!("'{part}' contains '{text}'"), || {
            some_if(self.text(part).contains(text))
        });
    }

    /// Saves a screenshot of the window in `test-output/window/`.
    #[track_caller]
    pub fn save_screenshot(&self, name: &str) {
        // The web view paints an area with a delay after it was scrolled into view.
        let wait_for_paint = "const done = arguments[arguments.length - 1]; setTimeout(done, 1000); \
            requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 400)))";
        self.run_async_script(wait_for_paint, &json!([]));
        let picture = self
            .get("/screenshot")
            .unwrap_or_else(|e| panic!("take a screenshot: {e}"));
        let bytes = canary::from_base64(picture.as_str().expect("a screenshot in base64"));
        let file = paths::output_file(format!("window/{name}.png"));
        fs::write(&file, bytes).unwrap_or_else(|e| panic!("write {}: {e}", file.display()));
    }

    fn retry_until_done<T>(
        &self,
        description: &str,
        mut act: impl FnMut() -> Result<T, WebDriverError>,
    ) -> T {
        // The alphabetically last error text: any of the error texts helps to find the cause.
        let mut shown_error = String::new();
        let result = try_until_within(DEFAULT_TIMEOUT, || {
            act()
                .map_err(|error| shown_error = std::mem::take(&mut shown_error).max(error.0))
                .ok()
        });
        result.unwrap_or_else(|| {
            self.save_screenshot("failed");
            let page = self.run_script("return document.body.innerText");
            panic!(
                "timed out, waiting until {description}: {shown_error}\nThe window shows: {page}"
            );
        })
    }

    fn find(&self, selector: &str) -> Result<String, WebDriverError> {
        let element = self.post(
            "/element",
            &json!({"using": "css selector", "value": selector}),
        )?;
        Ok(element[ELEMENT].as_str().unwrap_or_default().to_owned())
    }

    fn get(&self, path: &str) -> Result<Value, WebDriverError> {
        self.send("GET", path, &Value::Null)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, WebDriverError> {
        self.send("POST", path, body)
    }

    /// Sends a request of the session. If the app has ended, the error contains the stderr of the
    /// app.
    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, WebDriverError> {
        let path = format!("/session/{}{path}", self.session);
        send(&self.server, method, &path, body).map_err(|error| {
            if error.0.contains("invalid session id") {
                let stderr = self.process.stderr();
                WebDriverError(format!("{error}; the app wrote to its stderr:\n{stderr}"))
            } else {
                error
            }
        })
    }
}

impl Drop for WebDriver {
    fn drop(&mut self) {
        let apps = find_children(self.process.pid());
        let _ = send(
            &self.server,
            "DELETE",
            &format!("/session/{}", self.session),
            &Value::Null,
        );
        // WebKitWebDriver answers before it ends the app. If the app still ran when the next app
        // starts, the next app would hand over to it and exit.
        let ended = try_until_within(DEFAULT_TIMEOUT, || {
            some_if(find_children(self.process.pid()).is_empty())
        });
        if ended.is_none() {
            for app in apps {
                signal_process(app, Signal::SIGKILL);
            }
        }
    }
}

/// Returns the selector of an enabled control.
fn enabled_selector(part: &str) -> String {
    format!(
        "{}:not(:disabled):not([aria-disabled=true])",
        part_selector(part)
    )
}

fn part_selector(part: &str) -> String {
    let step_selector = |step: &str| {
        let (name, conditions) = step.split_at(step.find('[').unwrap_or(step.len()));
        let conditions = conditions.replace('=', "=\"").replace(']', "\"]");
        format!("[data-testid=\"{name}\"]{conditions}")
    };
    part.split(' ')
        .map(step_selector)
        .collect::<Vec<_>>()
        .join(" ")
}

fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

fn send(
    server: &http::Url,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, WebDriverError> {
    let body = if method == "POST" {
        body.to_string()
    } else {
        String::new()
    };
    let headers = [("Content-Type", "application/json")];
    let request = http::Request {
        method,
        url: &server.with_path(path),
        headers: &headers,
        body: body.as_bytes(),
    };
    let response = request.send().map_err(|e| WebDriverError(e.to_string()))?;
    let status = response.status;
    let text = response.text().map_err(|e| WebDriverError(e.to_string()))?;
    let answer: Value = serde_json::from_str(&text)
        .map_err(|e| WebDriverError(format!("HTTP {status}: {e}: {text}")))?;
    if status == 200 {
        Ok(answer["value"].clone())
    } else {
        Err(WebDriverError(answer["value"].to_string()))
    }
}
