//! A desktop session for one test: a bus, an unlocked keyring, a panel that shows tray icons, a
//! notification service and, unless the test needs none, a screen.

use std::{
    io::Write,
    ops::{Deref, DerefMut},
    process::Stdio,
};

use x11rb::{
    connection::Connection as _,
    protocol::xproto::{ClientMessageEvent, ConnectionExt, EventMask},
    rust_connection::RustConnection,
};
use zbus::blocking::{Connection, connection, fdo::DBusProxy};

use crate::{
    Home,
    keyring::Keyring,
    notifications::Notifications,
    paths,
    process::Process,
    tray::Tray,
    wait::{some_if, wait_until},
};

/// A desktop session. Dereferences to its [`Home`].
pub struct DesktopSession {
    pub tray: Tray,
    pub notifications: Notifications,
    _bus: Process,
    _screen: Option<Process>,
    connection: Connection,
    home: Home,
}

impl Default for DesktopSession {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for DesktopSession {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

impl DerefMut for DesktopSession {
    fn deref_mut(&mut self) -> &mut Home {
        &mut self.home
    }
}

impl DesktopSession {
    /// Starts a desktop session with a screen.
    pub fn new() -> Self {
        let mut home = Home::new();
        let screen = start_screen(&mut home);
        Self::start_services(home, Some(screen), true)
    }

    /// Starts a session with a screen but without a panel for tray icons, as in GNOME.
    pub fn without_tray() -> Self {
        let mut home = Home::new();
        let screen = start_screen(&mut home);
        Self::start_services(home, Some(screen), false)
    }

    /// Starts a session with a bus and a keyring but no screen, as on a headless machine.
    pub fn without_screen() -> Self {
        Self::start_services(Home::new(), None, true)
    }

    fn start_services(mut home: Home, screen: Option<Process>, has_tray: bool) -> Self {
        let mut command = home.command(paths::find_program("dbus-daemon"));
        command.args(["--session", "--nofork", "--nopidfile", "--print-address=1"]);
        let mut bus = Process::start(&home, "dbus-daemon", &mut command);
        let address = bus.read_line();
        home.set_variable("DBUS_SESSION_BUS_ADDRESS", &address);
        let tray = Tray::default();
        let notifications = Notifications::default();
        let connection = connection::Builder::address(address.as_str())
            .and_then(|builder| {
                if has_tray {
                    tray.serve(builder)
                } else {
                    Ok(builder)
                }
            })
            .and_then(|builder| notifications.serve(builder))
            .and_then(connection::Builder::build)
            .unwrap_or_else(|e| panic!("serve a panel on the private bus: {e}"));
        tray.connect(&connection);
        notifications.connect(&connection);
        let desktop = Self {
            tray,
            notifications,
            _bus: bus,
            _screen: screen,
            connection,
            home,
        };
        desktop.unlock_keyring();
        desktop
    }

    /// Returns the arguments of an app that serves the data folder of this session on a port, starts
    /// in the tray, and changes no files of clients.
    pub fn app_arguments(&self, port: u16) -> [String; 6] {
        let data_dir = paths::path_text(self.data_dir());
        let port = port.to_string();
        [
            "--data-dir",
            &data_dir,
            "--port",
            &port,
            "--skip-config-gen",
            "--hidden",
        ]
        .map(str::to_owned)
    }

    /// Returns access to the keyring.
    pub fn keyring(&self) -> Keyring<'_> {
        Keyring::new(&self.connection)
    }

    /// Presses keys, such as `ctrl+alt+d`, whichever window has the focus.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        self.xdotool(&["key", keys]);
    }

    /// Holds a key down, with auto-repeat, until the returned value is dropped.
    #[track_caller]
    pub fn hold(&self, key: &'static str) -> HeldKey<'_> {
        let mut xdotool = self.home.command(paths::find_program("xdotool"));
        xdotool.args(["key", "--delay", "20", "--repeat", "100000", key]);
        HeldKey {
            session: self,
            key,
            pressing: Some(Process::start(&self.home, "xdotool", &mut xdotool)),
        }
    }

    /// Returns the number of visible windows whose titles contain a match of the regular expression
    /// `title`.
    #[track_caller]
    pub fn count_visible_windows(&self, title: &str) -> usize {
        // `xdotool search` exits with a failure if it finds no window.
        let mut search = self.home.command(paths::find_program("xdotool"));
        let output = search
            .args(["search", "--onlyvisible", "--name", title])
            .output()
            .expect("xdotool searches");
        String::from_utf8_lossy(&output.stdout).lines().count()
    }

    /// Closes the window whose whole title matches the regular expression `title`, as its title bar
    /// does.
    #[track_caller]
    pub fn close_window(&self, title: &str) {
        let mut search = self.home.command(paths::find_program("xdotool"));
        let output = search
            .args(["search", "--onlyvisible", "--name", &format!("^{title}$")])
            .output()
            .expect("xdotool searches");
        let window = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap_or_else(|error| panic!("one window has the title '{title}': {error}"));
        let display = self.home.variable("DISPLAY");
        let (screen, _) = RustConnection::connect(display).expect("connect to the screen");
        let [protocols, delete] = ["WM_PROTOCOLS", "WM_DELETE_WINDOW"].map(|name| {
            let atom = screen.intern_atom(false, name.as_bytes());
            atom.expect("ask for an atom")
                .reply()
                .expect("the screen knows the atom")
                .atom
        });
        let request = ClientMessageEvent::new(32, window, protocols, [delete, 0, 0, 0, 0]);
        screen
            .send_event(false, window, EventMask::NO_EVENT, request)
            .expect("send the request")
            .check()
            .expect("the screen sends the request");
        screen.flush().expect("flush the connection");
    }

    #[track_caller]
    fn xdotool(&self, arguments: &[&str]) {
        let status = self
            .home
            .command(paths::find_program("xdotool"))
            .args(arguments)
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "xdotool does {arguments:?}"
        );
    }

    /// Starts the keyring, or unlocks it.
    pub fn unlock_keyring(&self) {
        let mut command = self
            .home
            .command(paths::find_program("gnome-keyring-daemon"));
        command
            .args(["--unlock", "--components=secrets"])
            .stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("start gnome-keyring-daemon: {e}"));
        let mut stdin = child.stdin.take().expect("stdin is piped");
        stdin
            .write_all(b"password of the tests")
            .expect("give the keyring its password");
        drop(stdin);
        child.wait().expect("the keyring goes to the background");
        let bus = DBusProxy::new(&self.connection).expect("connect to the bus");
        wait_until("the keyring is on the bus", || {
            let name = "org.freedesktop.secrets".try_into().expect("a bus name");
            some_if(bus.name_has_owner(name).unwrap_or(false))
        });
    }
}

/// A key that is held down.
pub struct HeldKey<'a> {
    session: &'a DesktopSession,
    key: &'static str,
    pressing: Option<Process>,
}

impl Drop for HeldKey<'_> {
    fn drop(&mut self) {
        self.pressing = None;
        // `xdotool` may have ended while the key was down.
        self.session.xdotool(&["keyup", self.key]);
    }
}

fn start_screen(home: &mut Home) -> Process {
    let mut command = home.command(paths::find_program("Xvfb"));
    command.args([
        "-displayfd",
        "1",
        "-screen",
        "0",
        "1280x800x24",
        "-nolisten",
        "tcp",
    ]);
    let mut process = Process::start(home, "Xvfb", &mut command);
    let number = process.read_line();
    home.set_variable("DISPLAY", format!(":{}", number.trim()));
    home.set_variable("GDK_BACKEND", "x11");
    home.set_variable("NO_AT_BRIDGE", "1");
    process
}
