//! Properties that hold for any body.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};

use super::{SseEvent, read_events};

/// Checks that the events do not depend on how the body is cut into pieces.
pub(crate) fn check_events_do_not_depend_on_pieces(pieces: &[&[u8]]) {
    let whole = pieces.concat();
    let single_bytes: Vec<&[u8]> = whole.chunks(1).collect();
    let events = read_pieces(pieces);
    assert_eq!(events, read_pieces(&single_bytes), "byte by byte");
    assert_eq!(events, read_pieces(&[&whole]), "at once");
}

pub(crate) fn read_pieces(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let pieces: Vec<_> = pieces
        .iter()
        .map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece)))
        .collect();
    read_events(stream::iter(pieces))
        .collect()
        .now_or_never()
        .expect("all pieces are ready")
}
