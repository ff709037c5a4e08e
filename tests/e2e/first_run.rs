//! The first run of the real app, as a newcomer goes through it: from an empty setup to the first
//! approved call, with the guide. These tests take the pictures of docs/getting-started.md.

use std::{
    cell::Cell,
    fs,
    os::unix::fs as unix_fs,
    time::{Duration, Instant},
};

use drawbridge_tests::{DesktopSession, paths};
use serde_json::{Value, json};

use crate::app::App;

/// A newcomer, whose clicks are counted.
struct Newcomer<'a> {
    app: &'a App<'a>,
    clicks: Cell<u32>,
    started: Instant,
}

impl<'a> Newcomer<'a> {
    fn new(app: &'a App<'a>) -> Self {
        Self {
            app,
            clicks: Cell::new(0),
            started: Instant::now(),
        }
    }

    fn click(&self, part: &str) {
        self.clicks.set(self.clicks.get() + 1);
        self.app.driver.click(part);
    }

    /// Takes a screenshot, whose duration does not count.
    fn save_screenshot(&mut self, name: &str) {
        let before = Instant::now();
        self.app.driver.save_screenshot(name);
        self.started += before.elapsed();
    }

    /// Writes the number of clicks and the time that the newcomer needed until the first approved
    /// call. `origin` is `import` or `preset`: the origin of the newcomer's servers.
    fn write_report(&self, origin: &str, time: Duration) {
        let report = format!(
            "{origin}: {} clicks, no paste, no file edited by hand, {:.1} s\n",
            self.clicks.get(),
            time.as_secs_f64()
        );
        fs::write(
            paths::output_file(format!("window/first-run-{origin}.txt")),
            report,
        )
        .expect("write the report");
    }

    /// Presses "Try it", approves the call in the popup, and waits for the tool's answer.
    fn try_and_approve(&mut self, origin: &str) {
        let driver = &self.app.driver;
        driver.wait_until_enabled("try-call");
        self.save_screenshot(&format!("first-run-{origin}-4-try"));
        self.click("try-call");
        self.app.switch_to_popup();
        driver.wait_for("approval-card");
        driver.wait_until_enabled("approve-once");
        self.save_screenshot(&format!("first-run-{origin}-5-prompt"));
        self.click("approve-once");
        self.app.switch_to_main();
        driver.wait_for("try-result");
        driver.wait_for("guide-step[data-step=call][data-done=true]");
        let time = self.started.elapsed();
        self.save_screenshot(&format!("first-run-{origin}-6-done"));
        self.write_report(origin, time);
    }
}

/// Writes the configuration file of a client, as a newcomer may have it. Returns its path.
fn write_client_file(desktop: &DesktopSession, name: &str, config: &Value) -> std::path::PathBuf {
    let file = desktop.file("home").join(name);
    fs::create_dir_all(file.parent().expect("a folder")).expect("create the folder");
    let text = serde_json::to_string_pretty(config).expect("JSON");
    fs::write(&file, text).expect("write the file");
    file
}

#[test]
fn a_newcomer_imports_the_servers_approves_the_first_call_and_undoes_the_import() {
    let desktop = DesktopSession::new();
    let server = json!({"command": "mcp-server-memory", "args": [],
        "env": {"API_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz"}});
    let cursor = write_client_file(
        &desktop,
        ".cursor/mcp.json",
        &json!({"mcpServers": {"memory": server}}),
    );
    write_client_file(
        &desktop,
        ".gemini/settings.json",
        &json!({"mcpServers": {"memory": server}, "theme": "GitHub"}),
    );
    let before = fs::read(&cursor).expect("the file");
    let app = App::install_and_open(&desktop);
    let driver = &app.driver;
    let mut newcomer = Newcomer::new(&app);

    driver.wait_for("guide-import");
    newcomer.save_screenshot("first-run-import-1-guide");
    newcomer.click("guide-import");
    driver.wait_for("found-server");
    driver.wait_until_enabled("import-preview");
    newcomer.save_screenshot("first-run-import-2-found");
    newcomer.click("import-preview");
    driver.wait_for("preview-file");
    driver.wait_for_text("preview-secrets", "API_TOKEN");
    newcomer.save_screenshot("first-run-import-3-preview");
    newcomer.click("import-confirm");
    driver.wait_for("import-done");
    newcomer.click("import-close");
    driver.wait_until_gone("client-import-dialog");
    driver.wait_for("guide-step[data-step=servers][data-done=true]");
    driver.wait_for("guide-step[data-step=clients][data-done=true]");
    let connected = fs::read_to_string(&cursor).expect("the file");
    assert!(
        connected.contains("\"drawbridge\"") && !connected.contains("ghp_"),
        "{connected}"
    );
    newcomer.try_and_approve("import");

    driver.click("guide-close");
    driver.wait_until_gone("guide");
    driver.click("nav-clients");
    driver.wait_for("client-change");
    driver.click("client-change-undo");
    driver.click("confirm");
    driver.wait_for("undone");
    assert_eq!(
        fs::read(&cursor).expect("the file"),
        before,
        "undo restores each byte"
    );
    driver.click("nav-servers");
    driver.wait_for("servers-empty");
}

#[test]
fn a_newcomer_without_servers_begins_with_a_preset() {
    let desktop = DesktopSession::new();
    write_client_file(&desktop, ".cursor/mcp.json", &json!({}));
    // npx runs the package from this folder, so that nothing is downloaded.
    unix_fs::symlink(
        paths::pinned_packages_dir().join("node_modules"),
        desktop.file("home/node_modules"),
    )
    .expect("link the packages");
    let app = App::install_and_open(&desktop);
    let driver = &app.driver;
    let mut newcomer = Newcomer::new(&app);
    driver.wait_for("guide-preset");
    newcomer.save_screenshot("first-run-preset-1-guide");
    newcomer.click("guide-preset");
    driver.wait_until_enabled("find-add");
    newcomer.click("find-add");
    driver.wait_for("guide-connect[data-kind=cursor]");
    newcomer.save_screenshot("first-run-preset-2-clients");
    newcomer.click("guide-connect[data-kind=cursor]");
    driver.wait_for("file-diff");
    driver.wait_until_enabled("connect-apply");
    newcomer.save_screenshot("first-run-preset-3-connect");
    newcomer.click("connect-apply");
    driver.wait_for("entry-test-ok");
    newcomer.click("connect-done");
    driver.wait_until_gone("connect-dialog");
    newcomer.try_and_approve("preset");
}
