//! Secrets: values in the OS keyring, referred to as `${keyring:NAME}`. The only code that
//! names keyring. A value leaves this room only into a server's environment or headers.

mod in_memory;
mod keyring;
mod long;
mod reference;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use crate::model::secret::KeyringStatus;

pub use in_memory::InMemory;
pub use keyring::Keyring;
pub use reference::{names, reference};

/// How the names of what Drawbridge keeps for itself begin: no spec may refer to it, no person sets it.
pub const OWN: &str = "oauth:";

/// The time after which a keyring that has not answered is asked whether it is locked.
const PATIENCE: Duration = Duration::from_secs(5);

/// The deadline for an answer of a keyring that is not locked but slow, as when many programs use it at once.
const LONGEST: Duration = Duration::from_secs(20);

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
    /// It is not locked as far as it says, and yet does not answer.
    #[error("the keyring did not answer in time")]
    Silent,
    #[error("the keyring cannot be used: {0}")]
    Absent(String),
}

impl SecretError {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Missing(name) => format!("Put it there: edit the server, or run `drawbridge secrets set {name}`."),
            Self::Locked => "Unlock the keyring (log in to your desktop session), then restart the server.".into(),
            Self::Silent => {
                "Answer the keyring's prompt if it shows one, or try again when it is less busy; then restart the \
                 server."
                    .into()
            }
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
    values: Asker,
    /// Asked on a thread of its own, so that it answers while a question about a value waits for a prompt.
    standing: Asker,
    stuck: Arc<Mutex<Option<Stuck>>>,
}

/// A question that the keyring has not answered in time. Others are refused while it keeps the thread.
struct Stuck {
    is_done: Arc<AtomicBool>,
    why: SecretError,
}

/// Says that a question was answered, or given up, when it is dropped.
struct Done(Arc<AtomicBool>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Secrets {
    pub fn new(store: impl SecretStore) -> Self {
        let store: Arc<dyn SecretStore> = Arc::new(store);
        Self {
            values: Asker::new(Arc::clone(&store)),
            standing: Asker::new(store),
            stuck: Arc::default(),
        }
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
        self.standing().await.unwrap_or(KeyringStatus::Absent)
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
                let secret = if name.starts_with(OWN) {
                    None
                } else {
                    self.get(&name).await?
                };
                let secret = secret.ok_or_else(|| SecretError::Missing(name.clone()))?;
                text = text.replace(&reference(&name), secret.expose());
                used.push(secret);
            }
            resolved.insert(key.clone(), text);
        }
        Ok((resolved, used))
    }

    /// Asks the keyring, which may block for ever, and whose own runtime must not run inside ours.
    ///
    /// # Errors
    /// Returns `Locked` or `Silent` if there is no answer in time, and at once while an earlier question is stuck.
    async fn bounded<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn SecretStore) -> Result<T, SecretError> + Send + 'static,
    ) -> Result<T, SecretError> {
        if let Some(why) = self.stuck() {
            return Err(why);
        }
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Done(Arc::clone(&is_done));
        let mut answered = self.values.ask(move |store| {
            let _done = done;
            ask(store)
        })?;
        let deadline = Instant::now() + LONGEST;
        let why = loop {
            match timeout(PATIENCE, &mut answered).await {
                Ok(answer) => return answer.map_err(|_| gone())?,
                Err(_) if self.standing().await == Some(KeyringStatus::Locked) => {
                    break SecretError::Locked;
                }
                Err(_) if Instant::now() < deadline => {}
                Err(_) => break SecretError::Silent,
            }
        };
        *self.stuck.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stuck {
            is_done,
            why: why.clone(),
        });
        Err(why)
    }

    /// Returns why the thread for values is stuck, if it is.
    fn stuck(&self) -> Option<SecretError> {
        let mut stuck = self.stuck.lock().unwrap_or_else(PoisonError::into_inner);
        stuck.take_if(|stuck| stuck.is_done.load(Ordering::Acquire));
        stuck.as_ref().map(|stuck| stuck.why.clone())
    }

    async fn standing(&self) -> Option<KeyringStatus> {
        let answered = self.standing.ask(|store| store.status()).ok()?;
        timeout(PATIENCE, answered).await.ok()?.ok()
    }
}

/// A thread on which the keyring is asked, one question after the other.
#[derive(Clone)]
struct Asker(mpsc::Sender<Question>);

type Question = Box<dyn FnOnce(&dyn SecretStore) + Send>;

impl Asker {
    fn new(store: Arc<dyn SecretStore>) -> Self {
        let (questions, asked) = mpsc::channel::<Question>();
        std::thread::spawn(move || {
            while let Ok(question) = asked.recv() {
                question(&*store);
            }
        });
        Self(questions)
    }

    fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn SecretStore) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, SecretError> {
        let (answer, answered) = oneshot::channel();
        let question: Question = Box::new(move |store| {
            // Nobody waits any more for the answer to a question that was given up.
            if !answer.is_closed() {
                let _ = answer.send(ask(store));
            }
        });
        self.0.send(question).map_err(|_| gone())?;
        Ok(answered)
    }
}

fn gone() -> SecretError {
    SecretError::Absent("the thread that asks it has ended".into())
}

#[cfg(test)]
mod tests;
