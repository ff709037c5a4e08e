//! The access report of a local server: which files, addresses and programs its processes used in
//! one run. It holds names only, never the content of a file or of a message.

use serde::{Deserialize, Serialize};

use crate::{ids::Timestamp, sandbox::Sandbox};

/// How a process used a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum FileAccess {
    Read,
    /// Opened for writing, created, renamed or removed.
    Write,
}

/// A file or folder that a process used, or a folder that stands for the files in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct FileUse {
    /// The absolute path, without links.
    pub path: String,
    pub access: FileAccess,
    pub is_folder: bool,
    /// How many different files this entry stands for.
    pub files: u32,
    /// Whether the sandbox of the run refuses this access.
    pub refused: bool,
}

/// How a process used an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum AddressKind {
    /// A TCP connection to the address.
    Connect,
    /// A TCP port on which the server listens.
    Bind,
    Udp,
    /// A local socket of another program.
    LocalSocket,
}

/// An address that a process used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AddressUse {
    pub kind: AddressKind,
    /// An IP address, or the path or name of a local socket.
    pub address: String,
    /// The port; 0 for a local socket.
    pub port: u16,
    pub refused: bool,
}

/// A program that a process started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct ProgramUse {
    pub path: String,
    pub refused: bool,
}

/// A system call that a sandbox refuses, whatever its target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RefusedCall {
    InternetSocket,
    /// A socket that could reach local sockets of other programs.
    LocalSocket,
    /// A socket of another family.
    OtherSocket,
    IoUring,
}

/// The files, addresses and programs that the processes of a server used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AccessSummary {
    /// Sorted by path, without the files that every sandbox includes.
    pub files: Vec<FileUse>,
    pub addresses: Vec<AddressUse>,
    pub programs: Vec<ProgramUse>,
    /// The refused system calls that name no file or address.
    pub refused_calls: Vec<RefusedCall>,
    /// How often files that every sandbox includes were opened: files of the system, of the program
    /// itself, or of the server's own folder.
    pub ordinary: u32,
    /// How many addresses and programs are left out, because there were too many.
    pub omitted: u32,
    /// How many system calls of processes in another root folder, such as a container, are left
    /// out.
    pub elsewhere: u32,
    /// How many system calls could not be read, because the process ended or is protected.
    pub unreadable: u32,
    /// Whether a process used io_uring, through which it can open files unseen.
    pub uses_io_uring: bool,
}

impl AccessSummary {
    /// Returns whether the sandbox refused anything.
    pub fn has_refusals(&self) -> bool {
        !self.refused_calls.is_empty()
            || self.files.iter().any(|file| file.refused)
            || self.addresses.iter().any(|address| address.refused)
            || self.programs.iter().any(|program| program.refused)
    }
}

/// The recorded access of a run, or the reason why there is no record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RecordedAccess {
    Summary(AccessSummary),
    /// The reason why the system cannot record. The server ran nevertheless.
    Unavailable(String),
}

/// The report of the latest recorded run of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(ts_rs::TS))]
pub struct AccessReport {
    /// The identity of the server when the run began.
    pub identity: String,
    /// When the run began.
    pub recorded_at: Timestamp,
    /// The sandbox of the run.
    pub sandbox: Option<Sandbox>,
    pub access: RecordedAccess,
    /// Whether the run led to a connection. If not, the next run is recorded too.
    #[serde(default)]
    pub has_connected: bool,
}
