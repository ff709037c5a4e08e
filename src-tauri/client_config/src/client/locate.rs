//! Finds the configuration files of a client on a machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::Client;
use crate::machine::Machine;

/// Where the client uses the servers of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileScope {
    /// In all projects of the user.
    Global,
    /// In all projects, if the client runs with a certain profile other than its default profile.
    Profile,
    /// In one project.
    Project,
}

/// A configuration file of a client, which may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub scope: FileScope,
    /// Another file that the client may read instead of this file. Drawbridge writes neither file
    /// while both exist.
    pub conflict: Option<PathBuf>,
}

impl Client {
    /// Returns whether the client is on the machine: it has a folder or file there, or one of its
    /// programs is in the `PATH`.
    pub fn is_installed(&self, machine: &Machine) -> bool {
        self.install_paths
            .iter()
            .any(|template| !machine.find_paths(template).is_empty())
            || self
                .programs
                .iter()
                .any(|program| machine.has_program(program))
            || self.files(machine).iter().any(|file| file.path.exists())
    }

    /// Returns the files that the client reads in every project: the global file first, then a file
    /// for each further profile. The client `standard`, which stands for any other client, has no
    /// files.
    pub fn files(&self, machine: &Machine) -> Vec<ConfigFile> {
        let override_path = self
            .overrides
            .iter()
            .find_map(|template| machine.resolve(template));
        let places: Vec<PathBuf> = match override_path {
            Some(path) => vec![path],
            None => self
                .files
                .iter()
                .filter(|(systems, _)| systems.includes(machine.os))
                .flat_map(|(_, template)| {
                    if template.contains('*') {
                        machine.find_paths(template)
                    } else {
                        machine.resolve(template).into_iter().collect()
                    }
                })
                .collect(),
        };
        let mut files: Vec<ConfigFile> = self
            .choose_file(&places, FileScope::Global)
            .into_iter()
            .collect();
        for template in self.profiles {
            for path in machine.find_paths(template) {
                if !files.iter().any(|file| file.path == path) {
                    files.push(ConfigFile {
                        path,
                        scope: FileScope::Profile,
                        conflict: None,
                    });
                }
            }
        }
        files
    }

    /// Returns the client's file in a project, or `None` if the client has no project files.
    pub fn project_file(&self, project: &Path) -> Option<ConfigFile> {
        let places: Vec<PathBuf> = self
            .project
            .iter()
            .map(|place| project.join(place))
            .collect();
        self.choose_file(&places, FileScope::Project)
    }

    /// Returns the project's folder if `file` is a project file of the client, such as
    /// `<project>/.vscode/mcp.json`.
    pub fn project_of(&self, file: &Path) -> Option<PathBuf> {
        self.project.iter().find_map(|place| {
            let depth = place.split('/').count();
            let folder = file.ancestors().nth(depth)?;
            file.ends_with(place).then(|| folder.to_owned())
        })
    }

    /// Returns the first place with a file that has content, because some clients leave empty files
    /// in other places. If no file has content, returns the first place with a file, or else the
    /// first place.
    fn choose_file(&self, places: &[PathBuf], scope: FileScope) -> Option<ConfigFile> {
        let has_content = |path: &&PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
        let path = places
            .iter()
            .find(has_content)
            .or_else(|| places.iter().find(|path| path.exists()))
            .or_else(|| places.first())?;
        let conflict = places
            .iter()
            .find(|other| self.reads_only_one_file && *other != path && other.exists());
        Some(ConfigFile {
            path: path.clone(),
            scope,
            conflict: conflict.cloned(),
        })
    }
}
