//! The sandbox of a local server: the files and the network that its processes may use.

use serde::{Deserialize, Serialize};

use crate::reference;

/// The files that a server in a sandbox may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SandboxFiles {
    /// The server's own folder, the listed files, and the files that every program needs.
    #[default]
    Listed,
    /// All files of the user.
    All,
}

/// The network that a server in a sandbox may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SandboxNetwork {
    #[default]
    All,
    /// TCP connections to the ports in `connect`, and TCP listeners on the ports in `bind`.
    Listed,
    /// No network at all, not even this computer's own.
    None,
}

/// The restrictions of a local server and of everything that it starts. An unknown member makes the
/// spec invalid, because a restriction that is not understood would not be enforced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Sandbox {
    #[serde(default)]
    pub files: SandboxFiles,
    /// Files and folders that the server may read, as absolute paths or beginning with `~/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Files and folders that the server may read and write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    #[serde(default)]
    pub network: SandboxNetwork,
    /// The TCP ports to which the server may connect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connect: Vec<u16>,
    /// The TCP ports on which the server may listen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bind: Vec<u16>,
    /// Whether the server may connect to the local sockets of other programs, such as the session
    /// bus or Docker. These programs can do for the server what the sandbox forbids.
    #[serde(default, skip_serializing_if = "is_false")]
    pub local_sockets: bool,
}

/// Why a sandbox is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    #[error("'sandbox.{0}' lists files, but 'sandbox.files' allows all; remove one of them")]
    ListedAndAll(&'static str),
    #[error(
        "'sandbox.{0}' lists ports, but 'sandbox.network' is not set to listed; set it, or remove the ports"
    )]
    PortsWithoutList(&'static str),
    #[error(
        "'sandbox.{field}' must list absolute paths, or paths that begin with ~/, not '{path}'"
    )]
    RelativePath { field: &'static str, path: String },
    #[error("'sandbox.{0}' must not refer to a secret")]
    Secret(&'static str),
    #[error(
        "'sandbox' restricts nothing, because it allows all files, the whole network and local sockets; remove it"
    )]
    Nothing,
    #[error(
        "the program serves a URL, so 'sandbox.network' must not be none; list the port of the URL in 'sandbox.bind'"
    )]
    NoPortForUrl,
}

impl Sandbox {
    /// Checks that the fields fit together.
    ///
    /// # Errors
    /// Returns an error if two fields contradict each other, if a path neither is absolute nor
    /// begins with `~/`, if a path refers to a secret, or if the sandbox restricts nothing.
    pub fn check(&self) -> Result<(), SandboxError> {
        for (field, paths) in [("read", &self.read), ("write", &self.write)] {
            if self.files == SandboxFiles::All && !paths.is_empty() {
                return Err(SandboxError::ListedAndAll(field));
            }
            for path in paths {
                if reference::begins_reference(path) {
                    return Err(SandboxError::Secret(field));
                }
                if !path.starts_with('/') && !path.starts_with("~/") || path.contains('\0') {
                    let path = path.clone();
                    return Err(SandboxError::RelativePath { field, path });
                }
            }
        }
        for (field, ports) in [("connect", &self.connect), ("bind", &self.bind)] {
            if self.network != SandboxNetwork::Listed && !ports.is_empty() {
                return Err(SandboxError::PortsWithoutList(field));
            }
        }
        let allows_all = self.files == SandboxFiles::All && self.network == SandboxNetwork::All;
        if allows_all && self.local_sockets {
            return Err(SandboxError::Nothing);
        }
        Ok(())
    }
}

/// The parts of a running server's sandbox that depend on the kernel and not on the spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct EnforcedSandbox {
    /// The version of Landlock that the kernel has.
    pub landlock: u32,
    /// Whether the server can send signals only to its own processes (from Linux 6.12).
    pub signals: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        let sandbox: Sandbox = serde_json::from_str(text).map_err(|e| e.to_string())?;
        sandbox.check().map_err(|e| e.to_string())
    }

    #[test]
    fn a_sandbox_with_contradicting_or_invalid_fields_is_invalid() {
        for (text, word) in [
            (
                r#"{"files": "all", "read": ["/a"]}"#,
                "'sandbox.read' lists",
            ),
            (
                r#"{"network": "none", "connect": [443]}"#,
                "'sandbox.connect' lists",
            ),
            (r#"{"bind": [80]}"#, "'sandbox.bind' lists"),
            (r#"{"read": ["project"]}"#, "not 'project'"),
            (r#"{"write": ["~other/x"]}"#, "not '~other/x'"),
            (r#"{"write": ["/${keyring:a}"]}"#, "secret"),
            (
                r#"{"files": "all", "local_sockets": true}"#,
                "restricts nothing",
            ),
            (r#"{"netwrok": "none"}"#, "unknown field `netwrok`"),
        ] {
            let error = check(text).expect_err(text);
            assert!(error.contains(word), "{text}: {error}");
        }
        for text in [
            "{}",
            r#"{"files": "all", "network": "none"}"#,
            r#"{"read": ["~/project", "/srv"], "network": "listed", "connect": [443]}"#,
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }
}
