//! The error of a verb, with its closed list of codes.

use drawbridge_model::memory::MemoryError;
use drawbridge_store::{JournalError, StoreError, data_dir::DataDirError, secrets::SecretError};
use drawbridge_upstream::{UpstreamError, oauth::OauthError};
use serde::{Deserialize, Serialize};

use crate::{
    access::AccessError,
    catalog::{AcceptError, ProfileError, SyncError},
    clients::configs::ConfigError,
    hooks::HookError,
    pairing::UnknownPairing,
    policy::{DecideError, PolicyError, QueueError, RuleError, VerdictError},
    registry::{RegistryError, official::OfficialRegistryError},
};

/// The kind of a failure. A program may branch on the code, never on the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The parameters are wrong; the message says why.
    Invalid,
    /// Nothing has this name or id.
    NotFound,
    /// The request conflicts with the current state: for example, a name is taken, or a request is
    /// decided already.
    Conflict,
    /// The caller may not do this.
    Forbidden,
    /// A dependency is unavailable, such as a server, the secret store, the disk or the hub.
    Unavailable,
    /// The request took longer than its timeout.
    Timeout,
    /// An internal fault of Drawbridge.
    Internal,
}

/// Why a verb failed: a code for programs and a message for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[error("{message}")]
pub struct ApiError {
    pub code: ErrorCode,
    pub message: String,
}

impl ApiError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Invalid, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Conflict, message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Unavailable, message)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message)
    }
}

impl From<DataDirError> for ApiError {
    fn from(error: DataDirError) -> Self {
        let code = match error {
            DataDirError::InUse { .. } => ErrorCode::Conflict,
            DataDirError::Io { .. } | DataDirError::Replace { .. } => ErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::unavailable(error.to_string())
    }
}

impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> Self {
        Self::unavailable(error.to_string())
    }
}

impl From<ConfigError> for ApiError {
    fn from(error: ConfigError) -> Self {
        let code = match &error {
            ConfigError::Plan(_) | ConfigError::AlreadyUndone(_) | ConfigError::NotManaged(_) => {
                ErrorCode::Conflict
            }
            ConfigError::UnknownPreview
            | ConfigError::UnknownChange(_)
            | ConfigError::NothingToUndo(_)
            | ConfigError::NoImport => ErrorCode::NotFound,
            ConfigError::Key(_) | ConfigError::Backup(_) | ConfigError::Store(_) => {
                ErrorCode::Unavailable
            }
            ConfigError::WrongPreview | ConfigError::RestoreNeedsToken => ErrorCode::Invalid,
            ConfigError::TaskFailed => ErrorCode::Internal,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RegistryError> for ApiError {
    fn from(error: RegistryError) -> Self {
        let code = match &error {
            RegistryError::BadName
            | RegistryError::NothingToGrant { .. }
            | RegistryError::Spec(_) => ErrorCode::Invalid,
            RegistryError::Taken(_)
            | RegistryError::BuiltInId(_)
            | RegistryError::BuiltIn(_)
            | RegistryError::LookAlike { .. }
            | RegistryError::MayNotRun(_)
            | RegistryError::NotGranted { .. }
            | RegistryError::Overwritten(_) => ErrorCode::Conflict,
            RegistryError::Unknown(_) => ErrorCode::NotFound,
            RegistryError::Io { .. } | RegistryError::Store(_) => ErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<OfficialRegistryError> for ApiError {
    fn from(error: OfficialRegistryError) -> Self {
        let code = match &error {
            OfficialRegistryError::Off => ErrorCode::Conflict,
            OfficialRegistryError::Unknown(_) => ErrorCode::NotFound,
            OfficialRegistryError::Manifest { .. } => ErrorCode::Invalid,
            OfficialRegistryError::Download { .. }
            | OfficialRegistryError::Page { .. }
            | OfficialRegistryError::Store(_) => ErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        let code = match &error {
            AccessError::BadName | AccessError::BadUser | AccessError::ShortToken(_) => {
                ErrorCode::Invalid
            }
            AccessError::NameTaken(_) | AccessError::TokenTaken | AccessError::NoToken(_) => {
                ErrorCode::Conflict
            }
            AccessError::Unknown(_) => ErrorCode::NotFound,
            AccessError::Revoked(_) => ErrorCode::Forbidden,
            AccessError::Store(_) => ErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<UnknownPairing> for ApiError {
    fn from(error: UnknownPairing) -> Self {
        Self::conflict(error.to_string())
    }
}

impl From<MemoryError> for ApiError {
    fn from(error: MemoryError) -> Self {
        let code = match &error {
            MemoryError::Full(_) => ErrorCode::Conflict,
            MemoryError::Empty
            | MemoryError::TooLong(_)
            | MemoryError::BadLabel { .. }
            | MemoryError::TooManyTags(_) => ErrorCode::Invalid,
        };
        Self::new(code, error.to_string())
    }
}

impl From<QueueError> for ApiError {
    fn from(error: QueueError) -> Self {
        Self::conflict(error.to_string())
    }
}

impl From<DecideError> for ApiError {
    fn from(error: DecideError) -> Self {
        let code = match &error {
            DecideError::Queue(_)
            | DecideError::Verdict(VerdictError::DeniedByRule { .. } | VerdictError::ToolChanged) => {
                ErrorCode::Conflict
            }
            DecideError::Verdict(_) => ErrorCode::Invalid,
            DecideError::NotRecorded(_) => ErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<PolicyError> for ApiError {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Invalid(_) | PolicyError::File(_) | PolicyError::InvalidInFile { .. } => {
                Self::invalid(error.to_string())
            }
            PolicyError::NoSuchRule(_) | PolicyError::NoRuleInScope => {
                Self::not_found(error.to_string())
            }
            PolicyError::Server(error) => error.into(),
            PolicyError::Rule(error) => error.into(),
            PolicyError::Store(error) => error.into(),
        }
    }
}

impl From<RuleError> for ApiError {
    fn from(error: RuleError) -> Self {
        let code = match error {
            RuleError::Condition(_) => ErrorCode::Invalid,
            RuleError::Journal(_) | RuleError::Store(_) => ErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<SecretError> for ApiError {
    fn from(error: SecretError) -> Self {
        Self::unavailable(format!("{error}. {}", error.remedy()))
    }
}

impl From<UpstreamError> for ApiError {
    fn from(error: UpstreamError) -> Self {
        let code = if matches!(error, UpstreamError::TimedOut(_)) {
            ErrorCode::Timeout
        } else {
            ErrorCode::Unavailable
        };
        Self::new(code, format!("{error}. {}", error.remedy()))
    }
}

impl From<OauthError> for ApiError {
    fn from(error: OauthError) -> Self {
        match error {
            OauthError::NotPossible(reason) => Self::conflict(reason.to_string()),
            OauthError::Secret(error) => error.into(),
            OauthError::Failed(_) => Self::unavailable(error.to_string()),
        }
    }
}

impl From<AcceptError> for ApiError {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::NoLongerOffered(_) | AcceptError::Flagged(..) => {
                Self::conflict(error.to_string())
            }
            AcceptError::Store(error) => error.into(),
        }
    }
}

impl From<ProfileError> for ApiError {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::BadName | ProfileError::BadFolder(_) => Self::invalid(error.to_string()),
            ProfileError::FolderTaken { .. } => Self::conflict(error.to_string()),
            ProfileError::Unknown(_) => Self::not_found(error.to_string()),
            ProfileError::Store(error) => error.into(),
        }
    }
}

impl From<HookError> for ApiError {
    fn from(error: HookError) -> Self {
        let code = match error {
            HookError::BadName
            | HookError::NoEvent
            | HookError::CannotBlock(_)
            | HookError::ToolOfServerEvent
            | HookError::Timeout(_)
            | HookError::NoProgram
            | HookError::TooLong
            | HookError::BadVariable(_)
            | HookError::Webhook(_)
            | HookError::ReservedSecret(_) => ErrorCode::Invalid,
            HookError::NameTaken(_) | HookError::TooMany | HookError::Unreadable(_) => {
                ErrorCode::Conflict
            }
            HookError::Unknown(_) => ErrorCode::NotFound,
            HookError::Store(_) => ErrorCode::Unavailable,
        };
        Self::new(code, error.to_string())
    }
}

impl From<SyncError> for ApiError {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Upstream(error) => error.into(),
            SyncError::Refused { .. }
            | SyncError::Unreadable { .. }
            | SyncError::Endless
            | SyncError::NotRunnable(_)
            | SyncError::SpecChanging
            | SyncError::FailedRecently
            | SyncError::Store(_) => Self::unavailable(error.to_string()),
        }
    }
}
