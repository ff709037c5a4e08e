//! Tests of the missed messages that a client gets when it reconnects.

use bytes::Bytes;

use super::{MAX_REPLAY_MESSAGES, ReplayBuffer};

#[test]
fn a_client_that_reconnects_gets_the_missed_messages_in_order() {
    let mut replay = ReplayBuffer::default();
    let ids: Vec<u64> = ["a", "b", "c"]
        .map(|message| replay.push(message.into()))
        .into();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(
        replay.messages_after(1),
        [(2, Bytes::from("b")), (3, Bytes::from("c"))]
    );
    assert_eq!(replay.messages_after(3), []);
    assert_eq!(
        replay.messages_after(99),
        [],
        "an unknown id returned messages"
    );
}

#[test]
fn only_the_last_messages_are_kept() {
    let mut replay = ReplayBuffer::default();
    for _ in 0..MAX_REPLAY_MESSAGES + 10 {
        replay.push(Bytes::new());
    }
    let messages = replay.messages_after(0);
    assert_eq!((messages.len(), messages[0].0), (MAX_REPLAY_MESSAGES, 11));
}
