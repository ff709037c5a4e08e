//! Secrets: values in the OS keyring or, if a person chose it, in an encrypted file. A spec refers
//! to a stored secret as `${keyring:NAME}`, to a variable of Drawbridge's environment as
//! `${env:NAME}`, and to the output of a command as `${command:…}`. Only this module uses the
//! `keyring` and `age` crates.

mod encrypted_file;
mod external;
mod in_memory;
mod keyring;
mod long_values;
mod moving;
mod reference;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use drawbridge_model::{
    cause::{Cause, MapText},
    ids::ServerId,
    reference::{Part, Reference, split_references},
    secret::{SecretStoreKind, SecretStoreStatus},
};
use tokio::{
    sync::{RwLock, oneshot},
    time::{Instant, timeout},
};

pub use encrypted_file::{EncryptedFile, FileError, KeySource, NewKey};
pub use external::SecretCommands;
pub use in_memory::InMemory;
pub use keyring::Keyring;
pub use moving::{MoveError, MovedSecrets, StoredName};
pub use reference::{
    SecretScope, external_references, format_reference, is_own_secret, referenced_names,
};

/// The prefix of the names of the secrets that hold OAuth tokens and client registrations.
pub const OAUTH_PREFIX: &str = "oauth:";

/// The name of the secret that holds the key for the encrypted copies of clients' files.
pub const BACKUP_KEY: &str = "drawbridge:backup-key";

/// Returns whether Drawbridge uses this name for itself. No spec may refer to this name, and no
/// person can set a secret of this name.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with(OAUTH_PREFIX) || name.starts_with("drawbridge:")
}

/// How long a thread for a store waits for its next request before it ends.
const IDLE_THREAD: Duration = Duration::from_secs(10);

/// How often Drawbridge checks whether a keyring that does not answer is locked. Also the timeout
/// of that check.
const LOCK_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The timeout for an answer of a keyring that is slow but not locked, for example because many
/// programs use it at once.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The value of a secret. The type has no `Debug` and no `Serialize`, and zeroes its memory on
/// drop.
pub struct Secret(String);

impl Secret {
    pub fn new(value: String) -> Self {
        Self(value)
    }

    /// Returns the value. Call this only at the place that uses the value.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

/// The reason why a secret cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error("There is no secret named '{0}'")]
    Missing(String),
    /// The secret belongs to another server, and no person granted it.
    #[error("The server may not use the secret '{name}', because nobody granted it to '{server}'")]
    NotGranted { name: String, server: ServerId },
    #[error("The keyring is locked")]
    Locked,
    /// The store does not report that it is locked, and yet does not answer.
    #[error("The secret store did not answer in time")]
    NoAnswer,
    #[error("The value is longer than {max} characters, the most that Drawbridge stores")]
    TooLong { max: usize },
    #[error("The keyring cannot be used: {0}")]
    Unavailable(#[source] KeyringFailure),
    #[error("Drawbridge's thread for the secret store has ended")]
    ThreadEnded,
    /// The key of the encrypted file is not known.
    #[error("The encrypted file of the secrets is locked{}", format_reason(.reason.as_ref()))]
    FileLocked { reason: Option<Cause> },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("The variable '{0}' is not set in the environment of Drawbridge")]
    MissingVariable(String),
    #[error("A spec may not refer to the variable '{0}', because Drawbridge uses it for itself")]
    ReservedVariable(String),
    /// Nobody has accepted a spec of the server that refers to this secret.
    #[error(
        "The server '{server}' may not use {reference}, because its current spec is not accepted"
    )]
    NotAccepted { reference: String, server: ServerId },
    #[error("The command '{program}' did not print the secret: {source}")]
    Command { program: String, source: Cause },
}

fn format_reason(reason: Option<&Cause>) -> String {
    reason.map_or(String::new(), |reason| format!(": {reason}"))
}

/// Why the keyring cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringFailure {
    #[error("no keyring is running")]
    Absent,
    #[error("the value was not stored")]
    NotStored,
    #[error("{source}")]
    Failed { source: Cause },
}

impl SecretError {
    /// Returns advice for the user.
    pub fn remedy(&self) -> String {
        match self {
            Self::Missing(name) => {
                format!("Set the secret: edit the server, or run `drawbridge secrets set {name}`.")
            }
            Self::NotGranted { name, server } => format!(
                "Grant the secret: accept the server on its page, or with \
                 `drawbridge servers accept {server} --grant-secret {name}`. \
                 Or give the server a secret of its own: `{server}.NAME`."
            ),
            Self::Locked => "Unlock the keyring (log in to your desktop session), then restart the server.".into(),
            Self::NoAnswer => {
                "If the keyring shows a prompt, answer it. If not, try again later. Then restart the server."
                    .into()
            }
            Self::TooLong { .. } => "Use a shorter value.".into(),
            Self::Unavailable(_) => {
                "Start a keyring that supports the Secret Service, such as gnome-keyring or KWallet. On a machine \
                 without a keyring, choose an encrypted file: `drawbridge secrets use file --key-file PATH`."
                    .into()
            }
            Self::ThreadEnded => "Try again, or restart Drawbridge.".into(),
            Self::FileLocked { .. } => {
                "Run `drawbridge secrets unlock` and type the passphrase, or start Drawbridge with \
                 DRAWBRIDGE_SECRETS_KEY_FILE or DRAWBRIDGE_SECRETS_PASSPHRASE_FILE. Then restart the server."
                    .into()
            }
            Self::File(error) => error.remedy(),
            Self::MissingVariable(name) => {
                format!("Set {name}, and restart Drawbridge. Or store the value as a secret instead.")
            }
            Self::ReservedVariable(_) => "Use another variable.".into(),
            Self::NotAccepted { server, .. } => {
                format!("Accept the server on its page, or with `drawbridge servers accept {server}`.")
            }
            Self::Command { .. } => {
                "Run the command in a terminal to see what is wrong. Then restart the server.".into()
            }
        }
    }

    /// Returns the error with the texts of other programs changed, for instance to mask secrets.
    #[must_use]
    pub fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Command { program, source } => Self::Command {
                program,
                source: source.map_text(change),
            },
            Self::Missing(_)
            | Self::NotGranted { .. }
            | Self::Locked
            | Self::NoAnswer
            | Self::TooLong { .. }
            | Self::Unavailable(_)
            | Self::ThreadEnded
            | Self::FileLocked { .. }
            | Self::File(_)
            | Self::MissingVariable(_)
            | Self::ReservedVariable(_)
            | Self::NotAccepted { .. } => self,
        }
    }

    /// Returns the state of a store that reports this error.
    pub fn status(&self) -> SecretStoreStatus {
        match self {
            Self::Locked | Self::FileLocked { .. } => SecretStoreStatus::Locked,
            Self::File(_) => SecretStoreStatus::Unusable,
            Self::Missing(_)
            | Self::NotGranted { .. }
            | Self::NoAnswer
            | Self::TooLong { .. }
            | Self::Unavailable(_)
            | Self::ThreadEnded
            | Self::MissingVariable(_)
            | Self::ReservedVariable(_)
            | Self::NotAccepted { .. }
            | Self::Command { .. } => SecretStoreStatus::Absent,
        }
    }
}

/// A secret store. Its methods may block; [`Secrets`] limits how long a caller waits.
pub trait SecretStore: Send + Sync + 'static {
    fn get(&self, name: &str) -> Result<Option<Secret>, SecretError>;
    fn set(&self, name: &str, value: &Secret) -> Result<(), SecretError>;
    fn remove(&self, name: &str) -> Result<(), SecretError>;

    /// Checks that secrets can be read.
    ///
    /// # Errors
    /// Returns an error if the secrets cannot be read.
    fn check(&self) -> Result<(), SecretError>;

    fn kind(&self) -> SecretStoreKind {
        SecretStoreKind::Keyring
    }

    /// Returns the names of all secrets, or `None` if the store cannot list them.
    ///
    /// # Errors
    /// Returns an error if the store cannot be used.
    fn list_names(&self) -> Result<Option<Vec<String>>, SecretError> {
        Ok(None)
    }
}

/// The secrets of this hub. Cheap to clone.
#[derive(Clone)]
pub struct Secrets {
    store: Arc<ArcSwap<StoreThreads>>,
    /// Locked for writing while the secrets move to another store, so that no change is lost.
    moving: Arc<RwLock<()>>,
    /// The path of the encrypted file, which may not exist. `None` if the secrets cannot move to
    /// another store.
    file: Option<Arc<Path>>,
    commands: Arc<dyn SecretCommands>,
}

/// A store, and the threads that use it.
struct StoreThreads {
    kind: SecretStoreKind,
    value_thread: StoreThread,
    /// A second thread, so that the status is available while a request for a value waits for a
    /// prompt.
    status_thread: StoreThread,
    stuck: Mutex<Option<Stuck>>,
}

/// A request that the store has not answered in time. Until it ends, other requests fail at once,
/// with the same error.
struct Stuck {
    is_done: Arc<AtomicBool>,
    error: SecretError,
}

/// A guard that marks a request as done when the guard is dropped: after the store's operation, or
/// when the thread skips or drops the request.
struct DoneGuard(Arc<AtomicBool>);

impl Drop for DoneGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Secrets {
    /// Returns the secrets of a data folder: the secrets in its encrypted file if it has one, and
    /// otherwise the secrets in the keyring.
    pub fn open(data_dir: &Path) -> Self {
        let path = EncryptedFile::path_in(data_dir);
        // If the file cannot be examined, it may exist, so the keyring must not replace it.
        let is_absent = std::fs::symlink_metadata(&path)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        let secrets = if is_absent {
            Self::new(Keyring)
        } else {
            Self::new(EncryptedFile::new(
                path.clone(),
                KeySource::from_environment(),
            ))
        };
        Self {
            file: Some(path.into()),
            ..secrets
        }
    }

    pub fn new(store: impl SecretStore) -> Self {
        Self {
            store: Arc::new(ArcSwap::from_pointee(StoreThreads::new(store))),
            moving: Arc::default(),
            file: None,
            commands: Arc::new(external::NoCommands),
        }
    }

    /// Returns these secrets, with `commands` to run the commands of `${command:…}`.
    #[must_use]
    pub fn with_commands(self, commands: Arc<dyn SecretCommands>) -> Self {
        Self { commands, ..self }
    }

    /// Returns these secrets for the start of one server: the output of each command is cached, so
    /// that a command that succeeds runs only once.
    #[must_use]
    pub fn with_command_cache(&self) -> Self {
        let commands = external::CachedCommands::new(self.commands.clone());
        self.clone().with_commands(Arc::new(commands))
    }

    pub async fn get(&self, name: &str) -> Result<Option<Secret>, SecretError> {
        let name = name.to_owned();
        self.read(move |store| store.get(&name)).await
    }

    pub async fn set(&self, name: &str, value: Secret) -> Result<(), SecretError> {
        let name = name.to_owned();
        self.write(move |store| store.set(&name, &value)).await
    }

    pub async fn remove(&self, name: &str) -> Result<(), SecretError> {
        let name = name.to_owned();
        self.write(move |store| store.remove(&name)).await
    }

    /// Checks that the secrets can be read.
    ///
    /// # Errors
    /// Returns an error if the secrets cannot be read.
    pub async fn check(&self) -> Result<(), SecretError> {
        let store = self.store.load_full();
        store.check().await
    }

    pub async fn status(&self) -> SecretStoreStatus {
        self.check()
            .await
            .map_or_else(|error| error.status(), |()| SecretStoreStatus::Ready)
    }

    /// Returns the kind of the secret store.
    pub fn kind(&self) -> SecretStoreKind {
        self.store.load().kind
    }

    /// Returns the path of the encrypted file, if it is in use.
    pub fn file(&self) -> Option<&Path> {
        self.file
            .as_deref()
            .filter(|_| self.kind() == SecretStoreKind::File)
    }

    async fn read<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&dyn SecretStore) -> Result<T, SecretError> + Send + 'static,
    ) -> Result<T, SecretError> {
        let store = self.store.load_full();
        store.run_with_deadline(operation).await
    }

    /// Runs a change. If the secrets are moving to another store, waits until they have moved.
    async fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&dyn SecretStore) -> Result<T, SecretError> + Send + 'static,
    ) -> Result<T, SecretError> {
        let _not_moving = self.moving.read().await;
        self.read(operation).await
    }

    /// Replaces each reference in the values with its secret. Also returns every secret that was
    /// used, so that the log can mask it.
    ///
    /// # Errors
    /// Returns an error if one of the secrets is outside the scope, is missing or cannot be read.
    pub async fn resolve(
        &self,
        values: &BTreeMap<String, String>,
        scope: &SecretScope,
    ) -> Result<(BTreeMap<String, String>, Vec<Secret>), SecretError> {
        let mut resolved = BTreeMap::new();
        let mut used = Vec::new();
        for (key, text) in values {
            let text = self
                .resolve_text(text, scope, str::to_owned, &mut used)
                .await?;
            resolved.insert(key.clone(), text);
        }
        Ok((resolved, used))
    }

    /// Replaces the references in arguments. See [`Self::resolve`].
    ///
    /// # Errors
    /// Returns an error if one of the secrets is outside the scope, is missing or cannot be read.
    pub async fn resolve_arguments(
        &self,
        arguments: &[String],
        scope: &SecretScope,
    ) -> Result<(Vec<String>, Vec<Secret>), SecretError> {
        let mut resolved = Vec::with_capacity(arguments.len());
        let mut used = Vec::new();
        for text in arguments {
            let text = self
                .resolve_text(text, scope, str::to_owned, &mut used)
                .await?;
            resolved.push(text);
        }
        Ok((resolved, used))
    }

    /// Replaces the references in a URL with the secrets, percent-encoded so that each secret stays
    /// one part of the URL. See [`Self::resolve`].
    ///
    /// # Errors
    /// Returns an error if one of the secrets is outside the scope, is missing or cannot be read.
    pub async fn resolve_url(
        &self,
        url: &str,
        scope: &SecretScope,
    ) -> Result<(String, Vec<Secret>), SecretError> {
        let mut used = Vec::new();
        let url = self
            .resolve_text(url, scope, reference::encode_for_url, &mut used)
            .await?;
        Ok((url, used))
    }

    async fn resolve_text(
        &self,
        text: &str,
        scope: &SecretScope,
        encode: fn(&str) -> String,
        used: &mut Vec<Secret>,
    ) -> Result<String, SecretError> {
        let mut resolved = String::new();
        for part in split_references(text) {
            let reference = match part {
                Part::Text(text) => {
                    resolved.push_str(text);
                    continue;
                }
                Part::Reference(reference, whole) => {
                    scope.check_reference(reference, whole)?;
                    reference
                }
            };
            let secret = match reference {
                Reference::Keyring(name) => self.get_referenced(name).await?,
                Reference::Env(name) => external::read_variable(name)?,
                Reference::Command(command) => self.commands.run(command).await?,
            };
            let encoded = encode(secret.expose());
            resolved.push_str(&encoded);
            if encoded != secret.expose() {
                used.push(Secret::new(encoded));
            }
            used.push(secret);
        }
        Ok(resolved)
    }

    async fn get_referenced(&self, name: &str) -> Result<Secret, SecretError> {
        let secret = if is_reserved(name) {
            None
        } else {
            self.get(name).await?
        };
        secret.ok_or_else(|| SecretError::Missing(name.to_owned()))
    }
}

impl StoreThreads {
    fn new(store: impl SecretStore) -> Self {
        let kind = store.kind();
        let store: Arc<dyn SecretStore> = Arc::new(store);
        Self {
            kind,
            value_thread: StoreThread::new(Arc::clone(&store)),
            status_thread: StoreThread::new(store),
            stuck: Mutex::default(),
        }
    }

    /// Runs `operation` on the thread for values, with a deadline. A keyring may block for ever,
    /// and the async runtime of its library must not run inside Drawbridge's.
    ///
    /// # Errors
    /// Returns `Locked` or `NoAnswer` if there is no answer in time, and at once while an earlier
    /// request is stuck.
    async fn run_with_deadline<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&dyn SecretStore) -> Result<T, SecretError> + Send + 'static,
    ) -> Result<T, SecretError> {
        if let Some(error) = self.stuck_reason() {
            return Err(error);
        }
        let is_done = Arc::new(AtomicBool::new(false));
        let done = DoneGuard(Arc::clone(&is_done));
        let mut answer = self.value_thread.send(move |store| {
            let _done = done;
            operation(store)
        })?;
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        let error = loop {
            match timeout(LOCK_CHECK_INTERVAL, &mut answer).await {
                Ok(answer) => return answer.map_err(|_| SecretError::ThreadEnded)?,
                Err(_) if self.check().await == Err(SecretError::Locked) => {
                    break SecretError::Locked;
                }
                Err(_) if Instant::now() < deadline => {}
                Err(_) => break SecretError::NoAnswer,
            }
        };
        *self.stuck.lock().unwrap_or_else(PoisonError::into_inner) = Some(Stuck {
            is_done,
            error: error.clone(),
        });
        Err(error)
    }

    /// Returns the reason why the thread for values is stuck, if it is.
    fn stuck_reason(&self) -> Option<SecretError> {
        let mut stuck = self.stuck.lock().unwrap_or_else(PoisonError::into_inner);
        stuck.take_if(|stuck| stuck.is_done.load(Ordering::Acquire));
        stuck.as_ref().map(|stuck| stuck.error.clone())
    }

    async fn check(&self) -> Result<(), SecretError> {
        let answer = self.status_thread.send(|store| store.check())?;
        match timeout(LOCK_CHECK_INTERVAL, answer).await {
            Ok(answer) => answer.map_err(|_| SecretError::ThreadEnded)?,
            Err(_) => Err(SecretError::NoAnswer),
        }
    }
}

/// A thread that runs requests to a store, one at a time. The thread ends after [`IDLE_THREAD`]
/// without a request.
struct StoreThread {
    store: Arc<dyn SecretStore>,
    /// The queue of the running thread.
    queue: Arc<Mutex<Option<mpsc::Sender<StoreRequest>>>>,
}

type StoreRequest = Box<dyn FnOnce(&dyn SecretStore) + Send>;

impl StoreThread {
    fn new(store: Arc<dyn SecretStore>) -> Self {
        Self {
            store,
            queue: Arc::default(),
        }
    }

    fn send<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&dyn SecretStore) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, SecretError> {
        let (sender, receiver) = oneshot::channel();
        let request: StoreRequest = Box::new(move |store| {
            // Skip a request that was abandoned: nobody waits for its answer.
            if !sender.is_closed() {
                let _ = sender.send(operation(store));
            }
        });
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let unsent = match &*queue {
            Some(sender) => sender.send(request).err().map(|error| error.0),
            None => Some(request),
        };
        if let Some(request) = unsent {
            *queue = Some(self.start(request)?);
        }
        Ok(receiver)
    }

    /// Starts the thread with its first request, and returns the queue for further requests.
    fn start(&self, first: StoreRequest) -> Result<mpsc::Sender<StoreRequest>, SecretError> {
        let (sender, requests) = mpsc::channel::<StoreRequest>();
        let (store, queue) = (Arc::clone(&self.store), Arc::clone(&self.queue));
        std::thread::Builder::new()
            .name("secret-store".to_owned())
            .spawn(move || {
                first(&*store);
                while let Some(request) = next_request(&requests, &queue, IDLE_THREAD) {
                    request(&*store);
                }
            })
            .map_err(|_| SecretError::ThreadEnded)?;
        Ok(sender)
    }
}

/// Waits for the next request. If no request arrives within `limit`, removes the queue and returns
/// `None`.
fn next_request(
    requests: &mpsc::Receiver<StoreRequest>,
    queue: &Mutex<Option<mpsc::Sender<StoreRequest>>>,
    limit: Duration,
) -> Option<StoreRequest> {
    if let Ok(request) = requests.recv_timeout(limit) {
        return Some(request);
    }
    // Requests are sent under this lock, so no request is sent between this check and the removal.
    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    let request = requests.try_recv().ok();
    if request.is_none() {
        *queue = None;
    }
    request
}

#[cfg(test)]
mod tests;
