//! Plans: changes of clients' files, which a person sees before they are made and can undo
//! afterwards.

mod receipt;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::{
    Client, SERVER_NAME,
    client::{AskOnce, ConfigFile},
    connection::Connection,
    diff::unified_diff,
    edit::{Container, Edit, Entry},
    file::{self, FileError},
    format::{EditError, Format, Source},
    machine::Machine,
    state::find_own_entry,
};

pub use receipt::{BackupError, Backups, ChangedFile, Receipt, UndoError, UndoOutcome, UndoneFile};

/// Changes of files. Nothing is written before [`Plan::apply`].
#[derive(Debug, Default)]
pub struct Plan {
    files: Vec<PlannedFile>,
}

/// The change of one file.
#[derive(Debug)]
struct PlannedFile {
    /// The path as the client knows it.
    path: PathBuf,
    /// The file that is written: the path with its links followed.
    target: PathBuf,
    format: Format,
    /// `None` if there is no file yet.
    before: Option<Vec<u8>>,
    after: Vec<u8>,
    /// The edits that undo the changes, in the order in which they have to be made.
    reverse: Vec<Edit>,
}

/// The difference that a plan makes in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    pub path: PathBuf,
    /// Whether the file does not exist yet.
    pub is_new: bool,
    /// A unified diff without the values of secrets.
    pub diff: String,
}

/// The reason why there is no plan, or why it was not applied.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{} is not text in UTF-8", .0.display())]
    NotText(PathBuf),
    #[error("cannot change {}: {source}", .path.display())]
    Edit { path: PathBuf, source: EditError },
    #[error("both {} and {} exist, and the client reads only one of them; remove one", .0.display(), .1.display())]
    Ambiguous(PathBuf, PathBuf),
    #[error("{client} cannot connect by a URL; use the bridge")]
    NoHttp { client: &'static str },
    #[error("{} already has a server named '{SERVER_NAME}' that is not Drawbridge; rename it", .0.display())]
    NameTaken(PathBuf),
    #[error("{} has no entry of Drawbridge", .0.display())]
    NotConnected(PathBuf),
    #[error("the files have changed since the changes were shown; review the changes again")]
    Outdated,
    #[error(transparent)]
    Backup(#[from] BackupError),
}

impl Plan {
    /// Plans to connect a client, or to repair its entry. An entry that already reaches Drawbridge
    /// under another name is adopted. With `ask_once`, the client also leaves the approval of calls
    /// to Drawbridge. The plan is empty if nothing has to change.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or changed, if the client does not support the
    /// transport, if two files exist of which the client reads only one, or if another server has
    /// the name of Drawbridge's entry.
    pub fn connect(
        client: &Client,
        machine: &Machine,
        config: &ConfigFile,
        connection: &Connection,
        ask_once: Option<&AskOnce>,
    ) -> Result<Self, PlanError> {
        Self::connect_and_remove_entries(client, machine, config, connection, ask_once, &[])
    }

    /// Plans to connect a client as [`Plan::connect`] does, and to remove the entries of servers
    /// that Drawbridge has imported. `moved` has the keys from the root of the file to each of
    /// these entries.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Plan::connect`].
    pub fn connect_and_remove_entries(
        client: &Client,
        machine: &Machine,
        config: &ConfigFile,
        connection: &Connection,
        ask_once: Option<&AskOnce>,
        moved: &[Vec<String>],
    ) -> Result<Self, PlanError> {
        check_unambiguous(config)?;
        let entry = client
            .entry(connection, ask_once)
            .ok_or(PlanError::NoHttp {
                client: client.name,
            })?;
        let source = PlannedSource::read(&config.path, client.format, client.new_file)?;
        let mut edits = Edits::default();
        for keys in moved {
            edits.remove_entry(&source.root, client, keys);
        }
        edits.set_own_entry(&source, client, connection, entry)?;
        let mut plan = Self::default();
        plan.add(source, edits)?;
        if ask_once.is_some() {
            plan.change_tool_allow_list(client, machine, config, AllowListChange::Add)?;
        }
        Ok(plan)
    }

    /// Plans to remove Drawbridge's entry from a client's files, and the settings with which the
    /// client leaves the approval of calls to Drawbridge.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or changed, if two files exist of which the client
    /// reads only one, or if `config` has no entry of Drawbridge.
    pub fn disconnect(
        client: &Client,
        machine: &Machine,
        config: &ConfigFile,
        connection: &Connection,
    ) -> Result<Self, PlanError> {
        check_unambiguous(config)?;
        let source = PlannedSource::read(&config.path, client.format, client.new_file)?;
        let own_entry = find_own_entry(&source.root, &client.container(), connection)
            .unwrap_or_default()
            .ok_or_else(|| PlanError::NotConnected(config.path.clone()))?;
        let mut keys = client.container().path;
        keys.push(own_entry.name);
        let mut edits = Edits::default();
        edits.remove_entry(&source.root, client, &keys);
        let mut plan = Self::default();
        plan.add(source, edits)?;
        plan.change_tool_allow_list(client, machine, config, AllowListChange::Remove)?;
        Ok(plan)
    }

    /// Plans to add Drawbridge to the client's list of tools that need no approval, or to remove
    /// Drawbridge from the list. Does nothing if the client has no list.
    fn change_tool_allow_list(
        &mut self,
        client: &Client,
        machine: &Machine,
        config: &ConfigFile,
        change: AllowListChange,
    ) -> Result<(), PlanError> {
        let Some(allow_list) = &client.tool_allow_list else {
            return Ok(());
        };
        let path = (allow_list.file)(machine, &config.path);
        let source = PlannedSource::read(&path, Format::Jsonc, "")?;
        let list: Vec<String> = allow_list
            .path
            .iter()
            .map(|key| (*key).to_owned())
            .collect();
        let text = allow_list.element.to_owned();
        let add = Edit::AddText {
            list: list.clone(),
            text: text.clone(),
        };
        let remove = Edit::RemoveText { list, text };
        let (edit, reverse) = match change {
            AllowListChange::Add => (add, remove),
            AllowListChange::Remove => (remove, add),
        };
        self.add(
            source,
            Edits {
                edits: vec![edit],
                reverse: vec![reverse],
            },
        )
    }

    /// Adds the changes of another plan, which must not change the same files.
    pub fn extend(&mut self, other: Self) {
        self.files.extend(other.files);
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the differences in all files.
    pub fn diffs(&self) -> Vec<FileDiff> {
        let text =
            |bytes: &[u8]| Source::decode(bytes).map_or_else(String::new, |source| source.text);
        self.files
            .iter()
            .map(|file| FileDiff {
                path: file.path.clone(),
                is_new: file.before.is_none(),
                diff: unified_diff(
                    file.format,
                    &text(file.before.as_deref().unwrap_or_default()),
                    &text(&file.after),
                ),
            })
            .collect()
    }

    /// Returns the SHA-256 over all files before and after the changes, in hex. This digest
    /// identifies the plan to which a person agrees.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        for file in &self.files {
            add(file.target.as_os_str().as_encoded_bytes());
            add(&[u8::from(file.before.is_some())]);
            add(file.before.as_deref().unwrap_or_default());
            add(&file.after);
        }
        hex::encode(hasher.finalize())
    }

    /// Checks that each file is still as the plan has read it, and can be written.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written, or has changed.
    pub fn check_files(&self) -> Result<(), PlanError> {
        for file in &self.files {
            file::check_writable(&file.target)?;
            file::check_unchanged(&file.target, file.before.as_deref())?;
        }
        Ok(())
    }

    /// Makes the changes, and keeps in `backups` a copy of each file that existed. `agreed` is the
    /// digest of the plan that a person has seen.
    ///
    /// # Errors
    /// Returns an error if `agreed` is not the digest of this plan, or if a file cannot be copied
    /// or written, or is not as the plan has read it. The files that were changed until then are
    /// restored, if possible.
    pub fn apply(&self, backups: &dyn Backups, agreed: &str) -> Result<Receipt, PlanError> {
        if self.digest() != agreed {
            return Err(PlanError::Outdated);
        }
        for file in &self.files {
            file::check_writable(&file.target)?;
        }
        let mut receipt = Receipt::default();
        for file in &self.files {
            match file.apply(backups) {
                Ok(changed) => receipt.files.push(changed),
                Err(error) => {
                    // A file that cannot be restored stays as the plan wrote it, with its backup.
                    receipt.undo(backups);
                    return Err(error);
                }
            }
        }
        Ok(receipt)
    }

    /// Adds the change of a file, unless the edits change nothing.
    fn add(
        &mut self,
        source: PlannedSource,
        Edits { edits, mut reverse }: Edits,
    ) -> Result<(), PlanError> {
        reverse.reverse();
        let PlannedSource {
            path,
            target,
            format,
            bytes,
            source,
            root,
        } = source;
        let mut changed = root.clone();
        let is_changed = edits.iter().any(|edit| {
            let before = changed.clone();
            !edit.apply(&mut changed) || changed != before
        });
        if !is_changed {
            return Ok(());
        }
        let edited = format
            .edit(&source.text, &edits)
            .map_err(|source| PlanError::Edit {
                path: path.clone(),
                source,
            })?;
        self.files.push(PlannedFile {
            after: source.encode(&edited),
            path,
            target,
            format,
            before: bytes,
            reverse,
        });
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum AllowListChange {
    Add,
    Remove,
}

/// The changes of one file, in the order in which they are made, and for each the change that
/// undoes it.
#[derive(Default)]
struct Edits {
    edits: Vec<Edit>,
    reverse: Vec<Edit>,
}

impl Edits {
    fn add(&mut self, edit: Edit, reverse: Edit) {
        self.edits.push(edit);
        self.reverse.push(reverse);
    }

    /// Adds Drawbridge's entry, or changes the entry that already leads to Drawbridge. Returns an
    /// error if another server has the name of Drawbridge's entry.
    fn set_own_entry(
        &mut self,
        source: &PlannedSource,
        client: &Client,
        connection: &Connection,
        entry: Entry,
    ) -> Result<(), PlanError> {
        let container = client.container();
        let own_entry = find_own_entry(&source.root, &container, connection)
            .map_err(|()| PlanError::NameTaken(source.path.clone()))?;
        let name = own_entry
            .as_ref()
            .map_or(SERVER_NAME, |own| own.name.as_str());
        let mut entry = entry.named(name, &container);
        if let Some(own) = &own_entry {
            entry = entry.merged_into(&own.value);
        }
        let name = name.to_owned();
        let set = Edit::SetEntry {
            container: container.clone(),
            name: name.clone(),
            entry,
        };
        let reverse = match &own_entry {
            Some(own) => Edit::SetEntry {
                container,
                name,
                entry: Entry::from_value(&own.value),
            },
            None => Edit::RemoveEntry { container, name },
        };
        self.add(set, reverse);
        Ok(())
    }

    /// Removes the entry at these keys from the root. Does nothing if the entry is missing.
    fn remove_entry(&mut self, root: &serde_json::Value, client: &Client, keys: &[String]) {
        let Some((name, path)) = keys.split_last() else {
            return;
        };
        let container = Container {
            path: path.to_vec(),
            is_list: client.is_list,
        };
        let entries = container.entries(root);
        let Some((_, value)) = entries.into_iter().find(|(other, _)| other == name) else {
            return;
        };
        let restore = Edit::SetEntry {
            container: container.clone(),
            name: name.clone(),
            entry: Entry::from_value(value),
        };
        let remove = Edit::RemoveEntry {
            container,
            name: name.clone(),
        };
        self.add(remove, restore);
    }
}

/// A file that a plan changes, as it was before the change.
struct PlannedSource {
    path: PathBuf,
    target: PathBuf,
    format: Format,
    /// `None` if there is no file yet.
    bytes: Option<Vec<u8>>,
    source: Source,
    root: serde_json::Value,
}

impl PlannedSource {
    /// Reads a file. A file that does not exist counts as having the text `new_file`.
    fn read(path: &Path, format: Format, new_file: &str) -> Result<Self, PlanError> {
        let target = file::follow_links(path)?;
        let bytes = file::read(&target)?;
        let source = Source::decode(bytes.as_deref().unwrap_or(new_file.as_bytes()))
            .ok_or_else(|| PlanError::NotText(path.to_owned()))?;
        let root = format
            .parse(&source.text)
            .map_err(|source| PlanError::Edit {
                path: path.to_owned(),
                source: source.into(),
            })?;
        Ok(Self {
            path: path.to_owned(),
            target,
            format,
            bytes,
            source,
            root,
        })
    }
}

fn check_unambiguous(config: &ConfigFile) -> Result<(), PlanError> {
    match &config.conflict {
        Some(other) => Err(PlanError::Ambiguous(config.path.clone(), other.clone())),
        None => Ok(()),
    }
}

impl Entry {
    /// Adds the member `name` if the container is a list.
    fn named(mut self, name: &str, container: &Container) -> Self {
        if container.is_list {
            self.0.retain(|(member, _)| member != "name");
            self.0.insert(0, ("name".to_owned(), name.into()));
        }
        self
    }

    fn from_value(value: &serde_json::Value) -> Self {
        let members = value.as_object().into_iter().flatten();
        Self(
            members
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    }

    /// Returns the entry with the further members of the old entry, which the person added. Drops
    /// the old members that belong to a transport, or that enable or disable the entry.
    fn merged_into(self, old: &serde_json::Value) -> Self {
        const TRANSPORT: [&str; 13] = [
            "type",
            "transport",
            "command",
            "cmd",
            "args",
            "url",
            "serverUrl",
            "httpUrl",
            "uri",
            "headers",
            "http_headers",
            "requestOptions",
            "source",
        ];
        let is_kept = |name: &str| {
            !TRANSPORT.contains(&name)
                && !["enabled", "disabled"].contains(&name)
                && self.0.iter().all(|(member, _)| member != name)
        };
        let kept: Vec<_> = Self::from_value(old)
            .0
            .into_iter()
            .filter(|(name, _)| is_kept(name))
            .collect();
        let mut merged = self;
        merged.0.extend(kept);
        merged
    }
}

#[cfg(test)]
mod tests;
