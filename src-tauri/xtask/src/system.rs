//! The system's packages. Missing packages are installed with apt. On a system without apt, a
//! message says what a build needs.

use std::{path::Path, process::Command};

use crate::step::{self, Outcome, command, read_stdout};

/// The packages to build and to start the app.
const RUN_PACKAGES: &[&str] = &[
    "build-essential",
    "pkg-config",
    "libwebkit2gtk-4.1-dev",
    "libayatana-appindicator3-1",
    "ca-certificates",
];

/// The package that tells Tauri on which library the deb depends.
const BUNDLE_PACKAGES: &[&str] = &["libayatana-appindicator3-dev"];

/// The packages that the tests need, for instance for a display, a session bus, a keyring and a
/// browser of their own.
const TEST_PACKAGES: &[&str] = &[
    "xvfb",
    "dbus",
    "webkit2gtk-driver",
    "gnome-keyring",
    "libsecret-tools",
    "xdotool",
    "chromium",
    "fonts-dejavu-core",
    "python3-venv",
    "bubblewrap",
    "man-db",
    "appstream",
    "desktop-file-utils",
    "systemd",
];

const WITHOUT_APT: &str = "This system has no apt. Please install the following yourself, because the build of Drawbridge needs it:
  Linux    a C compiler, pkg-config, the development files of WebKitGTK 4.1, libayatana-appindicator3
           (Fedora: gcc pkgconf webkit2gtk4.1-devel libayatana-appindicator-gtk3;
            Arch: base-devel webkit2gtk-4.1 libayatana-appindicator)
  macOS    the Xcode command line tools (xcode-select --install)
  Windows  the Microsoft C++ Build Tools and WebView2 (part of Windows 11)
and, on all of them, Node 20 or newer and Rust.";

/// Installs the packages to build and start the app.
pub(crate) fn install_for_run() -> Outcome {
    install(RUN_PACKAGES)
}

/// Installs the packages for `cargo xtask bundle`, and the packages of [`install_for_run`].
pub(crate) fn install_for_bundle() -> Outcome {
    install(&[RUN_PACKAGES, BUNDLE_PACKAGES].concat())
}

/// Installs the packages for the tests, and the packages of [`install_for_bundle`].
///
/// The tests need Linux. On a system without apt, all packages have to be present already.
pub(crate) fn install_for_test() -> Outcome {
    install(&[RUN_PACKAGES, BUNDLE_PACKAGES, TEST_PACKAGES].concat())
}

/// Installs the packages for `cargo xtask soak`: the packages of [`install_for_test`], and
/// `faketime`.
pub(crate) fn install_for_soak() -> Outcome {
    install(&[RUN_PACKAGES, BUNDLE_PACKAGES, TEST_PACKAGES, &["faketime"]].concat())
}

fn install(packages: &[&str]) -> Outcome {
    if !Path::new("/etc/debian_version").exists() {
        println!("{WITHOUT_APT}");
        return Ok(());
    }
    let missing: Vec<&str> = packages
        .iter()
        .copied()
        .filter(|package| !is_installed(package))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    println!("missing system packages: {}", missing.join(" "));
    // The package lists may still suffice if their update fails; the installation shows whether
    // they do.
    if let Err(reason) = step::run(&mut apt(&["update", "-qq"])) {
        println!("{reason}; continuing with the current package lists");
    }
    let arguments = [
        &["install", "-y", "-qq", "--no-install-recommends"],
        missing.as_slice(),
    ]
    .concat();
    step::run(&mut apt(&arguments))
        .map_err(|reason| format!("{reason}; please install: {}", missing.join(" ")))
}

fn is_installed(package: &str) -> bool {
    let status = read_stdout(&mut command(
        "dpkg-query",
        &["-W", "-f=${db:Status-Status}", package],
    ));
    status.is_some_and(|status| status == "installed")
}

fn apt(arguments: &[&str]) -> Command {
    let is_root = read_stdout(&mut command("id", &["-u"])).is_some_and(|id| id == "0");
    let mut command = if is_root {
        command("apt-get", &[])
    } else {
        command("sudo", &["apt-get"])
    };
    command
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}
