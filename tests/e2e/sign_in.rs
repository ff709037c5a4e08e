//! Sign-in to a remote server from the app's own window, with the system's browser.

use drawbridge_tests::{
    DesktopSession,
    protected_server::{BrowserLauncher, ProtectedServer, sign_in_as_browser},
    wait_until,
};

use crate::app::App;

#[test]
fn the_window_signs_in_to_a_server_in_the_system_browser() {
    let mut desktop = DesktopSession::new();
    let launcher = BrowserLauncher::new(&desktop);
    let path = launcher.search_path(&desktop);
    desktop.set_variable("PATH", path);
    let remote = ProtectedServer::start(&desktop);
    let app = App::open(&desktop);
    desktop
        .cli(&["servers", "add", "protected", "--url", &remote.server])
        .expect_success();
    app.driver.click("nav-servers");
    app.driver.click("server-row[data-server=protected]");
    app.driver.click("sign-in");
    app.driver
        .wait_for("sign-in-card[data-state=waiting_for_browser]");
    let opened = wait_until("the browser is opened", || {
        Some(launcher.recorded_lines()).filter(|opened| opened.len() >= 2)
    });
    // The launcher records the number of its arguments, and then the arguments.
    assert_eq!(opened[0], "1", "the browser gets only the URL: {opened:?}");
    assert_eq!(
        app.driver.text("sign-in-url"),
        opened[1],
        "the browser gets the URL that the screen shows"
    );
    // A person who has closed the page opens it again.
    app.driver.click("sign-in-again");
    let opened_twice = wait_until("the page is opened again", || {
        Some(launcher.recorded_lines()).filter(|opened| opened.len() >= 4)
    });
    assert_eq!(opened_twice[2..], opened[..], "the attempt continues");
    sign_in_as_browser(&desktop, &opened_twice[3]);
    app.driver.click("server-tab-details");
    app.driver.wait_for("signed-in");
    assert!(app.driver.text("signed-in").contains(&remote.issuer));
    app.driver.click("server-tab-tools");
    app.driver.wait_for("tool-row[data-tool=whoami]");
}
