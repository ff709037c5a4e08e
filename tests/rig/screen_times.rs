//! The time until the screens of the web UI can be used, and how smoothly they scroll and accept
//! text.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Home, WebDriver, browser};

/// The function that measures one screen, in the browser or in the app.
const MEASURE: &str = include_str!("measure_screen.js");

/// The screens, each with the CSS selector of a part that appears together with the content.
const SCREENS: &[(&str, &str)] = &[
    ("overview", "[data-testid=overview-chart-calls]"),
    (
        "approvals",
        "[data-testid=approvals-empty], [data-testid=guide]",
    ),
    ("servers", "[data-testid=tool-row]"),
    ("clients", "[data-testid=client-row]"),
    ("policy", "[data-testid=rule-row]"),
    ("hooks", "[data-testid=hook-new]"),
    ("calls", "[data-testid=call-row]"),
    ("memory", "[data-testid=memory-row]"),
    ("audit", "[data-testid=audit-row]"),
    ("logs", "[data-testid=log-line]"),
    ("settings", "[data-testid=setting-timeout]"),
];

/// The times of a screen, in milliseconds.
#[derive(Debug)]
pub struct ScreenTimes {
    pub name: &'static str,
    /// From the change of the URL until the content is painted, on the first and the second visit.
    pub opened: [f64; 2],
    /// Between the frames during scrolling, or `None` if nothing scrolls.
    pub scrolling: Option<Vec<f64>>,
    /// Between the frames during typing, or `None` if the screen has no search field.
    pub typing: Option<Vec<f64>>,
}

/// The times in a browser.
#[derive(Debug)]
pub struct BrowserTimes {
    /// The milliseconds from the beginning of the page load until the window has read all servers
    /// and shows its first screen.
    pub window: f64,
    pub screens: Vec<ScreenTimes>,
}

/// An expression that waits until the window shows a screen, and returns the milliseconds since the
/// page began to load.
const WAIT_FOR_FIRST_SCREEN: &str = "(async () => {
    while (!document.getElementById('page-title')) await new Promise(requestAnimationFrame);
    return performance.now();
})()";

/// One visit of a screen, as `measure_screen.js` returns it.
#[derive(Deserialize)]
struct Visit {
    opened: f64,
    scrolling: Option<Vec<f64>>,
    typing: Option<Vec<f64>>,
}

/// Measures the window, and then all screens, in a browser that is logged in with the link.
#[track_caller]
pub fn measure_in_browser(home: &Home, link: &str) -> BrowserTimes {
    let mut steps = vec![
        json!({"do": "log_in"}),
        json!({"do": "wait_for", "part": "nav-servers"}),
        json!({"do": "evaluate", "script": WAIT_FOR_FIRST_SCREEN}),
    ];
    let visit = |argument| json!({"do": "evaluate", "script": format!("({MEASURE})({argument})")});
    steps.extend(arguments().map(visit));
    let report = browser::take_steps(home, link, &json!(steps));
    let mut values = report.values().iter().cloned();
    let window = values.next().and_then(|time| time.as_f64());
    BrowserTimes {
        window: window.expect("the time until the first screen"),
        screens: combine(values),
    }
}

/// Measures all screens in the app's main window, which must be the current window.
#[track_caller]
pub fn measure_in_app(driver: &WebDriver) -> Vec<ScreenTimes> {
    let script = format!(
        "const [argument, done] = arguments; ({MEASURE})(argument).then(done, (error) => done(String(error)))"
    );
    combine(arguments().map(|argument| driver.run_async_script(&script, &json!([argument]))))
}

/// Returns the arguments of all visits. The first visit of a screen only opens the screen, and the
/// second visit also scrolls and types.
fn arguments() -> impl Iterator<Item = Value> {
    [false, true].into_iter().flat_map(|act| {
        SCREENS
            .iter()
            .map(move |(name, ready)| json!({"name": name, "ready": ready, "act": act}))
    })
}

#[track_caller]
fn combine(visits: impl Iterator<Item = Value>) -> Vec<ScreenTimes> {
    let mut first: Vec<Visit> = visits
        .map(|visit| {
            let text = visit.to_string();
            serde_json::from_value(visit).unwrap_or_else(|e| panic!("no times ({e}): {text}"))
        })
        .collect();
    let again = first.split_off(SCREENS.len());
    let pairs = SCREENS.iter().zip(first.iter().zip(again));
    pairs
        .map(|((name, _), (first, again))| ScreenTimes {
            name,
            opened: [first.opened, again.opened],
            scrolling: again.scrolling,
            typing: again.typing,
        })
        .collect()
}
