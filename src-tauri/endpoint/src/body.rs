//! Request bodies: how long they may take, their size, and their share of the memory for requests.

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
use bytes::{Bytes, BytesMut};
use drawbridge_sessions::{BudgetExceeded, RequestPermit};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error_response::Refusal;

/// The largest request body, in bytes.
pub(crate) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// The longest wait for the next piece of a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time for a whole body, from the first wait for a piece.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(120);

/// Pieces are joined until they have this many bytes, because each piece keeps alive the whole
/// buffer into which it was read.
const MIN_PIECE_BYTES: usize = 16 * 1024;

/// A body that fails if a piece takes longer than [`READ_TIMEOUT`], or the whole body longer than
/// [`TOTAL_TIMEOUT`], and that joins small pieces. No timer is created unless a piece has to be
/// awaited.
pub(crate) struct BoundedBody<B> {
    body: B,
    /// The small pieces that were read.
    joined: BytesMut,
    /// The deadline of the whole body, set when a piece first has to be awaited.
    deadline: Option<Instant>,
    /// The timer that runs while a piece is awaited.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<B> BoundedBody<B> {
    pub(crate) fn new(body: B) -> Self {
        Self {
            body,
            joined: BytesMut::new(),
            deadline: None,
            timer: None,
        }
    }

    /// Resolves with an error if the next piece or the whole body takes too long.
    fn poll_timeout(&mut self, cx: &mut Context<'_>) -> Poll<BoxError> {
        let now = Instant::now();
        let deadline = *self.deadline.get_or_insert(now + TOTAL_TIMEOUT);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(deadline.min(now + READ_TIMEOUT))));
        ready!(timer.as_mut().poll(cx));
        let reason = if timer.deadline() == deadline {
            format!("it did not arrive within {} s", TOTAL_TIMEOUT.as_secs())
        } else {
            let seconds = READ_TIMEOUT.as_secs();
            format!("the next part did not arrive within {seconds} s")
        };
        Poll::Ready(reason.into())
    }
}

impl<B> HttpBody for BoundedBody<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        loop {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
                return self.poll_timeout(cx).map(|timed_out| Some(Err(timed_out)));
            };
            self.timer = None;
            let piece = match frame.transpose().map_err(Into::into)? {
                // Trailers have no meaning here.
                Some(frame) => frame.into_data().unwrap_or_default(),
                None if self.joined.is_empty() => return Poll::Ready(None),
                None => {
                    let joined = self.joined.split().freeze();
                    return Poll::Ready(Some(Ok(Frame::data(joined))));
                }
            };
            if self.joined.is_empty()
                && (piece.len() >= MIN_PIECE_BYTES || self.body.is_end_stream())
            {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            self.joined.extend_from_slice(&piece);
            if self.joined.len() >= MIN_PIECE_BYTES {
                let joined = self.joined.split().freeze();
                return Poll::Ready(Some(Ok(Frame::data(joined))));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.joined.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.body.size_hint();
        let joined = self.joined.len() as u64;
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + joined);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + joined);
        }
        hint
    }
}

/// Reads a whole body, and counts its bytes in `permit`. An announced length is counted before the
/// body is read. If there is not enough memory, up to [`MAX_BODY_BYTES`] of the rest of the body is
/// read and dropped, because most clients read no response before they have sent their body.
///
/// # Errors
/// Returns 413 if the body is longer than [`MAX_BODY_BYTES`], 503 if requests in flight take too
/// much memory already, and 400 if the body cannot be read to its end.
pub(crate) async fn read_body(
    mut body: Body,
    permit: &mut RequestPermit,
) -> Result<Bytes, Refusal> {
    match read_and_count(&mut body, permit).await {
        Err(BodyError::Refused(refusal)) => Err(refusal),
        Err(BodyError::NoMemory(exceeded)) => {
            let mut dropped = 0;
            while dropped < MAX_BODY_BYTES
                && let Some(Ok(frame)) = body.frame().await
            {
                dropped += frame.into_data().map_or(0, |piece| piece.len());
            }
            Err(exceeded.into())
        }
        Ok(whole) => Ok(whole),
    }
}

/// The reason why a body was not read.
enum BodyError {
    Refused(Refusal),
    NoMemory(BudgetExceeded),
}

impl From<BudgetExceeded> for BodyError {
    fn from(exceeded: BudgetExceeded) -> Self {
        Self::NoMemory(exceeded)
    }
}

async fn read_and_count(body: &mut Body, permit: &mut RequestPermit) -> Result<Bytes, BodyError> {
    let refused = |status, message| BodyError::Refused(Refusal::new(status, message));
    let too_long = || refused(StatusCode::PAYLOAD_TOO_LARGE, too_long_message());
    let announced_length = body
        .size_hint()
        .exact()
        .and_then(|length| usize::try_from(length).ok())
        .unwrap_or_default();
    if announced_length > MAX_BODY_BYTES {
        return Err(too_long());
    }
    permit.add_bytes(announced_length)?;
    let (mut pieces, mut whole, mut length) = (Vec::new(), Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| refused(StatusCode::BAD_REQUEST, format!("body: {e}")))?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        length += piece.len();
        if length > MAX_BODY_BYTES {
            return Err(too_long());
        }
        permit.add_bytes(length.saturating_sub(announced_length).min(piece.len()))?;
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
