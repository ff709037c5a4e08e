//! Responses to MCP clients: a JSON body for a single message, and otherwise an event stream.

use std::{collections::VecDeque, pin::Pin};

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::mpsc;

use super::events;
use crate::error_response::RpcRefusal;

/// The largest number of messages of a request that wait for the client to read them.
pub(super) const MAX_QUEUED_MESSAGES: usize = 64;

pub(super) type McpResult = Result<Response, RpcRefusal>;

/// An answer, preceded by the messages that belong to it.
pub(crate) struct ResponseMessages {
    ready: VecDeque<Bytes>,
    messages: mpsc::Receiver<Bytes>,
    /// `None` once the answer is ready.
    answer: Option<Pin<Box<dyn Future<Output = Bytes> + Send>>>,
}

impl ResponseMessages {
    pub(crate) fn new(
        messages: mpsc::Receiver<Bytes>,
        answer: impl Future<Output = Bytes> + Send + 'static,
    ) -> Self {
        Self {
            ready: VecDeque::new(),
            messages,
            answer: Some(Box::pin(answer)),
        }
    }

    /// Returns the first message.
    pub(crate) async fn first(&mut self) -> Bytes {
        self.next()
            .await
            .expect("the answer itself is always a message")
    }

    /// Returns the next message. The answer is the last one.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            let answer = self.answer.as_mut()?;
            tokio::select! {
                biased;
                Some(message) = self.messages.recv() => return Some(message),
                answer = answer => {
                    self.messages.close();
                    while let Ok(message) = self.messages.try_recv() {
                        self.ready.push_back(message);
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

/// Returns the response: a JSON body for a single message, otherwise a stream that ends with its
/// connection.
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
