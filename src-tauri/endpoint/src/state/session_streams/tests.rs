//! Tests of the missed messages that a client gets when it reconnects.

use bytes::Bytes;

use super::{MAX_REPLAY_BYTES, MAX_REPLAY_MESSAGES, ReplayBuffer};

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

#[test]
fn the_messages_that_are_kept_are_limited_in_bytes() {
    let mut replay = ReplayBuffer::default();
    for bytes in [
        1,
        MAX_REPLAY_BYTES,
        MAX_REPLAY_BYTES / 2,
        MAX_REPLAY_BYTES / 2,
    ] {
        replay.push(vec![b'x'; bytes].into());
    }
    let ids: Vec<u64> = replay.messages_after(0).iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [3, 4]);
    replay.push(vec![b'x'; MAX_REPLAY_BYTES + 1].into());
    assert_eq!(replay.messages_after(0), [], "a longer message is not kept");
}
