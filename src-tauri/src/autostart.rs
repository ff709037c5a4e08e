//! Starting the app at login: an entry in the user's autostart folder, as the XDG specification of
//! desktop autostart describes it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use crate::next_start;

/// The name of the entry's file: the app's identifier with the extension `.desktop`.
const ENTRY: &str = "app.drawbridge.desktop.desktop";
/// The characters that need a backslash inside quotes.
const ESCAPED: [char; 4] = ['"', '`', '$', '\\'];

/// The autostart entry of this user.
#[derive(Debug, Clone)]
pub(crate) struct Autostart {
    file: PathBuf,
    /// The command line that the entry has to start.
    exec: String,
}

impl Autostart {
    /// Returns the entry that starts this program with its data folder, or `None` if this system
    /// has no such entries, if the path of the program is unknown, or if the user has no home
    /// folder.
    pub(crate) fn of_this_program(data_dir: Option<&Path>) -> Option<Self> {
        if !cfg!(all(unix, not(target_os = "macos"))) {
            return None;
        }
        let program = next_start::find_program().ok()?;
        let folder = env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
            .or_else(|| Some(env::home_dir()?.join(".config")))?;
        Some(Self::new(&folder, &program, data_dir))
    }

    fn new(config_folder: &Path, program: &Path, data_dir: Option<&Path>) -> Self {
        let mut words = vec![program.display().to_string(), "--hidden".to_owned()];
        if let Some(folder) = data_dir {
            let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
            words.extend(["--data-dir".to_owned(), folder.display().to_string()]);
        }
        let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
        Self {
            file: config_folder.join("autostart").join(ENTRY),
            exec: quoted.join(" "),
        }
    }

    /// Returns whether the app starts at login. The desktop's own settings may have disabled the
    /// entry.
    pub(crate) fn is_enabled(&self) -> bool {
        let Ok(text) = fs::read_to_string(&self.file) else {
            return false;
        };
        let disabled = ["Hidden=true", "X-GNOME-Autostart-enabled=false"];
        !text.lines().any(|line| disabled.contains(&line.trim()))
    }

    /// Writes or removes the entry. Blocks.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be written or removed.
    pub(crate) fn set(&self, enabled: bool) -> io::Result<()> {
        if !enabled {
            return match fs::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.file, self.entry())
    }

    /// Writes an enabled entry again if its text would differ, for example because an update of an
    /// AppImage has moved the program.
    pub(crate) fn repair(&self) {
        if !self.is_enabled()
            || fs::read_to_string(&self.file).is_ok_and(|text| text == self.entry())
        {
            return;
        }
        if let Err(error) = self.set(true) {
            tracing::warn!(
                "cannot update the autostart entry {}: {error}",
                self.file.display()
            );
        }
    }

    fn entry(&self) -> String {
        format!(
            "[Desktop Entry]\nType=Application\nName=Drawbridge\nComment=Starts Drawbridge in the tray\n\
             Exec={}\nIcon=drawbridge-desktop\nTerminal=false\nX-GNOME-Autostart-enabled=true\n",
            self.exec
        )
    }
}

/// Quotes a word for the key `Exec` of a desktop entry. The desktop unescapes the value before it
/// reads the quotes, so each backslash of a quoted word is doubled. `%` is doubled because it
/// begins a field code.
fn quote(word: &str) -> String {
    let mut quoted = String::from("\"");
    for character in word.chars() {
        match character {
            '%' => quoted.push('%'),
            '\\' => quoted.push_str("\\\\\\"),
            _ if ESCAPED.contains(&character) => quoted.push_str("\\\\"),
            _ => {}
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry_of(folder: &Path, program: &str) -> Autostart {
        Autostart::new(folder, Path::new(program), None)
    }

    #[test]
    fn the_entry_is_written_read_and_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let autostart = entry_of(folder.path(), "/opt/My Apps/drawbridge-desktop");
        assert!(!autostart.is_enabled());
        autostart.set(true).expect("write the entry");
        assert!(autostart.is_enabled());
        let text = fs::read_to_string(folder.path().join("autostart").join(ENTRY)).expect("read");
        assert!(
            text.contains("Exec=\"/opt/My Apps/drawbridge-desktop\" \"--hidden\"\n"),
            "{text}"
        );
        autostart.set(false).expect("remove the entry");
        autostart.set(false).expect("removing it again is no error");
        assert!(!autostart.is_enabled());
    }

    #[test]
    fn an_entry_that_the_desktop_disabled_is_off_and_stays_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let autostart = entry_of(folder.path(), "/usr/bin/drawbridge-desktop");
        autostart.set(true).expect("write the entry");
        let file = folder.path().join("autostart").join(ENTRY);
        let text = fs::read_to_string(&file).expect("read");
        fs::write(&file, text.replace("enabled=true", "enabled=false")).expect("disable the entry");
        assert!(!autostart.is_enabled());
        entry_of(folder.path(), "/usr/local/bin/drawbridge-desktop").repair();
        assert!(!autostart.is_enabled());
    }

    #[test]
    fn an_entry_for_another_place_is_repaired() {
        let folder = tempfile::tempdir().expect("a folder");
        entry_of(folder.path(), "/home/me/Drawbridge-1.AppImage")
            .set(true)
            .expect("write the entry");
        let moved = entry_of(folder.path(), "/home/me/Drawbridge-2.AppImage");
        moved.repair();
        let text = fs::read_to_string(folder.path().join("autostart").join(ENTRY)).expect("read");
        assert!(
            text.contains("Drawbridge-2.AppImage") && !text.contains("Drawbridge-1"),
            "{text}"
        );
    }

    #[test]
    fn words_are_quoted_as_the_specification_says() {
        assert_eq!(quote("/a b/c"), "\"/a b/c\"");
        assert_eq!(quote("100%"), "\"100%%\"");
        assert_eq!(quote("a$b"), "\"a\\\\$b\"");
        assert_eq!(quote("a\\b"), "\"a\\\\\\\\b\"");
    }
}
