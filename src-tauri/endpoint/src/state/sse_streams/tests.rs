//! The limit of messages that wait for a client.

use bytes::Bytes;
use drawbridge_model::ids::ClientName;
use drawbridge_sessions::MAX_WAITING_BYTES;

use super::SseStreams;

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected_and_a_reading_client_is_not() {
    let (open, mut messages) = SseStreams::default().open("id", ClientName::new("desk"));
    let outlet = &open.outlet;
    let message = || Bytes::from_static(&[b'x'; 1024]);
    for _ in 0..4 * MAX_WAITING_BYTES / 1024 {
        outlet.send(message());
        assert!(messages.next().await.is_some() && !outlet.closed.is_cancelled());
    }
    for _ in 0..20 {
        outlet.send_answer(vec![b'x'; MAX_WAITING_BYTES].into());
    }
    assert!(
        !outlet.closed.is_cancelled(),
        "answers that came together closed the stream"
    );
    for _ in 0..10 * MAX_WAITING_BYTES / 1024 {
        outlet.send(message());
    }
    assert!(outlet.closed.is_cancelled());
    assert_eq!(messages.next().await, None, "the stream has ended");
}
