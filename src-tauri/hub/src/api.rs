//! The verbs: everything that a person can do with a hub, as a closed list of typed requests and
//! answers, one file per noun.
//!
//! The screens, the shell and the HTTP API all use this list. The desktop app runs a verb on the
//! hub in its own process ([`Verb::run`]). The command line and a remote app send the verb's name
//! and parameters to `POST /api/verbs/{name}`, which runs it with [`dispatch`].

pub mod approvals;
pub mod audit;
#[cfg(test)]
mod bindings;
pub mod calls;
pub mod clients;
pub mod drawbridge;
pub mod error;
pub mod health;
pub mod logs;
pub mod policy;
pub mod profiles;
pub mod screens;
pub mod secrets;
pub mod servers;
pub mod settings;
pub mod tools;

use std::future::Future;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

pub use error::{ApiError, ErrorCode};

use crate::hub::Hub;

/// A request that a person can make of the hub. Its fields are its parameters.
pub trait Verb: Serialize + DeserializeOwned + Send + 'static {
    /// `noun.verb`, as sent over HTTP. The Tauri command has `_` instead of the dot.
    const NAME: &'static str;
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    fn run(self, hub: &Hub) -> impl Future<Output = Result<Self::Answer, ApiError>> + Send;
}

/// The answer of a verb that returns nothing if it succeeds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Done {}

macro_rules! verbs {
    ($($verb:ty),+ $(,)?) => {
        /// The names of all verbs.
        pub const NAMES: &[&str] = &[$(<$verb as Verb>::NAME),+];

        /// Runs the verb called `name` and returns its answer as JSON.
        ///
        /// # Errors
        /// Returns an error if `name` is not in [`NAMES`] (`not_found`), if `params` does not fit
        /// the verb (`invalid`), or if the verb itself fails.
        pub async fn dispatch(hub: &Hub, name: &str, params: &[u8]) -> Result<Box<RawValue>, ApiError> {
            $(
                if name == <$verb as Verb>::NAME {
                    return answer(parse::<$verb>(params)?.run(hub).await?);
                }
            )+
            Err(ApiError::not_found(format!("there is no verb '{name}'")))
        }

        #[cfg(test)]
        fn for_each_verb(visitor: &mut impl bindings::VerbVisitor) {
            $( visitor.verb::<$verb>(); )+
        }
    };
}

verbs! {
    approvals::ListApprovals,
    approvals::ShowApproval,
    approvals::DecideApproval,
    approvals::ListMissed,
    approvals::AllowRetry,
    approvals::PreviewVerdict,
    audit::VerifyAudit,
    audit::ExportAudit,
    calls::ListCalls,
    calls::ShowCall,
    clients::ListClients,
    clients::AddClient,
    clients::RevokeClient,
    drawbridge::ShowDrawbridge,
    drawbridge::PauseCalls,
    drawbridge::ResumeCalls,
    health::ShowHealth,
    logs::ListLogs,
    policy::ListPolicy,
    policy::SetPolicy,
    policy::RemovePolicy,
    policy::SetDefaultPolicy,
    policy::SaveRule,
    policy::DeleteRule,
    policy::PreviewRule,
    policy::ExportPolicy,
    policy::ImportPolicy,
    policy::ApplyPreset,
    policy::ShowPolicyStats,
    profiles::ListProfiles,
    profiles::PutProfile,
    profiles::RemoveProfile,
    profiles::AssignProfile,
    screens::OpenScreen,
    secrets::ListSecrets,
    secrets::SetSecret,
    secrets::RemoveSecret,
    servers::ListServers,
    servers::ShowServer,
    servers::AddServer,
    servers::UpdateServer,
    servers::RemoveServer,
    servers::EnableServer,
    servers::AcceptServer,
    servers::VerifyServer,
    servers::VerifySpec,
    servers::SyncServer,
    servers::RestartServer,
    servers::ReadSpecs,
    servers::ShowUsage,
    servers::ShowCapabilities,
    servers::ShowToolHistory,
    servers::AcceptTools,
    servers::ReadManifest,
    servers::FillManifest,
    servers::ListPresets,
    servers::CheckRuntimes,
    servers::SignInServer,
    servers::AwaitSignIn,
    servers::CancelSignIn,
    servers::SignOutServer,
    settings::ShowSettings,
    settings::ChangeSettings,
    tools::ListTools,
    tools::ExportTools,
    tools::CallTool,
}

fn parse<V: Verb>(params: &[u8]) -> Result<V, ApiError> {
    let params = if params.is_empty() { b"{}" } else { params };
    serde_json::from_slice(params).map_err(|e| ApiError::invalid(format!("{}: {e}", V::NAME)))
}

fn answer<A: Serialize>(answer: A) -> Result<Box<RawValue>, ApiError> {
    serde_json::value::to_raw_value(&answer).map_err(|e| ApiError::internal(e.to_string()))
}
