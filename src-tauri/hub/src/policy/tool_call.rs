//! A call of a tool that is to be decided.

use drawbridge_model::{
    digest,
    ids::{ClientName, SessionId},
    protocol::ProgressToken,
};
use std::sync::Arc;

use drawbridge_jsonrpc::json::RawObject;
use serde_json::value::RawValue;

use super::rules::{MatchInput, Rules, Ruling};
use crate::catalog::{ArgumentsMismatch, CatalogEntry};

/// A call that is to be decided.
pub struct ToolCall {
    pub client: ClientName,
    pub session: SessionId,
    pub tool: Arc<CatalogEntry>,
    /// The arguments, byte for byte.
    pub arguments: Box<RawValue>,
    /// The members of the params other than name and arguments, if there are any.
    pub extra: Option<Box<RawValue>>,
    /// The params as they will be sent, without the progress token.
    pub params: Box<RawValue>,
    /// The client's progress token, if it asks for progress notifications.
    pub progress_token: Option<ProgressToken>,
}

impl ToolCall {
    /// Returns the digest to which a person's decision is bound.
    pub(super) fn digest(&self) -> String {
        digest::sha256_parts(&[
            self.client.as_str().as_bytes(),
            self.tool.server.identity.as_bytes(),
            self.tool.definition.decision_digest().as_bytes(),
            self.params.get().as_bytes(),
        ])
    }

    pub(super) fn match_input(&self) -> MatchInput<'_> {
        MatchInput {
            client: Some(&self.client),
            session: Some(&self.session),
            server: &self.tool.server,
            tool: &self.tool.definition.name,
            definition: self.tool.definition.decision_digest(),
            annotations: &self.tool.definition.annotations,
            arguments: Some(&self.arguments),
        }
    }

    /// Replaces the client's arguments with a person's.
    ///
    /// # Errors
    /// Returns an error as [`check_edited_arguments`] does. The call is unchanged then.
    pub(super) fn edit_arguments(
        &mut self,
        rules: &Rules,
        arguments: String,
    ) -> Result<(), EditError> {
        let arguments = RawValue::from_string(arguments)?;
        check_edited_arguments(rules, &self.match_input(), &self.tool, &arguments)?;
        let mut params =
            RawObject::parse(&self.params).expect("the params were written from a RawObject");
        params.set("arguments", arguments.clone());
        let params = params.to_raw();
        (self.params, self.arguments) = (params, arguments);
        Ok(())
    }
}

/// The reason why a person's arguments may not replace the client's.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("the edited arguments must be a JSON object without duplicate keys: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("the edited arguments do not match the tool's schema: {0}")]
    Mismatch(#[from] ArgumentsMismatch),
    #[error("with the edited arguments, the call is denied by the {reason}")]
    Denied {
        /// The rule that denies the call, in words.
        reason: String,
    },
}

/// Checks whether these arguments may replace the client's: they match the tool's schema, and no
/// rule denies them.
///
/// # Errors
/// Returns an error if they are malformed, do not match the schema, or are denied.
pub(super) fn check_edited_arguments(
    rules: &Rules,
    input: &MatchInput<'_>,
    tool: &CatalogEntry,
    arguments: &RawValue,
) -> Result<(), EditError> {
    RawObject::parse(arguments)?;
    tool.definition
        .check_edited_arguments(arguments, tool.server.spec.validate)?;
    match rules.find_denial(&MatchInput {
        arguments: Some(arguments),
        ..*input
    }) {
        Some(Ruling { reason, .. }) => Err(EditError::Denied { reason }),
        None => Ok(()),
    }
}
