//! The variables of the hub without the changes that an AppImage made for its own libraries. A
//! server or a command that got the changed variables would load libraries, schemas and modules of
//! the AppImage.

use std::{collections::BTreeMap, env};

/// The folder in which the AppImage is mounted.
const FOLDER_VARIABLE: &str = "APPDIR";

/// Variables of AppImages that contain no path below their folder.
const OWN_VARIABLES: &[&str] = &[
    "APPDIR",
    "APPIMAGE",
    "APPIMAGE_UUID",
    "ARGV0",
    "OWD",
    "GDK_BACKEND",
    "GTK_THEME",
    "PYTHONDONTWRITEBYTECODE",
];

/// Returns the variables of the hub as they were before an AppImage changed them. A variable that
/// is not Unicode is left out.
pub fn original_variables() -> BTreeMap<String, String> {
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    restore(variables)
}

/// Returns the folders of the hub's own PATH, without those of an AppImage.
pub(super) fn original_path() -> String {
    original_variables().remove("PATH").unwrap_or_default()
}

/// Removes an AppImage's variables, and the entries of lists that are paths below its folder.
fn restore(mut variables: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let folder = variables.get(FOLDER_VARIABLE).cloned().unwrap_or_default();
    let folder = folder.trim_end_matches('/');
    if !variables.contains_key("APPIMAGE") || !folder.starts_with('/') {
        return variables;
    }
    let is_own = |entry: &str| {
        entry
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    variables.retain(|name, value| {
        if OWN_VARIABLES.contains(&name.as_str()) {
            return false;
        }
        if !value.split(':').any(is_own) {
            return true;
        }
        let others: Vec<&str> = value.split(':').filter(|entry| !is_own(entry)).collect();
        let has_other_entries = others.iter().any(|entry| !entry.is_empty());
        *value = others.join(":");
        has_other_entries
    });
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn an_appimages_variables_do_not_leak() {
        let started = variables(&[
            ("APPDIR", "/tmp/.mount_DrawbrX/"),
            ("APPIMAGE", "/home/ada/Drawbridge.AppImage"),
            ("ARGV0", "./Drawbridge.AppImage"),
            ("OWD", "/home/ada"),
            ("GDK_BACKEND", "x11"),
            ("GTK_PATH", "/tmp/.mount_DrawbrX/usr/lib/gtk-3.0"),
            ("GIO_EXTRA_MODULES", "/tmp/.mount_DrawbrX/usr/lib/gio"),
            (
                "LD_LIBRARY_PATH",
                "/tmp/.mount_DrawbrX/usr/lib:/tmp/.mount_DrawbrX/lib:",
            ),
            ("PATH", "/tmp/.mount_DrawbrX/usr/bin:/usr/bin:/bin"),
            (
                "XDG_DATA_DIRS",
                "/tmp/.mount_DrawbrX/usr/share:/usr/local/share:/usr/share",
            ),
            ("HOME", "/home/ada"),
            ("TMPDIR", "/tmp/.mount_DrawbrXY"),
        ]);
        let original = variables(&[
            ("PATH", "/usr/bin:/bin"),
            ("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
            ("HOME", "/home/ada"),
            ("TMPDIR", "/tmp/.mount_DrawbrXY"),
        ]);
        assert_eq!(restore(started), original);
    }

    #[test]
    fn without_an_appimage_nothing_changes() {
        let own = variables(&[
            ("APPDIR", "/opt/build"),
            ("GDK_BACKEND", "wayland"),
            ("LD_LIBRARY_PATH", "/opt/build/lib"),
        ]);
        assert_eq!(restore(own.clone()), own);
    }
}
