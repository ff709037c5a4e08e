//! The global shortcut on X11. The thread that waits for presses sleeps between them, unlike the
//! thread of the crate `global-hotkey`, which polls for presses 20 times a second.

use std::{sync::Arc, thread};

use gtk::gdk::keys::Key;
use tauri_plugin_global_shortcut::{Code, Modifiers, Shortcut};
use x11rb::{
    connection::Connection,
    errors::{ConnectError, ConnectionError, ReplyError},
    protocol::{
        ErrorKind, Event,
        xkb::{self, ConnectionExt as _},
        xproto::{ConnectionExt as _, GrabMode, Keycode, ModMask, Window},
    },
    rust_connection::RustConnection,
};

/// X11 counts Num Lock and Caps Lock as modifiers, so a shortcut is grabbed with and without them.
const LOCKS: [u16; 4] = [0, NUM_LOCK, CAPS_LOCK, NUM_LOCK | CAPS_LOCK];
const NUM_LOCK: u16 = 1 << 4;
const CAPS_LOCK: u16 = 1 << 1;

/// Why the X server does not report the keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GrabError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Reply(#[from] ReplyError),
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
    #[error("the keyboard has no such key")]
    UnknownKey,
    #[error("another program has grabbed these keys")]
    Taken,
}

/// A connection to the X server that grabs keys.
pub(super) struct KeyGrabs {
    connection: Arc<RustConnection>,
    root: Window,
}

impl KeyGrabs {
    /// Connects to the X server. `on_pressed` is called at each press of a grabbed shortcut, once
    /// for keys that are held down.
    ///
    /// # Errors
    /// Returns an error if the connection fails, or if the thread cannot be started.
    pub(super) fn open(on_pressed: impl Fn() + Send + 'static) -> Result<Self, GrabError> {
        let (connection, screen) = RustConnection::connect(None)?;
        let connection = Arc::new(connection);
        // The X server reports a key that is held down as pressed again and again. With this flag,
        // it does not report the key as released in between.
        connection.xkb_use_extension(1, 0)?.reply()?;
        let detectable = xkb::PerClientFlag::DETECTABLE_AUTO_REPEAT;
        connection
            .xkb_per_client_flags(
                xkb::ID::USE_CORE_KBD.into(),
                detectable,
                detectable,
                Default::default(),
                Default::default(),
                Default::default(),
            )?
            .reply()?;
        let root = connection.setup().roots[screen].root;
        let events = Arc::clone(&connection);
        thread::Builder::new()
            .name("shortcut".to_owned())
            .spawn(move || report_presses(&events, on_pressed))?;
        Ok(Self { connection, root })
    }

    /// Grabs a shortcut.
    ///
    /// # Errors
    /// Returns an error if the keyboard has no such key, if another program has grabbed the
    /// shortcut, or if the connection is lost.
    pub(super) fn register(&self, shortcut: Shortcut) -> Result<(), GrabError> {
        let keycode = self.find_keycode(shortcut.key)?;
        let modifiers = modifier_mask(shortcut.mods);
        for locks in LOCKS {
            let grabbed = self.connection.grab_key(
                false,
                self.root,
                ModMask::from(modifiers | locks),
                keycode,
                GrabMode::ASYNC,
                GrabMode::ASYNC,
            )?;
            if let Err(error) = grabbed.check() {
                self.unregister(shortcut)?;
                return Err(match error {
                    ReplyError::X11Error(error) if error.error_kind == ErrorKind::Access => {
                        GrabError::Taken
                    }
                    error @ (ReplyError::X11Error(_) | ReplyError::ConnectionError(_)) => {
                        error.into()
                    }
                });
            }
        }
        Ok(())
    }

    /// Releases a shortcut.
    ///
    /// # Errors
    /// Returns an error if the keyboard has no such key, or if the connection is lost.
    pub(super) fn unregister(&self, shortcut: Shortcut) -> Result<(), GrabError> {
        let keycode = self.find_keycode(shortcut.key)?;
        for locks in LOCKS {
            let mask = ModMask::from(modifier_mask(shortcut.mods) | locks);
            self.connection
                .ungrab_key(keycode, self.root, mask)?
                .check()?;
        }
        Ok(())
    }

    /// Returns the code that the keyboard has for a key.
    fn find_keycode(&self, key: Code) -> Result<Keycode, GrabError> {
        let symbol = key_symbol(key);
        let setup = self.connection.setup();
        let count = setup.max_keycode - setup.min_keycode + 1;
        let mapping = self
            .connection
            .get_keyboard_mapping(setup.min_keycode, count)?
            .reply()?;
        (setup.min_keycode..=setup.max_keycode)
            .zip(
                mapping
                    .keysyms
                    .chunks(usize::from(mapping.keysyms_per_keycode).max(1)),
            )
            .find(|(_, symbols)| symbols.contains(&symbol))
            .map(|(keycode, _)| keycode)
            .ok_or(GrabError::UnknownKey)
    }
}

/// Calls `on_pressed` at each press, once for keys that are held down, until the connection ends.
fn report_presses(connection: &RustConnection, on_pressed: impl Fn()) {
    let mut is_held = false;
    loop {
        match connection.wait_for_event() {
            Ok(Event::KeyPress(_)) => {
                if !is_held {
                    on_pressed();
                }
                is_held = true;
            }
            Ok(Event::KeyRelease(_)) => is_held = false,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%error, "the global shortcut has ended");
                return;
            }
        }
    }
}

fn modifier_mask(modifiers: Modifiers) -> u16 {
    let masks = [
        (Modifiers::SHIFT, ModMask::SHIFT),
        (Modifiers::CONTROL, ModMask::CONTROL),
        (Modifiers::ALT, ModMask::M1),
        (Modifiers::SUPER, ModMask::M4),
    ];
    let held = masks
        .iter()
        .filter(|(modifier, _)| modifiers.contains(*modifier));
    held.fold(0, |mask, (_, x11)| mask | u16::from(*x11))
}

/// The names that X11 gives to keys if they differ from the names of the codes.
const NAMES: [(Code, &str); 29] = [
    (Code::Backquote, "grave"),
    (Code::Quote, "apostrophe"),
    (Code::Backspace, "BackSpace"),
    (Code::CapsLock, "Caps_Lock"),
    (Code::Enter, "Return"),
    (Code::PageDown, "Page_Down"),
    (Code::PageUp, "Page_Up"),
    (Code::PrintScreen, "Print"),
    (Code::ScrollLock, "Scroll_Lock"),
    (Code::NumLock, "Num_Lock"),
    (Code::AudioVolumeDown, "AudioLowerVolume"),
    (Code::AudioVolumeUp, "AudioRaiseVolume"),
    (Code::AudioVolumeMute, "AudioMute"),
    (Code::MediaPlay, "AudioPlay"),
    (Code::MediaPlayPause, "AudioPlay"),
    (Code::MediaPause, "AudioPause"),
    (Code::MediaStop, "AudioStop"),
    (Code::MediaTrackNext, "AudioNext"),
    (Code::MediaTrackPrevious, "AudioPrev"),
    (Code::Backslash, "backslash"),
    (Code::BracketLeft, "bracketleft"),
    (Code::BracketRight, "bracketright"),
    (Code::Comma, "comma"),
    (Code::Equal, "equal"),
    (Code::Minus, "minus"),
    (Code::Period, "period"),
    (Code::Semicolon, "semicolon"),
    (Code::Slash, "slash"),
    (Code::Space, "space"),
];

/// Returns the X11 symbol of a key.
fn key_symbol(key: Code) -> u32 {
    let code = key.to_string();
    let name = if let Some(letter) = code.strip_prefix("Key") {
        letter.to_lowercase()
    } else if let Some(name) = code
        .strip_prefix("Digit")
        .or_else(|| code.strip_prefix("Arrow"))
    {
        name.to_owned()
    } else if let Some(name) = code.strip_prefix("Numpad") {
        format!("KP_{name}")
    } else {
        NAMES
            .into_iter()
            .find_map(|(code, name)| (code == key).then_some(name))
            .unwrap_or(&code)
            .to_owned()
    };
    key_symbol_by_name(&name)
}

fn key_symbol_by_name(name: &str) -> u32 {
    *Key::from_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_shortcut_has_a_symbol() {
        /// The symbol that GDK returns for a name that it does not know.
        const UNKNOWN: u32 = 0xff_ffff;
        let keys = "A Z 0 9 ` \\ [ ] , = - . ' ; / Backspace CapsLock Enter Space Tab Delete End Home \
            Insert PageDown PageUp PrintScreen ScrollLock Pause Down Left Right Up NumLock Num0 \
            Num9 NumAdd NumDecimal NumDivide NumEnter NumEqual NumMultiply NumSubtract Esc F1 F12 \
            F24 VolumeDown VolumeUp VolumeMute MediaPlay MediaPause MediaPlayPause MediaStop \
            MediaTrackNext MediaTrackPrevious";
        for key in keys.split_whitespace() {
            let shortcut: Shortcut = format!("Ctrl+{key}").parse().expect(key);
            assert_ne!(key_symbol(shortcut.key), UNKNOWN, "{key}");
        }
        let symbol = |keys: &str| key_symbol(keys.parse::<Shortcut>().expect(keys).key);
        assert_eq!(symbol("Ctrl+Alt+D"), u32::from(b'd'));
        assert_eq!(symbol("Ctrl+'"), u32::from(b'\''));
        assert_eq!(symbol("Ctrl+["), u32::from(b'['));
    }

    #[test]
    fn modifiers_have_the_masks_of_x11() {
        assert_eq!(modifier_mask(Modifiers::CONTROL | Modifiers::ALT), 0b1100);
        assert_eq!(
            modifier_mask(Modifiers::SHIFT | Modifiers::SUPER),
            0b100_0001
        );
    }
}
