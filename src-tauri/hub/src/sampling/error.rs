//! The reasons why a sampling request has no result, and the JSON-RPC error that the server gets.

use drawbridge_jsonrpc::{
    json,
    rpc::{RpcError, code},
};
use drawbridge_model::cause::MapText;
use drawbridge_store::{StoreError, secrets::SecretError};
use drawbridge_upstream::http::HttpError;
use serde_json::json;

use super::SamplingBudget;

/// The reason why a sampling request has no result.
#[derive(Debug, thiserror::Error)]
pub enum SamplingError {
    #[error("no sampling provider is set up")]
    NotSetUp,
    #[error("the params of the request cannot be read: {0}")]
    Params(#[from] serde_json::Error),
    #[error("'toolChoice' is 'required', but the request has no tools")]
    NoTools,
    #[error("the sampling provider gets no tools; the user has switched them off")]
    ToolsOff,
    #[error("the request to the sampling provider would have more than {0} bytes")]
    RequestTooLarge(usize),
    #[error("the sampling budget of today is spent ({}); it is reset at midnight UTC", describe_budget(.0))]
    BudgetSpent(SamplingBudget),
    #[error("the key of the sampling provider cannot be read: {0}")]
    Secret(#[from] SecretError),
    #[error("the key of the sampling provider has characters that HTTP does not allow")]
    Key,
    #[error("the use of the sampling provider cannot be read or recorded: {0}")]
    Store(#[from] StoreError),
    #[error("the sampling provider cannot be reached: {0}")]
    Unreachable(String),
    #[error("the connection to the sampling provider broke: {0}")]
    Broken(String),
    #[error("the sampling provider sent nothing for {0} s")]
    IdleTimeout(u64),
    #[error("the sampling provider did not finish within {0} s")]
    TotalTimeout(u64),
    #[error("the sampling provider's answer has more than {0} bytes")]
    AnswerTooLarge(usize),
    #[error("the sampling provider refused the request with status {status}{}", after_colon(.message))]
    Refused { status: u16, message: String },
    #[error("the sampling provider failed{}", after_colon(.0))]
    Failed(String),
    #[error("the sampling provider's answer cannot be read: {0}")]
    Malformed(&'static str),
    #[error("the model called no tool, although 'toolChoice' is 'required'")]
    NoToolCall,
    #[error("the model called a tool that the request does not have")]
    UnknownTool,
    #[error("the model called a tool with arguments that are not a JSON object")]
    ToolArguments,
}

impl SamplingError {
    /// Returns the error with `change` applied to the texts of the provider and of the connection,
    /// for instance to mask secrets.
    #[must_use]
    pub(super) fn map_text(self, change: MapText<'_>) -> Self {
        match self {
            Self::Unreachable(text) => Self::Unreachable(change(&text)),
            Self::Broken(text) => Self::Broken(change(&text)),
            Self::Refused { status, message } => Self::Refused {
                status,
                message: change(&message),
            },
            Self::Failed(text) => Self::Failed(change(&text)),
            other @ (Self::NotSetUp
            | Self::Params(_)
            | Self::NoTools
            | Self::ToolsOff
            | Self::RequestTooLarge(_)
            | Self::BudgetSpent(_)
            | Self::Secret(_)
            | Self::Key
            | Self::Store(_)
            | Self::IdleTimeout(_)
            | Self::TotalTimeout(_)
            | Self::AnswerTooLarge(_)
            | Self::Malformed(_)
            | Self::NoToolCall
            | Self::UnknownTool
            | Self::ToolArguments) => other,
        }
    }

    /// Returns the error for the server. Its `data` names the kind of failure, for programs.
    pub fn to_rpc_error(&self) -> RpcError {
        let is_invalid = matches!(self, Self::Params(_) | Self::NoTools | Self::ToolsOff);
        let code = if is_invalid {
            code::INVALID_PARAMS
        } else {
            code::INTERNAL_ERROR
        };
        let mut data = json!({ "answeredBy": "drawbridge", "reason": self.reason() });
        if let Self::Refused { status, .. } = self {
            data["status"] = json!(status);
        }
        RpcError {
            data: Some(json::to_raw(&data)),
            ..RpcError::new(code, format!("Sampling failed: {self}"))
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::NotSetUp => "not_set_up",
            Self::Params(_) | Self::NoTools => "invalid_request",
            Self::ToolsOff => "tools_off",
            Self::RequestTooLarge(_) => "request_too_large",
            Self::BudgetSpent(_) => "budget_spent",
            Self::Secret(_) | Self::Key => "key",
            Self::Store(_) => "store",
            Self::Unreachable(_) => "unreachable",
            Self::Broken(_) => "connection_lost",
            Self::IdleTimeout(_) | Self::TotalTimeout(_) => "timed_out",
            Self::AnswerTooLarge(_) => "answer_too_large",
            Self::Refused { .. } => "refused",
            Self::Failed(_) => "failed",
            Self::Malformed(_) => "unreadable_answer",
            Self::NoToolCall => "no_tool_call",
            Self::UnknownTool => "unknown_tool",
            Self::ToolArguments => "tool_arguments",
        }
    }
}

impl From<HttpError> for SamplingError {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::NotSent { source } => Self::Unreachable(source.to_string()),
            HttpError::Interrupted { source } => Self::Broken(source.to_string()),
            HttpError::TooLong { max } => Self::AnswerTooLarge(max),
        }
    }
}

fn describe_budget(budget: &SamplingBudget) -> String {
    let describe_use = |used: u32, limit: u32, unit: &str| match limit {
        0 => format!("{used} {unit}"),
        limit => format!("{used} of {limit} {unit}"),
    };
    format!(
        "{}, {}",
        describe_use(budget.used.requests, budget.requests_per_day, "requests"),
        describe_use(budget.used.tokens, budget.tokens_per_day, "tokens")
    )
}

fn after_colon(text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!(": {text}")
    }
}
