//! A request that the gate decides.

use drawbridge_model::{
    approval::FormContent,
    digest,
    ids::{ClientName, SessionId},
    policy::RequestKind,
    protocol::{ProgressToken, guarded::GuardedMethod},
    spec::RegisteredServer,
    tool::Annotations,
    trace::TraceContext,
};
use std::{path::PathBuf, sync::Arc};

use drawbridge_jsonrpc::json::RawObject;
use serde_json::value::RawValue;

use super::rules::{MatchInput, Rules, Ruling};
use crate::{
    catalog::{ArgumentsMismatch, CatalogEntry, Definition},
    elicitation::{ContentError, Elicitation, ElicitationError},
};

/// A call of a tool, or another request that the gate decides: from a client to a server, or from a
/// server to a client.
pub struct GuardedRequest {
    pub method: GuardedMethod,
    /// The kind by which rules decide the request.
    pub kind: RequestKind,
    /// The client that sent the request or, for a request of a server, that receives it.
    pub client: ClientName,
    pub session: SessionId,
    /// The project folder in which the client works, if it works in one.
    pub project: Option<PathBuf>,
    pub server: Arc<RegisteredServer>,
    /// The tool, prompt, template or listed resource that the request names, or `None` if the
    /// request names none of these.
    pub entry: Option<Arc<CatalogEntry>>,
    /// The server's own name of the tool or prompt, the URI of the resource, or empty if the
    /// request names nothing. For a request about a task, the tool of the call that started it.
    pub name: String,
    /// The name or URI as the client knows it.
    pub exposed_name: String,
    /// The arguments of a call, byte for byte. The params of any other request.
    pub arguments: Box<RawValue>,
    /// The members of a call's params other than name and arguments, if there are any.
    pub extra: Option<Box<RawValue>>,
    /// The params as they will be sent, without the progress token.
    pub params: Box<RawValue>,
    /// The client's progress token, if it asks for progress notifications.
    pub progress_token: Option<ProgressToken>,
    /// The change that hooks made to the arguments, if there is one.
    pub hooked: Option<HookedArguments>,
    /// Who answers a server's request in place of the client. `None` if the client answers.
    pub stand_in: Option<StandIn>,
    /// The span of the client's request, if spans are recorded.
    pub trace: Option<TraceContext>,
}

/// The hooks that changed the arguments of a call.
#[derive(Debug, Clone)]
pub struct HookedArguments {
    /// The names of the hooks, in order.
    pub hooks: Vec<String>,
    /// The arguments that the client sent.
    pub original: Box<RawValue>,
}

/// Who answers a server's request in place of a client that cannot answer it.
#[derive(Debug)]
pub enum StandIn {
    /// The sampling provider: its model and its host.
    Provider(String),
    /// A person, with the values that the person has entered. The values are never recorded.
    Person(Option<FormContent>),
    /// Drawbridge, from its settings.
    Settings,
}

impl GuardedRequest {
    /// Returns a call of a tool for a test.
    #[cfg(test)]
    pub(crate) fn call_for_test(client: &str, tool: Arc<CatalogEntry>, arguments: &str) -> Self {
        use drawbridge_jsonrpc::json;
        let name = json::quote(&tool.definition.name);
        Self {
            method: GuardedMethod::CallTool,
            kind: RequestKind::Tools,
            client: ClientName::new(client),
            session: SessionId::new("session"),
            project: None,
            server: tool.server.clone(),
            name: tool.definition.name.clone(),
            exposed_name: tool.exposed_name.clone(),
            entry: Some(tool),
            arguments: json::raw(arguments.into()),
            extra: None,
            params: json::raw(format!(r#"{{"name":{name},"arguments":{arguments}}}"#)),
            progress_token: None,
            hooked: None,
            stand_in: None,
            trace: None,
        }
    }

    pub(super) fn definition(&self) -> Option<&Definition> {
        self.entry.as_ref().map(|entry| &*entry.definition)
    }

    /// Returns the digest of the definition to which a decision is bound, or an empty text if there
    /// is no definition.
    pub(super) fn definition_digest(&self) -> &str {
        self.definition().map_or("", Definition::offered_digest)
    }

    /// Returns the digest to which a person's decision is bound.
    pub(super) fn digest(&self) -> String {
        let mut parts = vec![
            self.method.name().as_bytes(),
            self.client.as_str().as_bytes(),
            self.server.identity.as_bytes(),
            self.definition_digest().as_bytes(),
            self.params.get().as_bytes(),
        ];
        parts.extend(self.sampling_provider().map(str::as_bytes));
        digest::sha256_parts(&parts)
    }

    /// Returns the sampling provider, with its model, if it answers the request.
    pub(super) fn sampling_provider(&self) -> Option<&str> {
        match &self.stand_in {
            Some(StandIn::Provider(name)) => Some(name),
            Some(StandIn::Person(_) | StandIn::Settings) | None => None,
        }
    }

    /// Returns whether a person fills in the request in Drawbridge.
    pub(super) fn is_filled_in_by_person(&self) -> bool {
        matches!(self.stand_in, Some(StandIn::Person(_)))
    }

    pub(super) fn match_input(&self) -> MatchInput<'_> {
        MatchInput {
            kind: self.kind,
            client: Some(&self.client),
            session: Some(&self.session),
            project: self.project.as_deref(),
            server: &self.server,
            tool: self.tool_name(),
            definition_digest: self.definition_digest(),
            annotations: self
                .definition()
                .map_or(&Annotations::NONE, |definition| &definition.annotations),
            arguments: Some(&self.arguments),
        }
    }

    /// Returns the name of the tool, or an empty text if the request names no tool.
    fn tool_name(&self) -> &str {
        if self.kind == RequestKind::Tools {
            &self.name
        } else {
            ""
        }
    }

    /// Returns the hooks that changed the arguments.
    pub fn request_hooks(&self) -> &[String] {
        self.hooked.as_ref().map_or(&[], |hooked| &hooked.hooks)
    }

    /// Replaces the arguments with the arguments of a hook. The check of the arguments and the
    /// decision on the call come afterwards.
    pub fn change_arguments(&mut self, arguments: Box<RawValue>, hook: String) {
        let original = self.replace_arguments(arguments);
        let hooked = self.hooked.get_or_insert_with(|| HookedArguments {
            hooks: Vec::new(),
            original,
        });
        hooked.hooks.push(hook);
    }

    /// Replaces the arguments, also in the params. Returns the previous arguments.
    fn replace_arguments(&mut self, arguments: Box<RawValue>) -> Box<RawValue> {
        let mut params =
            RawObject::parse(&self.params).expect("the params were written from a RawObject");
        params.set("arguments", arguments.clone());
        let params = params.to_raw();
        self.params = params;
        std::mem::replace(&mut self.arguments, arguments)
    }

    /// Takes the values that a person has entered, or `None` if the person has opened the URL.
    /// Returns the reason for the record, which names the fields.
    ///
    /// # Errors
    /// Returns an error if the values do not fit the request. The request is unchanged then.
    pub(super) fn fill_in(&mut self, content: Option<FormContent>) -> Result<String, FillInError> {
        let elicitation = Elicitation::read(&self.params)?;
        let fields = elicitation.check(content.as_ref().map(FormContent::expose))?;
        let reason = match (&content, fields.as_slice()) {
            (None, _) => "opened the URL".to_owned(),
            (Some(_), []) => "answered without values".to_owned(),
            (Some(_), fields) => format!("answered: {}", fields.join(", ")),
        };
        self.stand_in = Some(StandIn::Person(content));
        Ok(reason)
    }

    /// Replaces the client's arguments with the arguments that a person has edited.
    ///
    /// # Errors
    /// Returns an error if the text is not valid JSON, and as [`check_edited_arguments`] does. The
    /// call is unchanged then.
    pub(super) fn edit_arguments(
        &mut self,
        rules: &Rules,
        arguments: String,
    ) -> Result<(), EditError> {
        let arguments = RawValue::from_string(arguments)?;
        check_edited_arguments(
            rules,
            &self.match_input(),
            self.entry.as_deref(),
            &arguments,
        )?;
        self.replace_arguments(arguments);
        Ok(())
    }
}

/// The reason why a person's values may not be sent to a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum FillInError {
    #[error(transparent)]
    Elicitation(#[from] ElicitationError),
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// The reason why edited arguments may not replace the client's arguments.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("only the arguments of a tool's call can be edited")]
    NoTool,
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

/// Checks whether edited arguments may replace the client's arguments: they match the tool's
/// schema, and no rule denies them.
///
/// # Errors
/// Returns an error if the request is no call of a tool, or if the arguments are malformed, do not
/// match the schema, or are denied.
pub(super) fn check_edited_arguments(
    rules: &Rules,
    input: &MatchInput<'_>,
    tool: Option<&CatalogEntry>,
    arguments: &RawValue,
) -> Result<(), EditError> {
    let tool = tool
        .filter(|_| input.kind == RequestKind::Tools)
        .ok_or(EditError::NoTool)?;
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
