//! What a call asks of the client: as requests of the server's own in a session, as
//! `input_required` where there is none.

#![expect(deprecated, reason = "a deprecated feature is still a feature")]

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

/// A call that may ask: what it was given with it, and by whom.
pub(crate) struct Call<'a> {
    pub(crate) context: &'a RequestContext<RoleServer>,
    pub(crate) arguments: Value,
    pub(crate) given: Option<InputResponses>,
    /// The state that an earlier round gave out, its seal verified.
    pub(crate) state: Option<Value>,
}

/// Answers, or what to send to get them.
pub(crate) enum Asked {
    Answered(InputResponses),
    Required(InputRequiredResult),
}

impl Call<'_> {
    /// Asks all questions. In a session it waits for the answers; elsewhere it looks whether the
    /// request brought them, and else gives `state` along with the questions.
    pub(crate) async fn ask(
        &self,
        questions: InputRequests,
        state: Option<String>,
    ) -> Result<Asked, ErrorData> {
        for question in questions.values() {
            self.require(capability(question))?;
        }
        if is_modern(self.context) {
            return Ok(match &self.given {
                Some(given)
                    if questions
                        .keys()
                        .all(|key| given.get(key).is_some_and(Value::is_object)) =>
                {
                    Asked::Answered(given.clone())
                }
                _ => Asked::Required(InputRequiredResult::new(Some(questions), state)),
            });
        }
        let mut answers = InputResponses::new();
        for (key, question) in questions {
            answers.insert(key, self.ask_the_session(question).await.map_err(failed)?);
        }
        Ok(Asked::Answered(answers))
    }

    async fn ask_the_session(&self, question: InputRequest) -> Result<Value, ServiceError> {
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

    /// Whether the client declared that capability, by its name.
    pub(crate) fn has(&self, capability: &str) -> bool {
        json!(self.context.client_capabilities())
            .get(capability)
            .is_some()
    }

    /// Fails where the client did not declare that capability.
    pub(crate) fn require(&self, capability: &str) -> Result<(), ErrorData> {
        if self.has(capability) {
            return Ok(());
        }
        if is_modern(self.context) {
            let required: ClientCapabilities = read(json!({ capability: {} }))?;
            return Err(ErrorData::missing_required_client_capability(required));
        }
        Err(ErrorData::invalid_request(
            format!("the client did not declare {capability}"),
            None,
        ))
    }
}

/// Whether the request is of a revision without sessions.
pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| !version.has_initialize())
}

fn capability(question: &InputRequest) -> &'static str {
    match question {
        InputRequest::CreateMessage(_) => "sampling",
        InputRequest::Elicitation(_) => "elicitation",
        InputRequest::ListRoots(_) | _ => "roots",
    }
}

fn failed(why: ServiceError) -> ErrorData {
    let ServiceError::McpError(error) = why else {
        return ErrorData::internal_error(why.to_string(), None);
    };
    error
}

/// Reads a value of the model from JSON.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|why| ErrorData::internal_error(why.to_string(), None))
}

/// Seals a state so that nobody else can make one.
pub(crate) fn seal(codec: &RequestStateCodec, state: &impl Serialize) -> Result<String, ErrorData> {
    codec
        .seal_json(state)
        .map_err(|why| ErrorData::internal_error(why.to_string(), None))
}

/// Opens a state that came back; a forged one is refused.
pub(crate) fn open(
    codec: &RequestStateCodec,
    sealed: Option<&str>,
) -> Result<Option<Value>, ErrorData> {
    let opened = sealed.map(|sealed| codec.open_json(sealed)).transpose();
    opened.map_err(|why| ErrorData::invalid_params(format!("requestState: {why}"), None))
}

/// A form with these properties, the named ones required.
pub(crate) fn form(
    message: &str,
    properties: Value,
    required: &[&str],
) -> Result<InputRequest, ErrorData> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let params = read(json!({"mode": "form", "message": message, "requestedSchema": schema}))?;
    Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
}

/// A question to the client's model.
pub(crate) fn sample(prompt: &str, max_tokens: u32) -> Result<InputRequest, ErrorData> {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let params = read(json!({"messages": [message], "maxTokens": max_tokens}))?;
    Ok(InputRequest::CreateMessage(CreateMessageRequest::new(
        params,
    )))
}

/// A question for the client's roots.
pub(crate) fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}
