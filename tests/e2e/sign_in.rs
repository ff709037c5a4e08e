//! Sign-in to a remote server from the app's own window, with the system's browser.

use drawbridge_tests::{
    Desk,
    remote::{Launcher, Remote, browse},
    until,
};

use crate::app::App;

#[test]
fn window_signs_in_to_a_server_in_the_browser_of_the_system() {
    let mut desk = Desk::new();
    let launcher = Launcher::new(&desk);
    let path = launcher.path(&desk);
    desk.set("PATH", path);
    let remote = Remote::start(&desk);
    let app = App::open(&desk);
    desk.cli(&["servers", "add", "protected", "--url", &remote.server])
        .ok();
    app.driver.click("nav-servers");
    app.driver.click("server-row[data-server=protected]");
    app.driver.click("sign-in");
    app.driver
        .until("sign-in-card[data-state=waiting_for_browser]");
    let opened = until("the browser is opened", || {
        Some(launcher.opened()).filter(|opened| opened.len() >= 2)
    });
    assert_eq!(opened[0], "1", "with the URL alone: {opened:?}");
    assert_eq!(
        app.driver.text("sign-in-url"),
        opened[1],
        "the one that the screen shows"
    );
    browse(&desk, &opened[1]);
    app.driver.until("signed-in");
    assert!(app.driver.text("signed-in").contains(&remote.issuer));
    app.driver.until("tool-row[data-tool=whoami]");
}
