//! Profiles: which servers and tools a client sees. A client without one sees all.

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;

use crate::{
    events::Events,
    model::{event::Event, ids::ClientName, profile::Profile},
    store::{Store, StoreError},
};

/// All profiles, and who has which. Cheap to clone.
#[derive(Clone)]
pub struct Profiles {
    store: Store,
    events: Events,
    known: Arc<ArcSwap<Known>>,
    changing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Known {
    profiles: BTreeMap<String, Arc<Profile>>,
    of_clients: BTreeMap<ClientName, String>,
}

/// Why a profile was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("a profile needs a name of 1 to 64 characters")]
    BadName,
    #[error("there is no profile '{0}'")]
    Unknown(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Profiles {
    /// # Errors
    /// Where the store cannot be read.
    pub async fn load(store: Store, events: Events) -> Result<Self, StoreError> {
        let known = Arc::new(ArcSwap::from_pointee(read(&store).await?));
        Ok(Self {
            store,
            events,
            known,
            changing: Arc::default(),
        })
    }

    pub fn all(&self) -> Vec<Arc<Profile>> {
        self.known.load().profiles.values().cloned().collect()
    }

    /// That of a client, where it has one.
    pub fn of(&self, client: &ClientName) -> Option<Arc<Profile>> {
        let known = self.known.load();
        known.profiles.get(known.of_clients.get(client)?).cloned()
    }

    /// Writes a profile, new or in place of the one of its name.
    ///
    /// # Errors
    /// Where its name cannot be, or it cannot be written; then nothing has changed.
    pub async fn put(&self, profile: Profile) -> Result<(), ProfileError> {
        let length = profile.name.trim().chars().count();
        if !(1..=64).contains(&length) || profile.name.chars().any(char::is_control) {
            return Err(ProfileError::BadName);
        }
        let _one_at_a_time = self.changing.lock().await;
        let servers = serde_json::to_string(&profile.servers).unwrap_or_default();
        self.store.put_profile(&profile.name, &servers).await?;
        self.reload().await
    }

    /// Removes a profile: clients that had it see all again.
    ///
    /// # Errors
    /// Where there is none of that name, or it cannot be removed.
    pub async fn remove(&self, name: &str) -> Result<(), ProfileError> {
        let _one_at_a_time = self.changing.lock().await;
        if !self.store.remove_profile(name).await? {
            return Err(ProfileError::Unknown(name.to_owned()));
        }
        self.reload().await
    }

    /// Gives a client a profile, or takes it away.
    ///
    /// # Errors
    /// Where there is none of that name, or it cannot be written.
    pub async fn assign(
        &self,
        client: &ClientName,
        profile: Option<&str>,
    ) -> Result<(), ProfileError> {
        let _one_at_a_time = self.changing.lock().await;
        if let Some(name) = profile.filter(|name| !self.known.load().profiles.contains_key(*name)) {
            return Err(ProfileError::Unknown(name.to_owned()));
        }
        self.store.set_client_profile(client, profile).await?;
        self.reload().await
    }

    async fn reload(&self) -> Result<(), ProfileError> {
        self.known.store(Arc::new(read(&self.store).await?));
        self.events.tell(Event::ProfilesChanged);
        Ok(())
    }
}

async fn read(store: &Store) -> Result<Known, StoreError> {
    let profile = |(name, servers): (String, String)| {
        // One that cannot be read shows nothing: it must not show all.
        let servers = serde_json::from_str(&servers).unwrap_or_default();
        (name.clone(), Arc::new(Profile { name, servers }))
    };
    let profiles = store.profiles().await?.into_iter().map(profile).collect();
    Ok(Known {
        profiles,
        of_clients: store.client_profiles().await?.into_iter().collect(),
    })
}
