//! Responses to MCP clients: a JSON body for a single message, and otherwise an event stream.

use std::{collections::VecDeque, future::pending, pin::Pin};

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use drawbridge_sessions::MessageReader;
use futures_util::StreamExt;

use super::events;
use crate::error_response::RpcRefusal;

pub(super) type McpResult = Result<Response, RpcRefusal>;

/// An answer, preceded by the messages that belong to it.
pub(crate) struct ResponseMessages {
    ready: VecDeque<Bytes>,
    /// `None` if the client read the messages too slowly, or once the answer is ready.
    messages: Option<MessageReader>,
    /// `None` once the answer is ready.
    answer: Option<Pin<Box<dyn Future<Output = Bytes> + Send>>>,
}

impl ResponseMessages {
    pub(crate) fn new(
        messages: MessageReader,
        answer: impl Future<Output = Bytes> + Send + 'static,
    ) -> Self {
        Self {
            ready: VecDeque::new(),
            messages: Some(messages),
            answer: Some(Box::pin(answer)),
        }
    }

    /// Returns the first message.
    pub(crate) async fn first(&mut self) -> Bytes {
        loop {
            // `None` means that the client was too slow. The answer then follows.
            if let Some(message) = self.next().await {
                return message;
            }
        }
    }

    /// Returns the next message, or `None` after the last message, which is the answer. Also
    /// returns `None` once if the client reads too slowly, so that its stream has to be closed.
    /// After that, later calls can still return the answer.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let answer = self.answer.as_mut()?;
            let messages = async {
                match &mut self.messages {
                    Some(messages) => messages.next().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                message = messages => {
                    if message.is_none() {
                        self.messages = None;
                    }
                    return message;
                }
                answer = answer => {
                    if let Some(mut messages) = self.messages.take() {
                        self.ready.extend(messages.close());
                    }
                    self.ready.push_back(answer);
                    self.answer = None;
                }
            }
        }
    }

    /// Returns whether the answer has been returned.
    pub(crate) fn is_finished(&self) -> bool {
        self.answer.is_none() && self.ready.is_empty()
    }
}

/// Returns the response: a JSON body for a single message, otherwise a stream that the client
/// cannot resume.
pub(super) async fn respond(mut messages: ResponseMessages) -> Response {
    let first = messages.first().await;
    if messages.is_finished() {
        return json_response(first);
    }
    let rest = futures_util::stream::unfold(messages, |mut messages| async {
        Some((messages.next().await?, messages))
    });
    events::sse_response(
        futures_util::stream::iter([first])
            .chain(rest)
            .map(|message| events::message_event(&message)),
    )
}

pub(super) fn json_response(body: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

#[cfg(test)]
mod tests;
