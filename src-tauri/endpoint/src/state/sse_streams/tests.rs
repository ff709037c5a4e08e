//! The limit of messages that wait for a client.

use bytes::Bytes;
use drawbridge_model::ids::ClientName;

use super::{MAX_QUEUED_MESSAGES, SseStreams};

#[test]
fn a_client_that_does_not_read_is_disconnected_and_one_that_does_is_not() {
    let (open, mut messages) = SseStreams::default().open("id", ClientName::new("desk"));
    let outlet = &open.outlet;
    for _ in 0..2 * MAX_QUEUED_MESSAGES {
        outlet.send(Bytes::new());
        assert!(messages.try_recv().is_ok() && !outlet.closed.is_cancelled());
    }
    for _ in 0..MAX_QUEUED_MESSAGES {
        outlet.send(Bytes::new());
    }
    assert!(
        !outlet.closed.is_cancelled(),
        "a full queue closed the stream"
    );
    outlet.send(Bytes::new());
    assert!(
        outlet.closed.is_cancelled(),
        "a message beyond the limit did not close the stream"
    );
}
