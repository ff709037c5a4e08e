//! Secrets: values in the OS keyring, referred to as `${keyring:NAME}`. The only code that
//! names keyring. A value leaves this room only into a server's environment or headers.

mod in_memory;
mod keyring;
mod long;
mod reference;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};

use crate::model::secret::KeyringStatus;

pub use in_memory::InMemory;
pub use keyring::Keyring;
pub use reference::{names, reference};

/// How the names of what Drawbridge keeps for itself begin: no spec may refer to it, no person sets it.
pub const OWN: &str = "oauth:";

/// How long a keyring may take before it counts as locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// A secret's value. It has no Debug and no Serialize, and is wiped when dropped.
pub struct Secret(String);

impl Secret {
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

/// Why a secret cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("the keyring holds no secret named '{0}'")]
    Missing(String),
    #[error("the keyring is locked")]
    Locked,
    #[error("there is no keyring: {0}")]
    Absent(String),
}

impl SecretError {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Missing(name) => format!("Put it there: edit the server, or run `drawbridge secrets set {name}`."),
            Self::Locked => "Unlock the keyring (log in to your desktop session), then restart the server.".into(),
            Self::Absent(_) => {
                "Start a keyring that offers the Secret Service, such as gnome-keyring or KWallet.".into()
            }
        }
    }
}

/// Where secrets are kept. Calls block; [`Secrets`] bounds them.
pub trait SecretStore: Send + Sync + 'static {
    fn get(&self, name: &str) -> Result<Option<Secret>, SecretError>;
    fn set(&self, name: &str, value: &Secret) -> Result<(), SecretError>;
    fn remove(&self, name: &str) -> Result<(), SecretError>;
    fn status(&self) -> KeyringStatus;
}

/// The secrets of this hub. Cheap to clone.
#[derive(Clone)]
pub struct Secrets {
    questions: mpsc::Sender<Question>,
    stuck: Arc<AtomicBool>,
}

impl Secrets {
    pub fn new(store: impl SecretStore) -> Self {
        let (questions, asked) = mpsc::channel();
        std::thread::spawn(move || answer(&store, &asked));
        Self { questions, stuck: Arc::default() }
    }

    pub async fn get(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        let name = name.to_owned();
        self.bounded(move |store| store.get(&name)).await
    }

    pub async fn set(&self, name: &str, value: Secret) -> Result<(), SecretError> {
        let name = name.to_owned();
        self.bounded(move |store| store.set(&name, &value)).await
    }

    pub async fn remove(&self, name: &str) -> Result<(), SecretError> {
        let name = name.to_owned();
        self.bounded(move |store| store.remove(&name)).await
    }

    pub async fn status(&self) -> KeyringStatus {
        self.bounded(|store| Ok(store.status())).await.unwrap_or(KeyringStatus::Locked)
    }

    /// Puts the secrets in the place of their references. The second value holds every secret that was put in,
    /// for the log to mask.
    ///
    /// # Errors
    /// Where one of them cannot be had.
    pub async fn resolve(
        &self,
        values: &BTreeMap<String, String>,
    ) -> Result<(BTreeMap<String, String>, Vec<Secret>), SecretError> {
        let mut resolved = BTreeMap::new();
        let mut used = Vec::new();
        for (key, text) in values {
            let mut text = text.clone();
            for name in names(&text) {
                let secret = if name.starts_with(OWN) { None } else { self.get(&name).await? };
                let secret = secret.ok_or_else(|| SecretError::Missing(name.clone()))?;
                text = text.replace(&reference(&name), secret.expose());
                used.push(secret);
            }
            resolved.insert(key.clone(), text);
        }
        Ok((resolved, used))
    }

    /// The keyring blocks, perhaps for ever, and its own runtime must not run inside ours: it is asked on one thread
    /// of its own. While a question is stuck there, further ones are answered at once.
    async fn bounded<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn SecretStore) -> Result<T, SecretError> + Send + 'static,
    ) -> Result<T, SecretError> {
        if self.stuck.load(Ordering::Relaxed) {
            return Err(SecretError::Locked);
        }
        let (answer, answered) = oneshot::channel();
        let stuck = self.stuck.clone();
        let question: Question = Box::new(move |store| {
            let _ = answer.send(ask(store));
            stuck.store(false, Ordering::Relaxed);
        });
        let gone = || SecretError::Absent("its thread has ended".into());
        self.questions.send(question).map_err(|_| gone())?;
        match timeout(PATIENCE, answered).await {
            Ok(answer) => answer.map_err(|_| gone())?,
            Err(_) => {
                self.stuck.store(true, Ordering::Relaxed);
                Err(SecretError::Locked)
            }
        }
    }
}

type Question = Box<dyn FnOnce(&dyn SecretStore) + Send>;

fn answer(store: &dyn SecretStore, questions: &mpsc::Receiver<Question>) {
    while let Ok(question) = questions.recv() {
        question(store);
    }
}

#[cfg(test)]
mod tests;
