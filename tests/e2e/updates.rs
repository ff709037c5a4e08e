//! Updates of the app in its own window: a release is found and shown, and it is installed and
//! started if its publisher signed it. The publisher is on this computer, and its releases are
//! scripts or plain text.

use std::{
    env, fs,
    io::Cursor,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use drawbridge_tests::{
    DesktopSession, OfficialRegistryServer, official_registry::RegistryAnswer, paths,
    wait::some_if, wait_until,
};
use minisign::KeyPair;
use serde_json::json;

use crate::app::{self, App};

const VERSION: &str = "99.0.0";
const NOTES: &str = "The bridge is lowered without a sound.";
const OLD_APP: &str = "the old app";

/// A publisher of releases.
struct Publisher {
    key: KeyPair,
    /// Serves the files of the publisher.
    server: OfficialRegistryServer,
}

fn generate_key() -> KeyPair {
    KeyPair::generate_unencrypted_keypair().expect("a key")
}

impl Publisher {
    fn start() -> Self {
        let server = OfficialRegistryServer::start();
        server.answer_with(RegistryAnswer::Raw(404, String::new()));
        Self {
            key: generate_key(),
            server,
        }
    }

    /// Installs an AppImage whose app asks this publisher for releases. Returns the program of the
    /// app, in the folder where the AppImage is mounted, and the AppImage.
    fn install_app_image(&self, desktop: &mut DesktopSession) -> (PathBuf, PathBuf) {
        let app_image = desktop.file("home/Drawbridge.AppImage");
        fs::write(&app_image, OLD_APP).expect("write the AppImage");
        fs::set_permissions(&app_image, fs::Permissions::from_mode(0o755))
            .expect("make the AppImage executable");
        let mount = desktop.file("tmp/.mount_Drawbr");
        let variables = [
            (
                "DRAWBRIDGE_UPDATE_URL",
                format!("{}/files/releases.json", self.server.url),
            ),
            ("DRAWBRIDGE_UPDATE_KEY", self.key.pk.to_base64()),
            ("APPDIR", paths::path_text(&mount)),
            ("APPIMAGE", paths::path_text(&app_image)),
        ];
        for (name, value) in variables {
            desktop.set_variable(name, value);
        }
        (app::install_app(&mount.join("usr/bin")), app_image)
    }

    /// Publishes a release that is signed with a key. `app` is the content of its AppImage.
    fn publish(&self, app: &str, key: &KeyPair) {
        let target = format!("{}-{}", env::consts::OS, env::consts::ARCH);
        let comment = format!("drawbridge {VERSION} {target}");
        let content = Cursor::new(app.as_bytes());
        let signature = minisign::sign(
            Some(&key.pk),
            &key.sk,
            content,
            Some(comment.as_str()),
            None,
        );
        let signature = signature.expect("sign the release").into_string();
        let content = app.as_bytes().to_vec();
        let url = self.server.serve_file("Drawbridge.AppImage", content);
        let list = json!({
            "version": VERSION,
            "notes": NOTES,
            "platforms": {target: {"url": url, "signature": signature}},
        });
        let content = list.to_string().into_bytes();
        self.server.serve_file("releases.json", content);
    }
}

#[track_caller]
fn read_app(file: &Path) -> String {
    fs::read_to_string(file).expect("read the AppImage")
}

#[test]
fn a_signed_release_is_installed_and_started_from_the_window() {
    let mut desktop = DesktopSession::new();
    let publisher = Publisher::start();
    let (program, app_image) = publisher.install_app_image(&mut desktop);
    let started = desktop.file("started");
    let new_app = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n",
        started.display()
    );
    let app = App::open_program(&desktop, &program);
    let driver = &app.driver;
    driver.click("nav-settings");
    driver.click("updates-check");
    driver.wait_for_text("updates-error", "404 Not Found");

    publisher.publish(&new_app, &generate_key());
    driver.click("updates-check");
    driver.wait_for_text("updates-available", VERSION);
    driver.wait_for_text("updates-notes", NOTES);
    driver.save_screenshot("updates-available");
    let requests = publisher.server.requests();
    assert!(
        requests.iter().all(|path| path == "/files/releases.json"),
        "nothing is downloaded yet: {requests:?}"
    );
    driver.click("updates-install");
    driver.wait_for_text("updates-error", "its publisher did not sign this file");
    assert_eq!(read_app(&app_image), OLD_APP);

    publisher.publish(&new_app, &publisher.key);
    // The button to install is disabled until the check has ended.
    driver.click("updates-check");
    driver.click("updates-install");
    driver.wait_for_text("updates-installed", VERSION);
    assert_eq!(read_app(&app_image), new_app);
    driver.click("updates-check");
    driver.wait_for_text("updates-none", "No newer version");
    driver.save_screenshot("updates-installed");
    driver.wait_until_visible("updates-restart");
    driver.click_to_quit("updates-restart");
    wait_until("the new app is started with the same arguments", || {
        let arguments = fs::read_to_string(&started).unwrap_or_default();
        some_if(arguments.contains(&paths::path_text(desktop.data_dir())))
    });
}

#[test]
fn a_notification_names_a_new_release_at_the_start_if_a_person_wants_checks() {
    let mut desktop = DesktopSession::new();
    let publisher = Publisher::start();
    let (program, _) = publisher.install_app_image(&mut desktop);
    publisher.publish("the new app", &publisher.key);
    let app = App::open_program(&desktop, &program);
    app.driver.click("nav-settings");
    app.driver.wait_for("updates-check");
    assert_eq!(
        publisher.server.requests(),
        Vec::<String>::new(),
        "without consent, nothing is asked"
    );
    app.driver.tick_checkbox("updates-automatic");
    app.driver.wait_for_text("updates-available", VERSION);
    drop(app);

    let app = App::open_program(&desktop, &program);
    let notification = desktop
        .notifications
        .wait_for_summary(&format!("Drawbridge {VERSION} is available"));
    desktop.notifications.click(notification.id, "show");
    app.switch_to_main();
    app.driver.wait_for_text("updates-available", VERSION);
}

#[test]
fn a_build_without_a_publisher_says_so_and_offers_no_update() {
    let desktop = DesktopSession::new();
    let app = App::open(&desktop);
    app.driver.click("nav-settings");
    app.driver.wait_for_text(
        "updates-disabled",
        "does not say where its updates come from",
    );
    assert_eq!(app.driver.count_parts("updates-check"), 0);
}
