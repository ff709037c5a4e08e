//! Profiles: which servers and tools a client sees. A client to which no profile applies sees all
//! of them. A profile may belong to a project folder; it then also applies to the clients that work
//! there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use drawbridge_model::{
    capability::CapabilityKind,
    event::{Event, Events},
    ids::{ClientName, ServerId},
    names::is_valid_label,
    profile::Profile,
};
use drawbridge_sessions::ClientScope;
use drawbridge_store::{Store, StoreError, table::profile::ProfileRow};

/// All profiles, and their assignment to clients. Cheap to clone.
#[derive(Clone)]
pub struct Profiles {
    store: Store,
    events: Events,
    table: Arc<ArcSwap<ProfileTable>>,
    write_lock: Arc<tokio::sync::Mutex<()>>,
    /// Stands for a profile that was removed: its clients see nothing.
    nothing: Arc<Profile>,
}

#[derive(Default)]
struct ProfileTable {
    profiles: BTreeMap<String, Arc<Profile>>,
    /// The name of the profile that each client was given, or `None` if that profile was removed.
    by_client: BTreeMap<ClientName, Option<String>>,
}

/// The profiles that apply to a client: its own profile, and the profile of the project folder. The
/// client sees only servers and tools that each of these profiles contains.
#[derive(Debug, Clone, Default)]
pub struct AppliedProfiles(Vec<Arc<Profile>>);

/// The reason why a profile was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error(
        "a profile's name must have 1 to 64 characters, without control characters, and without white space at its beginning or end"
    )]
    BadName,
    #[error(
        "a profile's folder must be an absolute path without '..' and control characters, not '{0}'"
    )]
    BadFolder(String),
    #[error("the profile '{profile}' already belongs to the folder {folder}")]
    FolderTaken { folder: String, profile: String },
    #[error("there is no profile '{0}'")]
    Unknown(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Profiles {
    /// Reads the profiles.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn load(store: Store, events: Events) -> Result<Self, StoreError> {
        let table = Arc::new(ArcSwap::from_pointee(read_profiles(&store).await?));
        Ok(Self {
            store,
            events,
            table,
            write_lock: Arc::default(),
            nothing: Arc::new(Profile {
                name: String::new(),
                servers: BTreeMap::new(),
                folder: None,
            }),
        })
    }

    pub fn all(&self) -> Vec<Arc<Profile>> {
        self.table.load().profiles.values().cloned().collect()
    }

    /// Checks that there is a profile with this name.
    ///
    /// # Errors
    /// Returns an error if there is no such profile.
    pub fn check_known(&self, name: &str) -> Result<(), ProfileError> {
        if self.table.load().profiles.contains_key(name) {
            Ok(())
        } else {
            Err(ProfileError::Unknown(name.to_owned()))
        }
    }

    /// Returns the profile of a client, if it has one.
    pub fn client_profile(&self, client: &ClientName) -> Option<Arc<Profile>> {
        let table = self.table.load();
        let name = table.by_client.get(client)?.as_ref()?;
        table.profiles.get(name).cloned()
    }

    /// Returns whether the profile of a client was removed. The client then sees nothing until a
    /// person chooses another profile, or no profile, for the client.
    pub fn has_removed_profile(&self, client: &ClientName) -> bool {
        let table = self.table.load();
        table.assigned(client, &self.nothing) == Some(&self.nothing)
    }

    /// Returns the profiles that apply to a client in a scope.
    pub fn in_scope(&self, client: &ClientName, scope: &ClientScope) -> AppliedProfiles {
        let table = self.table.load();
        let own = table.assigned(client, &self.nothing);
        let project = scope.project.as_deref();
        let project = project.and_then(|folder| table.find_by_folder(folder));
        let mut applied: Vec<_> = [own, project].into_iter().flatten().cloned().collect();
        applied.dedup_by(|left, right| Arc::ptr_eq(left, right));
        AppliedProfiles(applied)
    }

    /// Returns the project folder that contains `folder`: the longest folder that belongs to a
    /// profile.
    pub fn project_folder(&self, folder: &Path) -> Option<PathBuf> {
        let table = self.table.load();
        let profile = table.find_by_folder(folder)?;
        profile.folder.as_ref().map(PathBuf::from)
    }

    /// Writes a profile. Replaces the profile with the same name, if there is one.
    ///
    /// # Errors
    /// Returns an error if the name or the folder is invalid, if another profile has the folder, or
    /// if the store cannot be used.
    pub async fn save_profile(&self, mut profile: Profile) -> Result<(), ProfileError> {
        check_name(&profile.name)?;
        profile.folder = profile.folder.as_deref().map(check_folder).transpose()?;
        let _guard = self.write_lock.lock().await;
        let has_same_folder = |other: &&Arc<Profile>| {
            other.name != profile.name && other.folder.is_some() && other.folder == profile.folder
        };
        if let Some(other) = self.table.load().profiles.values().find(has_same_folder) {
            return Err(ProfileError::FolderTaken {
                folder: profile.folder.unwrap_or_default(),
                profile: other.name.clone(),
            });
        }
        let servers =
            serde_json::to_string(&profile.servers).expect("lists of ids can be written as JSON");
        let row = ProfileRow {
            name: profile.name,
            servers,
            folder: profile.folder,
        };
        self.store.put_profile(&row).await?;
        self.reload().await
    }

    /// Removes a profile. Its clients then see nothing until a person chooses another profile, or
    /// no profile, for them: a client never sees more because a profile was removed.
    ///
    /// # Errors
    /// Returns an error if there is no profile with this name, or if the store cannot be written.
    pub async fn remove(&self, name: &str) -> Result<(), ProfileError> {
        let _guard = self.write_lock.lock().await;
        if !self.store.remove_profile(name).await? {
            return Err(ProfileError::Unknown(name.to_owned()));
        }
        self.reload().await
    }

    /// Assigns a profile to a client, or removes the client's profile.
    ///
    /// # Errors
    /// Returns an error if there is no profile with this name, or if the store cannot be written.
    pub async fn assign(
        &self,
        client: &ClientName,
        profile: Option<&str>,
    ) -> Result<(), ProfileError> {
        let _guard = self.write_lock.lock().await;
        if let Some(name) = profile.filter(|name| !self.table.load().profiles.contains_key(*name)) {
            return Err(ProfileError::Unknown(name.to_owned()));
        }
        self.store.set_client_profile(client, profile).await?;
        self.reload().await
    }

    async fn reload(&self) -> Result<(), ProfileError> {
        self.table
            .store(Arc::new(read_profiles(&self.store).await?));
        self.events.publish(Event::ProfilesChanged);
        Ok(())
    }
}

impl ProfileTable {
    /// Returns the profile that a client was given, or `nothing` if that profile was removed.
    fn assigned<'a>(
        &'a self,
        client: &ClientName,
        nothing: &'a Arc<Profile>,
    ) -> Option<&'a Arc<Profile>> {
        let name = self.by_client.get(client)?.as_ref();
        Some(
            name.and_then(|name| self.profiles.get(name))
                .unwrap_or(nothing),
        )
    }

    /// Returns the profile of the longest project folder that contains a folder.
    fn find_by_folder(&self, folder: &Path) -> Option<&Arc<Profile>> {
        let contains = |profile: &&Arc<Profile>| {
            let project = profile.folder.as_ref();
            project.is_some_and(|project| folder.starts_with(project))
        };
        let depth = |profile: &&Arc<Profile>| {
            let project = profile.folder.as_ref();
            project.map_or(0, |project| Path::new(project).components().count())
        };
        self.profiles.values().filter(contains).max_by_key(depth)
    }
}

impl AppliedProfiles {
    /// Returns the profiles of a client to which only this profile applies.
    pub fn of(profile: &Arc<Profile>) -> Self {
        Self(vec![profile.clone()])
    }

    /// Returns whether no profile applies, so that the client sees everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|profile| profile.name.clone()).collect()
    }

    /// Returns whether the same versions of the same profiles apply.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self
                .0
                .iter()
                .zip(&other.0)
                .all(|(left, right)| Arc::ptr_eq(left, right))
    }

    pub fn permit_server(&self, server: &ServerId) -> bool {
        self.0.iter().all(|profile| profile.has_server(server))
    }

    /// Returns whether all profiles contain an entry of a server.
    pub(super) fn permit(&self, kind: CapabilityKind, server: &ServerId, name: &str) -> bool {
        match kind {
            CapabilityKind::Tools => self.0.iter().all(|profile| profile.has_tool(server, name)),
            CapabilityKind::Prompts | CapabilityKind::Resources | CapabilityKind::Templates => {
                self.permit_server(server)
            }
        }
    }
}

/// Checks a profile's name.
fn check_name(name: &str) -> Result<(), ProfileError> {
    is_valid_label(name)
        .then_some(())
        .ok_or(ProfileError::BadName)
}

/// Checks a profile's folder. Returns the folder without `.` components and trailing separators.
fn check_folder(folder: &str) -> Result<String, ProfileError> {
    let bad = || ProfileError::BadFolder(folder.to_owned());
    let path = Path::new(folder);
    let has_parents = path
        .components()
        .any(|component| component == std::path::Component::ParentDir);
    if !path.is_absolute() || has_parents || folder.chars().any(char::is_control) {
        return Err(bad());
    }
    let plain: PathBuf = path.components().collect();
    plain.to_str().map(str::to_owned).ok_or_else(bad)
}

async fn read_profiles(store: &Store) -> Result<ProfileTable, StoreError> {
    let profile = |row: ProfileRow| {
        let ProfileRow {
            name,
            servers,
            folder,
        } = row;
        // A profile that cannot be read shows nothing, because it must not show everything.
        let servers = serde_json::from_str(&servers).unwrap_or_else(|error| {
            tracing::error!("profile {name} hides all servers because it cannot be read: {error}");
            BTreeMap::default()
        });
        let profile = Profile {
            name: name.clone(),
            servers,
            folder,
        };
        (name, Arc::new(profile))
    };
    let profiles = store.profiles().await?.into_iter().map(profile).collect();
    Ok(ProfileTable {
        profiles,
        by_client: store.client_profiles().await?.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_valid_length_no_control_characters_and_no_white_space_at_its_ends() {
        for name in ["a", "my work", &"x".repeat(64)] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
        for name in ["", "  ", " a", "a ", " a ", "a\n", "a\tb", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
