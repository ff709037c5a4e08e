//! Reads and writes the configuration files of AI clients.

mod client;
mod clients;
mod connection;
mod diff;
mod edit;
mod file;
mod format;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod import;
mod kill_point;
mod literals;
mod machine;
mod plan;
mod secrets;
mod state;

pub use client::{AskOnce, Client, ConfigFile, FileScope, LinkForm, SERVER_NAME};
pub use clients::{CLIENTS, find_client, variable_names};
pub use connection::{Connection, Transport};
pub use edit::{Container, Entry};
pub use file::FileError;
pub use format::{EditError, Format, SyntaxError};
pub use import::{
    AddError, EntryError, FoundAt, FoundServer, FoundServers, ImportError, Importer, LiteralSecret,
    ReadEntryError, RequiredInput, SkipReason, SkippedEntry, UnreadableFile, is_same_server,
};
pub use literals::{LiteralPart, Place, find_literals, move_literals};
pub use machine::{Machine, Os};
pub use plan::{
    BackupError, Backups, ChangedFile, FileDiff, Plan, PlanError, Receipt, UndoError, UndoOutcome,
    UndoneFile,
};
pub use secrets::{find_secret_part, is_likely_secret};
pub use state::FileState;
