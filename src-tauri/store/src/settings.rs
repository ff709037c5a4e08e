//! The user's settings, in memory and in the store.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use drawbridge_model::{
    allowed_host::AllowedHost,
    builtin::BuiltIn,
    ids::Timestamp,
    policy::{DefaultEffects, Effect, RequestKind},
    shared_folder::SharedFolder,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::watch;

use crate::{Store, StoreError, table::setting::StoredSetting};

/// The base URL of the official registry of the MCP project.
pub const OFFICIAL_REGISTRY_URL: &str = "https://registry.modelcontextprotocol.io";

/// The value of a setting, and the form in which it is stored.
trait SettingValue: Sized {
    type Stored: Serialize + DeserializeOwned;

    fn to_stored(&self) -> Self::Stored;
    fn from_stored(stored: Self::Stored) -> Self;
}

/// Declares that a type is stored as it is.
macro_rules! stored_as_it_is {
    ($($type:ty)*) => {$(
        impl SettingValue for $type {
            type Stored = Self;

            fn to_stored(&self) -> Self {
                Clone::clone(self)
            }

            fn from_stored(stored: Self) -> Self {
                stored
            }
        }
    )*};
}

stored_as_it_is!(Effect bool Option<bool> Option<Timestamp> String u16 u32 Vec<AllowedHost> Vec<SharedFolder> Vec<String>);

/// Header names and their values, which must not be secrets themselves.
impl SettingValue for BTreeMap<String, String> {
    type Stored = Self;

    fn to_stored(&self) -> Self {
        self.clone()
    }

    fn from_stored(stored: Self) -> Self {
        stored
    }
}

/// A duration is stored in whole seconds.
impl SettingValue for Duration {
    type Stored = u64;

    fn to_stored(&self) -> u64 {
        self.as_secs()
    }

    fn from_stored(seconds: u64) -> Self {
        Self::from_secs(seconds)
    }
}

/// A setting that was changed, with its values as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingDifference {
    #[serde(rename = "setting")]
    pub name: &'static str,
    pub old: serde_json::Value,
    pub new: serde_json::Value,
}

/// Declares each setting once: its type, its default, and the name under which it is stored.
macro_rules! settings {
    ($($(#[$comment:meta])* $setting:ident: $type:ty = $default:expr, stored as $name:literal;)+) => {
        /// The settings of a hub.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct SettingsValues {
            $($(#[$comment])* pub $setting: $type,)+
        }

        impl Default for SettingsValues {
            fn default() -> Self {
                Self {
                    $($setting: $default,)+
                }
            }
        }

        /// New values of settings. A setting that is `None` stays as it is, so that two changes at
        /// the same time do not undo each other.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct SettingsChange {
            $(pub $setting: Option<$type>,)+
        }

        impl SettingsValues {
            /// The names under which the settings are stored.
            pub(crate) const STORED_NAMES: &[&str] = &[$($name),+];

            async fn load(store: &Store) -> Result<Self, StoreError> {
                let mut values = Self::default();
                $(if let Some(stored) = store.json_setting($name).await? {
                    values.$setting = SettingValue::from_stored(stored);
                })+
                Ok(values)
            }

            /// Returns the settings that differ in `new`.
            fn differences(&self, new: &Self) -> Vec<SettingDifference> {
                let mut differences = Vec::new();
                $(if self.$setting != new.$setting {
                    differences.push(SettingDifference {
                        name: $name,
                        old: to_value(&self.$setting.to_stored()),
                        new: to_value(&new.$setting.to_stored()),
                    });
                })+
                differences
            }

            fn apply(&mut self, change: SettingsChange) {
                $(if let Some(new) = change.$setting {
                    self.$setting = new;
                })+
            }
        }

        impl SettingsChange {
            /// Returns the changed settings as they are stored.
            fn stored(&self) -> Vec<StoredSetting> {
                let settings = [$(
                    ($name, self.$setting.as_ref().map(|value| to_json(&value.to_stored()))),
                )+];
                settings
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)))
                    .collect()
            }
        }
    };
}

settings! {
    /// The effect on requests about tools that no rule matches. The next settings are the effects
    /// on the other kinds of requests.
    default_tools: Effect = DefaultEffects::default().tools, stored as "default_policy";
    default_prompts: Effect = DefaultEffects::default().prompts, stored as "default_prompts";
    default_resources: Effect = DefaultEffects::default().resources, stored as "default_resources";
    default_sampling: Effect = DefaultEffects::default().sampling, stored as "default_sampling";
    default_elicitation: Effect = DefaultEffects::default().elicitation, stored as "default_elicitation";
    default_roots: Effect = DefaultEffects::default().roots, stored as "default_roots";
    /// How long a person has to decide. Common clients give up after 60 s.
    approval_timeout: Duration = Duration::from_secs(50), stored as "approval_timeout_s";
    /// How long the catalog's copy of a server counts as fresh.
    cache_ttl: Duration = Duration::from_secs(300), stored as "cache_ttl_s";
    /// Whether all calls are paused.
    paused: bool = false, stored as "paused";
    /// When calls resume by themselves, or `None` if a person has to resume them.
    paused_until: Option<Timestamp> = None, stored as "paused_until";
    /// The https URL of a document that describes this program to authorization servers, or an
    /// empty string for none.
    oauth_client_metadata_url: String = String::new(), stored as "oauth_client_metadata_url";
    /// How many days calls and audit entries are kept, or 0 to keep them for ever.
    audit_retention_days: u32 = 90, stored as "audit_retention_days";
    /// How many MiB calls and audit entries may take in the database, or 0 for no limit.
    records_max_mib: u32 = 2_048, stored as "records_max_mib";
    /// Whether the results of calls are kept.
    keep_results: bool = false, stored as "keep_results";
    /// How many KiB of a result are kept.
    kept_result_kib: u32 = 64, stored as "kept_result_kib";
    /// How many days results are kept.
    kept_results_days: u32 = 7, stored as "kept_results_days";
    /// How many days log files are kept, or 0 to keep them for ever.
    log_retention_days: u32 = 7, stored as "log_retention_days";
    /// How many MiB all log files may take, or 0 for no limit.
    logs_max_mib: u32 = 100, stored as "logs_max_mib";
    /// The URL to which traces are sent (OTLP over HTTP), or an empty string for none.
    otlp_endpoint: String = String::new(), stored as "otlp_endpoint";
    /// The headers of the requests that send traces. A value may contain `${keyring:otlp.NAME}`.
    otlp_headers: BTreeMap<String, String> = BTreeMap::new(), stored as "otlp_headers";
    /// Whether traces contain arguments and results.
    otlp_content: bool = false, stored as "otlp_content";
    /// The port to which clients connect.
    port: u16 = 8765, stored as "port";
    /// The hosts, besides this computer's own, under which the endpoint answers.
    allowed_hosts: Vec<AllowedHost> = Vec::new(), stored as "allowed_hosts";
    /// Whether a person enabled or disabled the built-in memory server; `None` if nobody chose.
    memory_enabled: Option<bool> = None, stored as "memory_enabled";
    /// Like `memory_enabled`, for the built-in server that shares folders.
    folders_enabled: Option<bool> = None, stored as "folders_enabled";
    /// Like `memory_enabled`, for the built-in server that converts documents.
    docling_enabled: Option<bool> = None, stored as "docling_enabled";
    /// The folders that the built-in server `folders` shares.
    shared_folders: Vec<SharedFolder> = Vec::new(), stored as "shared_folders";
    /// Whether the sampling provider answers in place of clients, if one is set up.
    sampling_enabled: bool = true, stored as "sampling_enabled";
    /// The base URL of the sampling provider, without a slash at its end; empty for none.
    sampling_url: String = String::new(), stored as "sampling_url";
    /// The models that servers may use, the default model first.
    sampling_models: Vec<String> = Vec::new(), stored as "sampling_models";
    /// Whether the secret store has a key for the provider. If not, Drawbridge does not look for a
    /// key.
    sampling_has_key: bool = false, stored as "sampling_has_key";
    /// Whether the models get the images of servers' sampling requests.
    sampling_images: bool = false, stored as "sampling_images";
    /// Whether the models get the tools of servers' sampling requests.
    sampling_tools: bool = true, stored as "sampling_tools";
    /// How long the provider may be silent.
    sampling_timeout: Duration = Duration::from_secs(60), stored as "sampling_timeout_s";
    /// The most requests to the provider in a day, or 0 for no limit.
    sampling_requests_per_day: u32 = 100, stored as "sampling_requests_per_day";
    /// The most tokens of the provider in a day, or 0 for no limit.
    sampling_tokens_per_day: u32 = 200_000, stored as "sampling_tokens_per_day";
    /// Whether Drawbridge asks a person for the input that a server requests if the client cannot
    /// ask.
    elicitation_forms: bool = true, stored as "elicitation_forms";
    /// The base URL of the official registry, without a slash at its end; empty to turn it off.
    official_registry_url: String = OFFICIAL_REGISTRY_URL.to_owned(), stored as "official_registry_url";
    /// The folders that servers get as roots if the client has none, as `file://` URLs.
    roots: Vec<String> = Vec::new(), stored as "roots";
}

impl SettingsValues {
    /// Returns whether a person enabled or disabled a built-in server, or `None` if nobody chose.
    pub fn enabled_choice(&self, built_in: BuiltIn) -> Option<bool> {
        match built_in {
            BuiltIn::Memory => self.memory_enabled,
            BuiltIn::Folders => self.folders_enabled,
            BuiltIn::Docling => self.docling_enabled,
        }
    }

    /// Returns the effect on requests that no rule matches, for each kind.
    pub fn default_effects(&self) -> DefaultEffects {
        DefaultEffects {
            tools: self.default_tools,
            prompts: self.default_prompts,
            resources: self.default_resources,
            sampling: self.default_sampling,
            elicitation: self.default_elicitation,
            roots: self.default_roots,
        }
    }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a setting is plain data")
}

fn to_value(value: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(value).expect("a setting is plain data")
}

impl SettingsChange {
    /// Returns the change that sets the effect on requests of one kind that no rule matches.
    pub fn default_effect(kind: RequestKind, effect: Effect) -> Self {
        let mut change = Self::default();
        let default = match kind {
            RequestKind::Tools => &mut change.default_tools,
            RequestKind::Prompts => &mut change.default_prompts,
            RequestKind::Resources => &mut change.default_resources,
            RequestKind::Sampling => &mut change.default_sampling,
            RequestKind::Elicitation => &mut change.default_elicitation,
            RequestKind::Roots => &mut change.default_roots,
        };
        *default = Some(effect);
        change
    }

    /// Returns the change that sets the effects on requests of every kind that no rule matches.
    pub fn default_effects(effects: DefaultEffects) -> Self {
        Self {
            default_tools: Some(effects.tools),
            default_prompts: Some(effects.prompts),
            default_resources: Some(effects.resources),
            default_sampling: Some(effects.sampling),
            default_elicitation: Some(effects.elicitation),
            default_roots: Some(effects.roots),
            ..Self::default()
        }
    }

    /// Returns the change that enables or disables a built-in server.
    pub fn built_in_enabled(built_in: BuiltIn, enabled: bool) -> Self {
        let mut change = Self::default();
        match built_in {
            BuiltIn::Memory => change.memory_enabled = Some(Some(enabled)),
            BuiltIn::Folders => change.folders_enabled = Some(Some(enabled)),
            BuiltIn::Docling => change.docling_enabled = Some(Some(enabled)),
        }
        change
    }

    /// Returns the change that pauses all calls, until a moment or until a person resumes them.
    pub fn pause(until: Option<Timestamp>) -> Self {
        Self {
            paused: Some(true),
            paused_until: Some(until),
            ..Self::default()
        }
    }

    /// Returns the change that resumes calls.
    pub fn resume() -> Self {
        Self {
            paused: Some(false),
            paused_until: Some(None),
            ..Self::default()
        }
    }
}

/// The settings, readable without waiting. Cheap to clone.
#[derive(Clone)]
pub struct Settings {
    store: Store,
    values: Arc<ArcSwap<SettingsValues>>,
    changes: watch::Sender<()>,
    /// Held while a change is written, so that memory and store get the changes in the same order.
    write_lock: Arc<tokio::sync::Mutex<()>>,
}

impl Settings {
    /// Reads the settings. A missing setting has its default.
    ///
    /// # Errors
    /// Returns an error if the store, or a stored value, cannot be read.
    pub async fn load(store: Store) -> Result<Self, StoreError> {
        let values = SettingsValues::load(&store).await?;
        Ok(Self {
            store,
            values: Arc::new(ArcSwap::from_pointee(values)),
            changes: watch::Sender::default(),
            write_lock: Arc::default(),
        })
    }

    /// Returns how many bytes of a result are kept, or `None` if results are not kept.
    pub fn result_limit(&self) -> Option<usize> {
        let values = self.values.load();
        values
            .keep_results
            .then_some(values.kept_result_kib as usize * 1_024)
    }

    /// Returns the values, which are shared: a call reads some of them several times.
    pub fn get(&self) -> Arc<SettingsValues> {
        self.values.load_full()
    }

    /// Writes the settings that `change` names, and no others, in one transaction. Returns the
    /// settings whose values differ from before.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written. Nothing is changed then.
    pub async fn change(
        &self,
        change: SettingsChange,
    ) -> Result<Vec<SettingDifference>, StoreError> {
        let write =
            |settings: Vec<StoredSetting>| async move { self.store.set_settings(&settings).await };
        self.change_with(change, write).await
    }

    /// Changes settings together with other rows: `write` gets the settings as they are stored, and
    /// writes them and the other rows in one transaction. Returns the settings whose values differ
    /// from before.
    ///
    /// # Errors
    /// Returns the error of `write`. The settings in memory then stay as they are.
    pub async fn change_with<E, F: Future<Output = Result<(), E>>>(
        &self,
        change: SettingsChange,
        write: impl FnOnce(Vec<StoredSetting>) -> F,
    ) -> Result<Vec<SettingDifference>, E> {
        let _one_at_a_time = self.write_lock.lock().await;
        self.write_change(change, write).await
    }

    /// Changes settings to values that depend on the present values. Returns the settings whose
    /// values differ from before.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written. Nothing is changed then.
    pub async fn update(
        &self,
        change: impl FnOnce(&SettingsValues) -> SettingsChange,
    ) -> Result<Vec<SettingDifference>, StoreError> {
        let _one_at_a_time = self.write_lock.lock().await;
        let write =
            |settings: Vec<StoredSetting>| async move { self.store.set_settings(&settings).await };
        self.write_change(change(&self.get()), write).await
    }

    /// Writes a change. The caller holds [`Self::write_lock`].
    async fn write_change<E, F: Future<Output = Result<(), E>>>(
        &self,
        change: SettingsChange,
        write: impl FnOnce(Vec<StoredSetting>) -> F,
    ) -> Result<Vec<SettingDifference>, E> {
        write(change.stored()).await?;
        let before = self.get();
        let mut values = SettingsValues::clone(&before);
        values.apply(change);
        let differences = before.differences(&values);
        self.values.store(Arc::new(values));
        self.changes.send_replace(());
        Ok(differences)
    }

    /// Returns a receiver that is notified of each later change.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }
}
