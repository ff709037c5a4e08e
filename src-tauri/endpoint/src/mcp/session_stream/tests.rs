//! Tests of the missed messages that a client gets when it reconnects.

use bytes::Bytes;

use super::{MAX_KEPT, ReplayBuffer};

#[test]
fn a_client_that_reconnects_gets_the_missed_messages_in_order() {
    let mut said = ReplayBuffer::default();
    let ids: Vec<u64> = ["a", "b", "c"]
        .map(|message| said.push(message.into()))
        .into();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(
        said.messages_after(1),
        [(2, Bytes::from("b")), (3, Bytes::from("c"))]
    );
    assert_eq!(said.messages_after(3), []);
    assert_eq!(said.messages_after(99), [], "an id that was never given");
}

#[test]
fn only_the_last_messages_are_kept() {
    let mut said = ReplayBuffer::default();
    for _ in 0..MAX_KEPT + 10 {
        said.push(Bytes::new());
    }
    let kept = said.messages_after(0);
    assert_eq!((kept.len(), kept[0].0), (MAX_KEPT, 11));
}
