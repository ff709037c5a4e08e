//! Profiles: which servers and tools a client sees. A client without a profile sees all.

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;
use drawbridge_model::{
    event::{Event, Events},
    ids::ClientName,
    profile::Profile,
};
use drawbridge_store::{Store, StoreError};

/// All profiles, and their assignment to clients. Cheap to clone.
#[derive(Clone)]
pub struct Profiles {
    store: Store,
    events: Events,
    table: Arc<ArcSwap<ProfileTable>>,
    write_lock: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct ProfileTable {
    profiles: BTreeMap<String, Arc<Profile>>,
    by_client: BTreeMap<ClientName, String>,
}

/// The reason why a profile was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("a profile's name must have 1 to 64 characters and no control characters")]
    BadName,
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
        })
    }

    pub fn all(&self) -> Vec<Arc<Profile>> {
        self.table.load().profiles.values().cloned().collect()
    }

    /// Returns the profile of a client, if it has one.
    pub fn client_profile(&self, client: &ClientName) -> Option<Arc<Profile>> {
        let table = self.table.load();
        table.profiles.get(table.by_client.get(client)?).cloned()
    }

    /// Writes a profile, and replaces one with the same name.
    ///
    /// # Errors
    /// Returns an error if the name is invalid, or if the store cannot be written. Nothing has
    /// changed then.
    pub async fn save_profile(&self, profile: Profile) -> Result<(), ProfileError> {
        let length = profile.name.trim().chars().count();
        if !(1..=64).contains(&length) || profile.name.chars().any(char::is_control) {
            return Err(ProfileError::BadName);
        }
        let _guard = self.write_lock.lock().await;
        let servers =
            serde_json::to_string(&profile.servers).expect("lists of ids can be written as JSON");
        self.store.put_profile(&profile.name, &servers).await?;
        self.reload().await
    }

    /// Removes a profile. Its clients then see everything again.
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

async fn read_profiles(store: &Store) -> Result<ProfileTable, StoreError> {
    let profile = |(name, servers): (String, String)| {
        // A profile that cannot be read shows nothing, because it must not show everything.
        let servers = serde_json::from_str(&servers).unwrap_or_else(|error| {
            tracing::error!("profile {name} hides all servers because it cannot be read: {error}");
            BTreeMap::default()
        });
        (name.clone(), Arc::new(Profile { name, servers }))
    };
    let profiles = store.profiles().await?.into_iter().map(profile).collect();
    Ok(ProfileTable {
        profiles,
        by_client: store.client_profiles().await?.into_iter().collect(),
    })
}
