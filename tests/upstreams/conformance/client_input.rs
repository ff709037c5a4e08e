//! The requests for input that a call of a tool or a prompt sends to its client: as requests of the
//! server in a session, and as an `input_required` result in the modern era.

#![expect(deprecated, reason = "deprecated features must keep working")]

use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientCapabilities, CreateMessageRequest, ElicitRequest, InputRequest, InputRequests,
        InputRequiredResult, InputResponses, ListRootsRequest, RequestStateCodec,
    },
    service::{RequestContext, ServiceError},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A call of a tool or a prompt, which may need input from its client.
pub(crate) struct Call<'a> {
    pub(crate) context: &'a RequestContext<RoleServer>,
    pub(crate) arguments: Value,
    pub(crate) responses: Option<InputResponses>,
    /// The `requestState` that an earlier `input_required` result contained, after its seal was
    /// verified.
    pub(crate) state: Option<Value>,
}

/// The client's answers, or the `input_required` result that requests them.
pub(crate) enum ClientInput {
    Answered(InputResponses),
    Required(InputRequiredResult),
}

impl Call<'_> {
    /// Requests input from the client. In a session, waits for the answers. In the modern era,
    /// returns the answers that came with the request, or `input_required` with `state` if an
    /// answer is missing.
    pub(crate) async fn request_input(
        &self,
        questions: InputRequests,
        state: Option<String>,
    ) -> Result<ClientInput, ErrorData> {
        for question in questions.values() {
            self.require_capability(required_capability(question))?;
        }
        if is_modern(self.context) {
            return Ok(match &self.responses {
                Some(responses)
                    if questions
                        .keys()
                        .all(|key| responses.get(key).is_some_and(Value::is_object)) =>
                {
                    ClientInput::Answered(responses.clone())
                }
                _ => ClientInput::Required(InputRequiredResult::new(Some(questions), state)),
            });
        }
        let mut answers = InputResponses::new();
        for (key, question) in questions {
            answers.insert(
                key,
                self.request_in_session(question)
                    .await
                    .map_err(to_error_data)?,
            );
        }
        Ok(ClientInput::Answered(answers))
    }

    async fn request_in_session(&self, question: InputRequest) -> Result<Value, ServiceError> {
        let peer = &self.context.peer;
        Ok(match question {
            InputRequest::CreateMessage(request) => {
                json!(peer.create_message(request.params).await?)
            }
            InputRequest::Elicitation(request) => {
                json!(peer.create_elicitation(request.params).await?)
            }
            InputRequest::ListRoots(_) => json!(peer.list_roots().await?),
            _ => return Err(ServiceError::UnexpectedResponse),
        })
    }

    /// Returns whether the client declared the capability with this name.
    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        json!(self.context.client_capabilities())
            .get(capability)
            .is_some()
    }

    /// Returns an error if the client did not declare the capability.
    pub(crate) fn require_capability(&self, capability: &str) -> Result<(), ErrorData> {
        if self.has_capability(capability) {
            return Ok(());
        }
        if is_modern(self.context) {
            let required: ClientCapabilities = from_json(json!({ capability: {} }))?;
            return Err(ErrorData::missing_required_client_capability(required));
        }
        Err(ErrorData::invalid_request(
            format!("the client did not declare {capability}"),
            None,
        ))
    }
}

/// Returns whether the request uses a modern revision.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| !version.has_initialize())
}

fn required_capability(question: &InputRequest) -> &'static str {
    match question {
        InputRequest::CreateMessage(_) => "sampling",
        InputRequest::Elicitation(_) => "elicitation",
        InputRequest::ListRoots(_) | _ => "roots",
    }
}

fn to_error_data(failure: ServiceError) -> ErrorData {
    let ServiceError::McpError(error) = failure else {
        return ErrorData::internal_error(failure.to_string(), None);
    };
    error
}

/// Converts JSON to a type of the SDK.
pub(crate) fn from_json<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Seals a state so that a client cannot forge it.
pub(crate) fn seal_state(
    codec: &RequestStateCodec,
    state: &impl Serialize,
) -> Result<String, ErrorData> {
    codec
        .seal_json(state)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Opens a sealed state. Returns an error if the state is forged.
pub(crate) fn open_state(
    codec: &RequestStateCodec,
    sealed: Option<&str>,
) -> Result<Option<Value>, ErrorData> {
    let opened = sealed.map(|sealed| codec.open_json(sealed)).transpose();
    opened.map_err(|error| ErrorData::invalid_params(format!("requestState: {error}"), None))
}

/// Returns a form elicitation with these properties and required fields.
pub(crate) fn form_request(
    message: &str,
    properties: Value,
    required: &[&str],
) -> Result<InputRequest, ErrorData> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let params = from_json(json!({"mode": "form", "message": message, "requestedSchema": schema}))?;
    Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
}

/// Returns a sampling request.
pub(crate) fn sampling_request(prompt: &str, max_tokens: u32) -> Result<InputRequest, ErrorData> {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let params = from_json(json!({"messages": [message], "maxTokens": max_tokens}))?;
    Ok(InputRequest::CreateMessage(CreateMessageRequest::new(
        params,
    )))
}

/// Returns a request for the client's roots.
pub(crate) fn roots_request() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}
