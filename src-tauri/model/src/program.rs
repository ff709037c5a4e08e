//! The program that a local server runs, as a person accepts it.

use serde::{Deserialize, Serialize};

/// The program of a local server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct Program {
    /// The path at which the command was found; `None` if it was not found.
    pub path: Option<String>,
    /// The path after all links are followed, if it differs from `path`.
    pub link_target: Option<String>,
    /// The files whose content a person accepts: the program, unless it is a well-known runtime
    /// such as `node` or `npx`, and the scripts among the arguments.
    pub files: Vec<ProgramFile>,
}

/// A file, and the digest of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ProgramFile {
    pub path: String,
    /// The digest in hex; empty if the file cannot be read.
    pub sha256: String,
}

/// Why a program is not the accepted program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramChange {
    #[error("{path} was replaced since you accepted it")]
    Replaced { path: String },
    #[error("{path} cannot be read, so Drawbridge does not know whether it was replaced")]
    UnreadableFile { path: String },
    #[error(
        "{path} is now one of the server's program files, and was not when you accepted the server"
    )]
    Added { path: String },
    #[error(
        "{path} was one of the server's program files when you accepted the server, and is missing \
         now"
    )]
    Missing { path: String },
    #[error("The command now starts {current} and not {accepted}, which you accepted")]
    Moved { accepted: String, current: String },
    #[error("The program {path} was not there when you accepted the server")]
    Appeared { path: String },
    #[error("The server was changed or removed while it started")]
    NotAccepted,
    #[error("The record of the accepted program cannot be read")]
    UnreadableRecord,
}

impl ProgramChange {
    /// Compares the program that is about to start with the accepted program, and returns the first
    /// difference. A missing program does not count as changed, because it cannot start.
    pub fn find(accepted: &Program, current: &Program) -> Option<Self> {
        let path = current.path.as_ref()?;
        let Some(accepted_path) = &accepted.path else {
            return Some(Self::Appeared { path: path.clone() });
        };
        // Version managers change either the folder of the links or their targets, so either the
        // path or the target may differ, but not both.
        if accepted_path != path && accepted.real_path() != current.real_path() {
            return Some(Self::Moved {
                accepted: accepted_path.clone(),
                current: path.clone(),
            });
        }
        let replaced = accepted.files.iter().zip(&current.files);
        let replaced = replaced
            .filter(|(accepted, current)| {
                accepted.sha256 != current.sha256 || current.sha256.is_empty()
            })
            .map(|(_, current)| {
                let path = current.path.clone();
                if current.sha256.is_empty() {
                    Self::UnreadableFile { path }
                } else {
                    Self::Replaced { path }
                }
            });
        let added = current.files.iter().skip(accepted.files.len());
        let added = added.map(|file| Self::Added {
            path: file.path.clone(),
        });
        let missing = accepted.files.iter().skip(current.files.len());
        let missing = missing.map(|file| Self::Missing {
            path: file.path.clone(),
        });
        replaced.chain(added).chain(missing).next()
    }
}

impl Program {
    fn real_path(&self) -> Option<&String> {
        self.link_target.as_ref().or(self.path.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_be_read_counts_as_changed() {
        let program = |sha256: &str| Program {
            path: Some("/bin/x".to_owned()),
            link_target: None,
            files: vec![ProgramFile {
                path: "/bin/x".to_owned(),
                sha256: sha256.to_owned(),
            }],
        };
        assert_eq!(ProgramChange::find(&program("a"), &program("a")), None);
        for accepted in ["", "a"] {
            let change = ProgramChange::find(&program(accepted), &program(""));
            let path = "/bin/x".to_owned();
            assert_eq!(change, Some(ProgramChange::UnreadableFile { path }));
        }
    }
}
