//! The machine whose clients are configured: its system, folders and environment. All paths of
//! clients are resolved with a [`Machine`], so that a test can resolve them for any system.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// An operating system on which clients run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Os {
    Linux,
    MacOs,
    Windows,
}

/// A machine, as the programs of one user see it.
#[derive(Debug, Clone)]
pub struct Machine {
    pub os: Os,
    pub home: PathBuf,
    /// The environment with which the clients are started.
    pub env: BTreeMap<String, String>,
}

impl Machine {
    /// Returns this computer, or `None` if the user has no home folder. An app that is started from
    /// a desktop often has a shorter `PATH` than the user's shell: set `env["PATH"]` to find
    /// programs as the shell does.
    pub fn this() -> Option<Self> {
        let os = if cfg!(windows) {
            Os::Windows
        } else if cfg!(target_os = "macos") {
            Os::MacOs
        } else {
            Os::Linux
        };
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let home = std::env::home_dir()?;
        Some(Self { os, home, env })
    }

    /// Returns the value of a variable, or `None` if the variable is not set or is empty. On
    /// Windows, the case of the name does not matter.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let is_named = |other: &str| match self.os {
            Os::Windows => other.eq_ignore_ascii_case(name),
            Os::Linux | Os::MacOs => other == name,
        };
        self.env
            .iter()
            .find(|(other, value)| is_named(other) && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// Returns the folder that a variable names, or else the folder `default` in the home folder.
    fn folder(&self, variable: &str, default: &str) -> PathBuf {
        self.variable(variable)
            .map_or_else(|| self.home.join(default), PathBuf::from)
    }

    /// Returns the path for which a template in [`CLIENTS`] stands: an absolute path, `~/…`,
    /// `$VARIABLE/…`, or one of `<config>/…`, `<data>/…`, `<local>/…` and `<xdg>/…` (see
    /// [`folder_of`](Self::folder_of)). Returns `None` if the variable is not set.
    pub(crate) fn resolve(&self, template: &str) -> Option<PathBuf> {
        let (start, rest) = template.split_once('/').unwrap_or((template, ""));
        let base = match start.strip_prefix('$') {
            Some(variable) => self.expand_home(self.variable(variable)?),
            None => self.folder_of(start),
        };
        Some(if rest.is_empty() {
            base
        } else {
            base.join(rest)
        })
    }

    /// Replaces a leading `~`, which some shells and settings leave in a variable.
    fn expand_home(&self, value: &str) -> PathBuf {
        match value.strip_prefix("~/") {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(value),
        }
    }

    /// Returns the folder for which the first part of a template stands.
    fn folder_of(&self, start: &str) -> PathBuf {
        match (start, self.os) {
            ("<config>", Os::Windows) => self.folder("APPDATA", "AppData/Roaming"),
            ("<config>" | "<data>", Os::MacOs) => self.home.join("Library/Application Support"),
            ("<config>", Os::Linux) | ("<xdg>", _) => self.folder("XDG_CONFIG_HOME", ".config"),
            ("<data>", Os::Windows) => self.folder("APPDATA", "AppData/Roaming"),
            ("<data>", Os::Linux) => self.folder("XDG_DATA_HOME", ".local/share"),
            // An absolute path begins with an empty part.
            ("", _) => PathBuf::from("/"),
            ("<local>", _) => self.folder("LOCALAPPDATA", "AppData/Local"),
            _ => self.home.clone(),
        }
    }

    /// Returns the paths that exist and match a template, sorted. A `*` in the template stands for
    /// any characters within one name.
    pub(crate) fn find_paths(&self, template: &str) -> Vec<PathBuf> {
        let (plain, rest) = match template.find('*') {
            None => (template, ""),
            Some(star) => {
                let start = template[..star].rfind('/').map_or(0, |slash| slash + 1);
                (template[..start].trim_end_matches('/'), &template[start..])
            }
        };
        let Some(base) = self.resolve(plain) else {
            return Vec::new();
        };
        let mut paths = vec![base];
        for pattern in rest.split('/').filter(|part| !part.is_empty()) {
            paths = paths
                .iter()
                .flat_map(|folder| list_matches(folder, pattern))
                .collect();
        }
        paths.retain(|path| path.exists());
        paths
    }

    /// Returns whether a program is in the `PATH`.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let (separator, extensions): (char, &[&str]) = match self.os {
            Os::Windows => (';', &[".exe", ".cmd", ".bat"]),
            Os::Linux | Os::MacOs => (':', &[""]),
        };
        let folders = self.variable("PATH").unwrap_or_default().split(separator);
        folders.filter(|folder| !folder.is_empty()).any(|folder| {
            extensions.iter().any(|extension| {
                Path::new(folder)
                    .join(format!("{name}{extension}"))
                    .is_file()
            })
        })
    }
}

/// Returns the files and folders in a folder whose names match a pattern with one `*`. Without a
/// `*`, returns the path with this name, which need not exist.
fn list_matches(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some((start, end)) = pattern.split_once('*') else {
        return vec![folder.join(pattern)];
    };
    let matches = |name: &str| {
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    };
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(matches))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests;
