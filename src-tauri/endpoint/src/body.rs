//! Request bodies: the timeout between two pieces, and the size limit.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    BoxError,
    body::{Body, HttpBody},
    http::StatusCode,
};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::error_response::Refusal;

/// The largest request body, in bytes. Reading a body may take up to twice as much memory.
pub(crate) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The longest time between two pieces of a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A body that fails if a piece takes longer than [`READ_TIMEOUT`]. A piece that is ready costs no
/// timer.
pub(crate) struct TimeoutBody<B> {
    body: B,
    /// The timer, if a piece is awaited.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<B> TimeoutBody<B> {
    pub(crate) fn new(body: B) -> Self {
        Self { body, timer: None }
    }
}

impl<B> HttpBody for TimeoutBody<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.timer = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep(READ_TIMEOUT)));
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(format!(
            "the next part did not arrive within {} s",
            READ_TIMEOUT.as_secs()
        )
        .into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads a whole body.
///
/// # Errors
/// Returns 413 if the body is longer than [`MAX_BODY_BYTES`], and 400 if it cannot be read to its
/// end.
pub(crate) async fn read_body(mut body: Body) -> Result<Bytes, Refusal> {
    let announced_length = body
        .size_hint()
        .exact()
        .and_then(|length| usize::try_from(length).ok())
        .unwrap_or_default();
    let (mut pieces, mut whole, mut length) = (Vec::new(), Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| Refusal::bad_request(format!("body: {e}")))?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        length += piece.len();
        if length > MAX_BODY_BYTES {
            return Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                too_long_message(),
            ));
        }
        if piece.len() < announced_length {
            // Reserve the announced length at once, so that no byte is copied twice.
            whole.reserve_exact(announced_length.saturating_sub(whole.len()));
            whole.extend_from_slice(&piece);
        } else {
            pieces.push(piece);
        }
    }
    Ok(match pieces.len() {
        0 => whole.into(),
        1 => pieces.swap_remove(0),
        _ => pieces.concat().into(),
    })
}

/// Returns the message for a body that is longer than [`MAX_BODY_BYTES`].
pub(crate) fn too_long_message() -> String {
    format!(
        "the body is longer than {} MiB, which is the limit",
        MAX_BODY_BYTES >> 20
    )
}

#[cfg(test)]
mod tests;
