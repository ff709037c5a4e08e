//! The deb package as a user gets it: installed in a root without Drawbridge, used, and removed.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use drawbridge_tests::{
    DesktopSession, clients::Endpoint, home::CliOutput, paths, process::Process, wait::some_if,
    wait_until,
};
use serde_json::json;

use crate::app::App;

/// The folders of the system that a package changes.
const SYSTEM_FOLDERS: [&str; 3] = ["usr", "etc", "var"];
/// A user namespace in which this user is root, as `dpkg` requires.
const AS_ROOT: &[&str] = &["--user", "--map-root-user", "--mount"];
/// A user namespace in which this user stays the same, as the session bus requires.
const AS_USER: &[&str] = &["--user", "--map-current-user", "--keep-caps", "--mount"];

/// A view of this system in which changes of [`SYSTEM_FOLDERS`] go to a folder of the test
/// (overlayfs), so that a package can be installed without changing the system.
struct CleanRoot<'a> {
    desktop: &'a DesktopSession,
}

impl CleanRoot<'_> {
    /// Returns a command that runs a program in the root. `namespaces` are arguments of `unshare`.
    fn command(&self, namespaces: &[&str], program: &[&str]) -> Command {
        let mounts = SYSTEM_FOLDERS.map(|name| {
            let [changes, work] = self.layers(name).map(paths::path_text);
            format!(
                "mount -t overlay -o userxattr,lowerdir=/{name},upperdir={changes},workdir={work} \
                 overlay /{name}\n"
            )
        });
        let mut command = self.desktop.command(paths::find_program("unshare"));
        command
            .args(namespaces)
            .args([
                "sh",
                "-ec",
                &format!("{}exec \"$@\"", mounts.concat()),
                "sh",
            ])
            .args(program);
        command
    }

    /// Returns the folders of an overlay: its changes, and the work folder of the kernel.
    fn layers(&self, name: &str) -> [PathBuf; 2] {
        ["changes", "work"].map(|layer| {
            let folder = self.desktop.file(&format!("root/{layer}/{name}"));
            fs::create_dir_all(&folder).expect("create a folder of the root");
            folder
        })
    }

    #[track_caller]
    fn dpkg(&self, arguments: &[&str]) -> String {
        // Triggers update caches of the system, and need more users than the namespace has.
        let dpkg = [&["dpkg", "--no-triggers"], arguments].concat();
        CliOutput::run(&mut self.command(AS_ROOT, &dpkg))
            .expect_success()
            .stdout()
    }

    /// Returns the files that were added, changed or removed, as paths of the system.
    fn changed_files(&self, name: &str) -> Vec<PathBuf> {
        let [changes, _] = self.layers(name);
        let files = list_files(&changes);
        let base = self.desktop.file("root/changes");
        files
            .iter()
            .map(|file| Path::new("/").join(file.strip_prefix(&base).expect("a changed file")))
            .collect()
    }

    /// Enters the root and stays in it until the value is dropped.
    fn enter(&self) -> EnteredRoot<'_> {
        let mut command = self.command(AS_USER, &["sh", "-c", "echo ready; exec sleep infinity"]);
        let mut holder = Process::start(self.desktop, "clean-root", &mut command);
        assert_eq!(holder.read_line(), "ready", "{}", holder.stderr());
        EnteredRoot {
            desktop: self.desktop,
            holder,
        }
    }
}

/// A running process in a [`CleanRoot`], whose namespaces other programs can join.
struct EnteredRoot<'a> {
    desktop: &'a DesktopSession,
    holder: Process,
}

impl EnteredRoot<'_> {
    /// Creates a program outside of the root that starts `/usr/bin/NAME` in the root. Returns the
    /// path of the program.
    fn link_program(&self, name: &str) -> PathBuf {
        let link = self.desktop.file(name);
        let script = format!(
            "#!/bin/sh\nexec nsenter --target {} --user --mount --preserve-credentials /usr/bin/{name} \"$@\"\n",
            self.holder.pid()
        );
        fs::write(&link, script).expect("write the script");
        fs::set_permissions(&link, fs::Permissions::from_mode(0o755)).expect("an executable");
        link
    }

    /// Runs the installed command line on the default data folder.
    fn cli(&self, arguments: &[&str]) -> CliOutput {
        let program = self.link_program("drawbridge");
        CliOutput::run(self.desktop.command(program).args(arguments))
    }
}

/// Returns all files below a folder, sorted. The mark of a removed file in an overlay counts as a
/// file.
fn list_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let list = if is_folder { &mut folders } else { &mut files };
            list.push(entry.path());
        }
    }
    files.sort();
    files
}

/// Returns the deb that `cargo xtask test` and `cargo xtask bundle --debug deb` create.
#[track_caller]
fn find_deb() -> PathBuf {
    let folder = paths::built_binary("drawbridge").with_file_name("bundle/deb");
    let files = list_files(&folder);
    let deb = files
        .iter()
        .find(|file| file.extension() == Some(OsStr::new("deb")));
    deb.unwrap_or_else(|| {
        panic!(
            "{} has no deb: run `cargo xtask bundle --debug deb`",
            folder.display()
        )
    })
    .clone()
}

#[test]
fn the_deb_installs_an_app_that_works_and_its_removal_leaves_only_the_data_folder() {
    let desktop = DesktopSession::new();
    let root = CleanRoot { desktop: &desktop };
    root.dpkg(&["--install", &paths::path_text(find_deb())]);
    let status = root.dpkg(&["--status", "drawbridge"]);
    assert!(status.contains("Status: install ok installed"), "{status}");
    let installed = root.changed_files("usr");
    for file in [
        "/usr/bin/drawbridge",
        "/usr/bin/drawbridge-desktop",
        "/usr/share/applications/Drawbridge.desktop",
        "/usr/share/icons/hicolor/128x128/apps/drawbridge-desktop.png",
        "/usr/share/metainfo/app.drawbridge.desktop.metainfo.xml",
        "/usr/share/mime/packages/app.drawbridge.desktop.xml",
        "/usr/share/doc/drawbridge/copyright",
        "/usr/share/man/man1/drawbridge.1.gz",
        "/usr/share/man/man1/drawbridge-servers-add.1.gz",
        "/usr/share/bash-completion/completions/drawbridge",
        "/usr/share/zsh/vendor-completions/_drawbridge",
        "/usr/share/fish/vendor_completions.d/drawbridge.fish",
    ] {
        assert!(
            installed.iter().any(|path| path == Path::new(file)),
            "{file} is not installed: {installed:#?}"
        );
    }
    for check in [
        [
            "desktop-file-validate",
            "/usr/share/applications/Drawbridge.desktop",
        ]
        .as_slice(),
        &[
            "appstreamcli",
            "validate",
            "--no-net",
            "/usr/share/metainfo/app.drawbridge.desktop.metainfo.xml",
        ],
        &["man", "--where", "drawbridge-servers-add"],
    ] {
        CliOutput::run(&mut root.command(AS_USER, check)).expect_success();
    }

    assert_bundles_open_in_app(&root);
    use_installed_app(&root.enter());

    root.dpkg(&["--purge", "drawbridge"]);
    for folder in ["usr", "etc"] {
        let remaining = root.changed_files(folder);
        assert!(remaining.is_empty(), "the package left {remaining:#?}");
    }
    let data_folder = desktop.file("share/drawbridge");
    assert!(data_folder.join("drawbridge.db").is_file());
    // The keyring and the cache of the graphics driver belong to the desktop.
    let desktop_folders =
        ["share/keyrings", "cache/mesa_shader_cache"].map(|name| desktop.file(name));
    let remaining: Vec<_> = ["home", "share", "config", "cache"]
        .iter()
        .flat_map(|folder| list_files(&desktop.file(folder)))
        .filter(|file| !file.starts_with(&data_folder))
        .filter(|file| {
            !desktop_folders
                .iter()
                .any(|folder| file.starts_with(folder))
        })
        .collect();
    assert!(remaining.is_empty(), "the app left {remaining:#?}");
}

/// Checks that the desktop opens bundles and links in the app. Makes the caches in a folder of the
/// test, because the triggers of the package did not run.
#[track_caller]
fn assert_bundles_open_in_app(root: &CleanRoot<'_>) {
    const MAKE_CACHES: &str = "
        mkdir -p \"$1/mime/packages\" \"$1/applications\"
        cp /usr/share/mime/packages/*.xml \"$1/mime/packages\"
        cp /usr/share/applications/Drawbridge.desktop \"$1/applications\"
        update-mime-database \"$1/mime\"
        update-desktop-database \"$1/applications\"
        printf 'PK' >\"$1/notes.mcpb\"
        export XDG_DATA_DIRS=\"$1\"
        gio info -a standard::content-type \"$1/notes.mcpb\" | sed -n 's/.*content-type: //p'
        xdg-mime query default application/x-mcpb
        xdg-mime query default x-scheme-handler/drawbridge";
    let folder = paths::path_text(root.desktop.file("registered"));
    let ask = ["sh", "-ec", MAKE_CACHES, "sh", &folder];
    let answers = CliOutput::run(&mut root.command(AS_USER, &ask));
    assert_eq!(
        answers.expect_success().stdout().trim(),
        "application/x-mcpb\nDrawbridge.desktop\nDrawbridge.desktop"
    );
}

/// Adds a server with a secret, and approves a call, as a user of the installed app.
fn use_installed_app(root: &EnteredRoot<'_>) {
    let desktop = root.desktop;
    let program = root.link_program("drawbridge-desktop");
    let app = App::start_with_default_data_dir(desktop, &program, &[]);
    app.switch_to_main();
    desktop.tray.wait_for_item("Open Drawbridge");
    app.driver.save_screenshot("package-1-started");
    app.driver.click("nav-settings");
    app.driver.wait_for_text(
        "updates-disabled",
        "A package manager installed and updates",
    );
    assert_eq!(app.driver.count_parts("updates-check"), 0);

    root.cli(&[
        "servers",
        "add",
        "everything",
        "--secret",
        "KEY=from the package",
        "--",
        "mcp-server-everything",
        "stdio",
    ])
    .expect_success();
    assert!(
        desktop
            .keyring()
            .items()
            .iter()
            .any(|item| item.value.contains("from the package")),
        "the value is in the keyring"
    );
    let client = root
        .cli(&["clients", "add", "typescript", "--json"])
        .expect_json();
    let endpoint = Endpoint {
        url: app.url.clone(),
        token: client["token"].as_str().expect("a token").to_owned(),
    };
    root.cli(&["servers", "sync", "everything"])
        .expect_success();
    let call = app.begin_call(&endpoint, "everything__echo", &json!({"message": "packed"}));
    desktop.tray.wait_for_item("1 call waits for you");
    app.switch_to_popup();
    app.driver.save_screenshot("package-2-call");
    app.driver.click("approve-once");
    assert_eq!(call.wait_for_result().text, "Echo: packed");

    desktop.tray.click("Quit Drawbridge");
    wait_until("the app has ended", || {
        some_if(
            !desktop
                .processes()
                .iter()
                .any(|process| process.command.starts_with("/usr/bin/drawbridge")),
        )
    });
    desktop.assert_no_survivors();
}
