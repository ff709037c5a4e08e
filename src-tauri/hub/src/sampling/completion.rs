//! Reads a chat completion of the provider: as a stream of events, or as one body from a provider
//! that does not stream.

use std::time::Duration;

use drawbridge_jsonrpc::sse::{self, SseParser};
use drawbridge_upstream::http::HttpResponse;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::SamplingError;

/// The longest answer, in bytes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// The longest body of an error that is read, in bytes.
const MAX_ERROR: usize = 64 * 1024;
/// The most characters of a provider's error that are quoted.
const MAX_QUOTED: usize = 300;
const MAX_TOOL_CALLS: usize = 128;

/// An answer of the model.
#[derive(Debug, Default)]
pub(super) struct Completion {
    /// The model as the provider names it.
    pub(super) model: Option<String>,
    pub(super) text: String,
    pub(super) tool_calls: Vec<ChatToolCall>,
    pub(super) finish_reason: Option<String>,
    /// The tokens of the request and the answer, if the provider counts them.
    pub(super) tokens: Option<u32>,
}

#[derive(Debug, Default)]
pub(super) struct ChatToolCall {
    /// The number that the deltas of this call have in common in a streamed answer.
    index: Option<u64>,
    pub(super) id: String,
    pub(super) name: String,
    /// JSON text.
    pub(super) arguments: String,
}

/// A whole completion, or one chunk of a stream. A chunk has `delta` in place of `message`.
#[derive(Deserialize)]
struct CompletionChunk {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, alias = "delta")]
    message: Option<Message>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCallDelta>>,
}

/// A tool call, or a part of a tool call in a chunk of a stream.
#[derive(Deserialize)]
struct ToolCallDelta {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    total_tokens: Option<u32>,
}

impl ToolCallDelta {
    fn has_name(&self) -> bool {
        let name = self
            .function
            .as_ref()
            .and_then(|function| function.name.as_deref());
        name.is_some_and(|name| !name.is_empty())
    }
}

impl Completion {
    /// Reads the provider's response. `idle_timeout` is the longest time between two parts of a
    /// stream, and the longest time for the whole body of any other response.
    ///
    /// # Errors
    /// Returns an error if the status is not a success, if the provider takes longer than
    /// `idle_timeout`, or if the body is malformed, too long or ends early.
    pub(super) async fn read(
        mut response: HttpResponse,
        idle_timeout: Duration,
    ) -> Result<Self, SamplingError> {
        let timed_out = |_| SamplingError::IdleTimeout(idle_timeout.as_secs());
        let status = response.status();
        if !status.is_success() {
            let message = if status.is_redirection() {
                "Drawbridge follows no redirects; set the final URL".to_owned()
            } else {
                let body = timeout(idle_timeout, response.bytes(MAX_ERROR)).await;
                let body = body.ok().and_then(Result::ok).unwrap_or_default();
                error_text(&body)
            };
            return Err(SamplingError::Refused {
                status: status.as_u16(),
                message,
            });
        }
        let is_stream = response
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| sse::is_event_stream(kind.as_bytes()));
        let mut completion = Self::default();
        if !is_stream {
            let body = timeout(idle_timeout, response.bytes(MAX_ANSWER))
                .await
                .map_err(timed_out)??;
            completion.add(&body)?;
            return completion.finish(false);
        }
        let mut parser = SseParser::new(MAX_ANSWER);
        let mut length = 0;
        while let Some(bytes) = timeout(idle_timeout, response.chunk())
            .await
            .map_err(timed_out)??
        {
            length += bytes.len();
            let events = parser.push(&bytes);
            let events = events.map_err(|_| SamplingError::AnswerTooLarge(MAX_ANSWER))?;
            if length > MAX_ANSWER {
                return Err(SamplingError::AnswerTooLarge(MAX_ANSWER));
            }
            for event in events {
                if event.data.trim() == "[DONE]" {
                    return completion.finish(true);
                }
                completion.add(event.data.as_bytes())?;
            }
        }
        completion.finish(false)
    }

    /// Returns the answer that these chunks of a stream form.
    #[cfg(test)]
    pub(super) fn from_chunks<'a>(
        mut chunks: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Self, SamplingError> {
        let mut completion = Self::default();
        chunks.try_for_each(|chunk| completion.add(chunk))?;
        completion.finish(false)
    }

    /// Adds a chunk of the answer, or the whole answer.
    fn add(&mut self, chunk: &[u8]) -> Result<(), SamplingError> {
        let chunk: CompletionChunk = serde_json::from_slice(chunk)
            .map_err(|_| SamplingError::Malformed("it is not a completion"))?;
        if chunk.error.as_ref().is_some_and(|error| !error.is_null()) {
            return Err(SamplingError::Failed(quote(&message_of(&chunk.error))));
        }
        self.model = self.model.take().or(chunk.model);
        if let Some(Usage {
            total_tokens: Some(tokens),
        }) = chunk.usage
        {
            self.tokens = Some(tokens);
        }
        // There is at most one choice, because the request asks for no more.
        let Some(choice) = chunk.choices.into_iter().flatten().next() else {
            return Ok(());
        };
        self.finish_reason = choice.finish_reason.or(self.finish_reason.take());
        let Some(message) = choice.message else {
            return Ok(());
        };
        self.text
            .push_str(message.content.as_deref().unwrap_or_default());
        message
            .tool_calls
            .into_iter()
            .flatten()
            .try_for_each(|call| self.add_tool_call(call))
    }

    /// Adds a tool call, or a further part of a tool call. A part with no index, id or name belongs
    /// to the last call.
    fn add_tool_call(&mut self, delta: ToolCallDelta) -> Result<(), SamplingError> {
        let position = match (delta.index, &delta.id) {
            (Some(index), _) => self
                .tool_calls
                .iter()
                .position(|call| call.index == Some(index)),
            (None, None) if !delta.has_name() => self.tool_calls.len().checked_sub(1),
            (None, _) => None,
        };
        let position = position.unwrap_or_else(|| {
            self.tool_calls.push(ChatToolCall {
                index: delta.index,
                ..ChatToolCall::default()
            });
            self.tool_calls.len() - 1
        });
        if self.tool_calls.len() > MAX_TOOL_CALLS {
            return Err(SamplingError::Malformed("it has too many tool calls"));
        }
        let call = &mut self.tool_calls[position];
        if call.id.is_empty() {
            call.id = delta.id.unwrap_or_default();
        }
        if let Some(function) = delta.function {
            call.name
                .push_str(function.name.as_deref().unwrap_or_default());
            call.arguments
                .push_str(function.arguments.as_deref().unwrap_or_default());
        }
        Ok(())
    }

    /// Returns the whole answer. `is_done` says whether the provider has marked the end with
    /// `[DONE]`.
    ///
    /// # Errors
    /// Returns an error if the answer has neither content nor a finish reason, or if the answer is
    /// not complete.
    fn finish(self, is_done: bool) -> Result<Self, SamplingError> {
        if self.finish_reason.is_none() && self.text.is_empty() && self.tool_calls.is_empty() {
            return Err(SamplingError::Malformed("it has no message"));
        }
        if self.finish_reason.is_none() && !is_done {
            return Err(SamplingError::Malformed("it ends early"));
        }
        Ok(self)
    }

    /// Returns the size of the answer in bytes, for an estimate of its tokens.
    pub(super) fn size(&self) -> usize {
        let calls = self.tool_calls.iter();
        self.text.len()
            + calls
                .map(|call| call.name.len() + call.arguments.len())
                .sum::<usize>()
    }
}

/// Returns the provider's message from the body of an error, shortened.
fn error_text(body: &[u8]) -> String {
    let body: Option<Value> = serde_json::from_slice(body).ok();
    quote(&message_of(
        &body.and_then(|mut body| body.get_mut("error").map(Value::take)),
    ))
}

/// Returns the message of an error, which is an object at most providers, and a string at others.
fn message_of(error: &Option<Value>) -> String {
    match error {
        Some(Value::String(text)) => text.clone(),
        Some(error) => error["message"].as_str().unwrap_or_default().to_owned(),
        None => String::new(),
    }
}

fn quote(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}
