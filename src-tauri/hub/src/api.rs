//! The verbs: everything that a person can do with a hub, as a closed list of typed requests and
//! answers, one file per noun.
//!
//! The desktop app runs a verb on the hub in its own process ([`ListedVerb::run_boxed`]). The
//! command line, a browser and an app that shows a remote hub send the verb's name and parameters
//! to `POST /api/verbs/{name}`, and the hub runs the verb with [`dispatch`].

pub mod approvals;
pub mod audit;
#[cfg(test)]
pub(crate) mod audited;
pub mod backup;
#[cfg(test)]
mod bindings;
pub mod browsers;
pub mod bundles;
pub mod calls;
pub mod clients;
pub mod config;
pub mod doctor;
pub mod drawbridge;
pub mod folders;
pub mod health;
pub mod hooks;
pub mod logs;
pub mod memory;
pub mod metrics;
pub mod overview;
pub mod pairing;
pub mod policy;
pub mod profiles;
pub mod prompts;
pub mod registry;
pub mod resources;
pub mod sampling;
pub mod screens;
pub mod secrets;
pub mod servers;
pub mod settings;
pub mod tools;

use std::future::{Future, ready};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

pub use crate::error::{ApiError, ErrorCode};
use crate::hub::Hub;

/// A verb of the list below.
pub trait ListedVerb {
    /// `noun.verb`, as sent over HTTP. The Tauri command has `_` instead of the dot.
    const NAME: &'static str;

    /// Runs the verb, like [`Verb::run`]. Other crates use this function, because the compiler
    /// would compile the code behind [`Verb::run`] again for each crate that awaits it.
    fn run_boxed(self, hub: &Hub) -> BoxFuture<'_, Result<<Self as Verb>::Answer, ApiError>>
    where
        Self: Verb;
}

/// A request that a person can send to the hub. The fields of the type are its parameters.
pub trait Verb: ListedVerb + Serialize + DeserializeOwned + Send + 'static {
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    fn run(self, hub: &Hub) -> impl Future<Output = Result<Self::Answer, ApiError>> + Send;
}

/// The answer of a verb that returns nothing if it succeeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Done {}

macro_rules! verbs {
    ($($name:literal => $verb:ty),+ $(,)?) => {
        /// The names of all verbs.
        pub const NAMES: &[&str] = &[$($name),+];

        $(
            impl ListedVerb for $verb {
                const NAME: &'static str = $name;

                fn run_boxed(
                    self,
                    hub: &Hub,
                ) -> BoxFuture<'_, Result<<Self as Verb>::Answer, ApiError>> {
                    Box::pin(self.run(hub))
                }
            }
        )+

        /// Runs the verb called `name` and returns its answer as JSON.
        ///
        /// # Errors
        /// Returns an error if `name` is not in [`NAMES`] (`not_found`), if `params` does not fit
        /// the verb (`invalid`), or if the verb itself fails.
        pub fn dispatch<'a>(
            hub: &'a Hub,
            name: &str,
            params: &'a [u8],
        ) -> BoxFuture<'a, Result<Box<RawValue>, ApiError>> {
            match name {
                $($name => run_with_json::<$verb>(hub, params),)+
                _ => {
                    let error = ApiError::not_found(format!("there is no verb '{name}'"));
                    Box::pin(ready(Err(error)))
                }
            }
        }

        #[cfg(test)]
        fn for_each_verb(visitor: &mut impl bindings::VerbVisitor) {
            $( visitor.visit_verb::<$verb>(); )+
        }
    };
}

// The only list of the verbs. The build script of the desktop app reads the names from these lines
// and writes the permissions of the windows. `audited.rs` says which entries each verb leaves in
// the audit log.
verbs! {
    "approvals.list" => approvals::ListApprovals,
    "approvals.show" => approvals::ShowApproval,
    "approvals.decide" => approvals::DecideApproval,
    "approvals.missed" => approvals::ListMissed,
    "approvals.allow_retry" => approvals::AllowRetry,
    "approvals.preview" => approvals::PreviewVerdict,
    "approvals.last_calls" => approvals::ListLastCalls,
    "approvals.open_url" => approvals::OpenApprovalUrl,
    "audit.verify" => audit::VerifyAudit,
    "audit.verify_call" => audit::VerifyCall,
    "audit.list" => audit::ListAudit,
    "audit.export" => audit::ExportAudit,
    "backup.list" => backup::ListBackups,
    "backup.create" => backup::CreateBackup,
    "backup.check" => backup::CheckBackup,
    "backup.restore" => backup::RestoreBackup,
    "backup.reset" => backup::ResetDataFolder,
    "backup.cancel" => backup::CancelReplacement,
    "browsers.list" => browsers::ListBrowsers,
    "browsers.sign_out" => browsers::SignOutBrowser,
    "browsers.sign_out_all" => browsers::SignOutAllBrowsers,
    "bundles.open" => bundles::OpenBundle,
    "bundles.add" => bundles::AddBundle,
    "calls.list" => calls::ListCalls,
    "calls.show" => calls::ShowCall,
    "calls.running" => calls::ListRunningCalls,
    "calls.cancel" => calls::CancelCall,
    "calls.stats" => calls::ShowCallStats,
    "clients.list" => clients::ListClients,
    "clients.add" => clients::AddClient,
    "clients.rotate" => clients::RotateClient,
    "clients.set_user" => clients::SetClientUser,
    "clients.limit" => clients::LimitClient,
    "clients.unmute" => clients::UnmuteClient,
    "clients.revoke" => clients::RevokeClient,
    "config.list" => config::ListConfigs,
    "config.show" => config::ShowConfig,
    "config.preview" => config::PreviewConfig,
    "config.apply" => config::ApplyConfig,
    "config.undo" => config::UndoConfig,
    "config.set_restores" => config::SetRestores,
    "config.test" => config::entry::TestConfig,
    "config.try_tool" => config::entry::TryTool,
    "config.find_servers" => config::import::FindServers,
    "config.preview_import" => config::import::PreviewImport,
    "config.import" => config::import::ImportServers,
    "doctor.run" => doctor::RunDoctor,
    "doctor.bundle" => doctor::BundleDiagnostics,
    "drawbridge.show" => drawbridge::ShowDrawbridge,
    "drawbridge.pause" => drawbridge::PauseCalls,
    "drawbridge.resume" => drawbridge::ResumeCalls,
    "folders.list" => folders::ListFolders,
    "folders.add" => folders::AddFolder,
    "folders.remove" => folders::RemoveFolder,
    "health.show" => health::ShowHealth,
    "hooks.list" => hooks::ListHooks,
    "hooks.add" => hooks::AddHook,
    "hooks.edit" => hooks::EditHook,
    "hooks.remove" => hooks::RemoveHook,
    "hooks.enable" => hooks::EnableHook,
    "hooks.disable" => hooks::DisableHook,
    "hooks.reorder" => hooks::ReorderHook,
    "hooks.try" => hooks::TryHook,
    "hooks.log" => hooks::ListHookRuns,
    "hooks.samples" => hooks::ListHookSamples,
    "logs.list" => logs::ListLogs,
    "memory.list" => memory::ListMemory,
    "memory.categories" => memory::ListMemoryCategories,
    "memory.show" => memory::ShowMemory,
    "memory.add" => memory::AddMemory,
    "memory.edit" => memory::EditMemory,
    "memory.delete" => memory::DeleteMemory,
    "overview.show" => overview::ShowOverview,
    "pairing.list" => pairing::ListPairings,
    "pairing.answer" => pairing::AnswerPairing,
    "policy.list" => policy::ListPolicy,
    "policy.set" => policy::SetPolicy,
    "policy.remove" => policy::RemovePolicy,
    "policy.set_default" => policy::SetDefaultPolicy,
    "policy.save" => policy::SaveRule,
    "policy.delete_rule" => policy::DeleteRule,
    "policy.enable_rule" => policy::EnableRule,
    "policy.disable_rule" => policy::DisableRule,
    "policy.check_rule" => policy::CheckRule,
    "policy.preview" => policy::PreviewRule,
    "policy.export" => policy::ExportPolicy,
    "policy.import" => policy::ImportPolicy,
    "policy.apply_preset" => policy::ApplyPreset,
    "policy.stats" => policy::ShowPolicyStats,
    "profiles.list" => profiles::ListProfiles,
    "profiles.put" => profiles::PutProfile,
    "profiles.remove" => profiles::RemoveProfile,
    "profiles.assign" => profiles::AssignProfile,
    "registry.search" => registry::SearchRegistry,
    "registry.show" => registry::ShowPublishedServer,
    "registry.refresh" => registry::RefreshRegistry,
    "prompts.get" => prompts::GetPrompt,
    "resources.read" => resources::ReadResource,
    "sampling.show" => sampling::ShowSampling,
    "sampling.change" => sampling::ChangeSampling,
    "sampling.check" => sampling::CheckSampling,
    "screens.open" => screens::OpenScreen,
    "screens.check_code" => screens::CheckCode,
    "secrets.list" => secrets::ListSecrets,
    "secrets.set" => secrets::SetSecret,
    "secrets.remove" => secrets::RemoveSecret,
    "secrets.rename" => secrets::RenameSecret,
    "secrets.show_store" => secrets::store::ShowSecretStore,
    "secrets.use_store" => secrets::store::UseSecretStore,
    "secrets.unlock" => secrets::store::UnlockSecrets,
    "servers.list" => servers::ListServers,
    "servers.show" => servers::ShowServer,
    "servers.add" => servers::AddServer,
    "servers.update" => servers::UpdateServer,
    "servers.remove" => servers::RemoveServer,
    "servers.enable" => servers::EnableServer,
    "servers.pin" => servers::PinServer,
    "servers.move_literals" => servers::MoveLiterals,
    "servers.accept" => servers::AcceptServer,
    "servers.verify" => servers::VerifyServer,
    "servers.verify_spec" => servers::VerifySpec,
    "servers.sync" => servers::SyncServer,
    "servers.restart" => servers::RestartServer,
    "servers.record" => servers::RecordServer,
    "servers.access_report" => servers::ShowAccessReport,
    "servers.read_specs" => servers::ReadSpecs,
    "servers.check_spec" => servers::CheckSpec,
    "servers.preflight" => servers::CheckServer,
    "servers.usage" => servers::ShowUsage,
    "servers.capabilities" => servers::ShowCapabilities,
    "servers.definition_history" => servers::ShowDefinitionHistory,
    "servers.accept_definitions" => servers::AcceptDefinitions,
    "servers.read_manifest" => servers::ReadManifest,
    "servers.fill_manifest" => servers::FillManifest,
    "servers.presets" => servers::ListPresets,
    "servers.check_runtimes" => servers::CheckRuntimes,
    "servers.sign_in" => servers::SignInServer,
    "servers.await_sign_in" => servers::AwaitSignIn,
    "servers.cancel_sign_in" => servers::CancelSignIn,
    "servers.sign_out" => servers::SignOutServer,
    "settings.show" => settings::ShowSettings,
    "settings.change" => settings::ChangeSettings,
    "tools.list" => tools::ListTools,
    "tools.schema" => tools::ShowToolSchema,
    "tools.export" => tools::ExportTools,
    "tools.call" => tools::CallTool,
}

fn run_with_json<'a, V: Verb>(
    hub: &'a Hub,
    params: &'a [u8],
) -> BoxFuture<'a, Result<Box<RawValue>, ApiError>> {
    Box::pin(async move {
        let params = if params.is_empty() { b"{}" } else { params };
        let verb = serde_json::from_slice::<V>(params)
            .map_err(|e| ApiError::invalid(format!("{}: {e}", V::NAME)))?;
        answer_to_json(verb.run_boxed(hub).await?)
    })
}

fn answer_to_json<A: Serialize>(answer: A) -> Result<Box<RawValue>, ApiError> {
    serde_json::value::to_raw_value(&answer).map_err(|e| ApiError::internal(e.to_string()))
}

/// Runs `work`, which may wait for the disk, on a blocking thread.
async fn on_blocking_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ApiError::internal(error.to_string()))?
}

#[cfg(test)]
mod tests;
