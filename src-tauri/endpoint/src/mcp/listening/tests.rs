//! The messages that a client gets when it reconnects.

use bytes::Bytes;

use super::{MAX_KEPT, Said};

#[test]
fn a_client_that_comes_back_gets_what_it_missed_in_order() {
    let mut said = Said::default();
    let ids: Vec<u64> = ["a", "b", "c"]
        .map(|message| said.keep(message.into()))
        .into();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(
        said.behind(1),
        [(2, Bytes::from("b")), (3, Bytes::from("c"))]
    );
    assert_eq!(said.behind(3), []);
    assert_eq!(said.behind(99), [], "an id that was never given");
}

#[test]
fn only_the_last_messages_are_kept() {
    let mut said = Said::default();
    for _ in 0..MAX_KEPT + 10 {
        said.keep(Bytes::new());
    }
    let kept = said.behind(0);
    assert_eq!((kept.len(), kept[0].0), (MAX_KEPT, 11));
}
