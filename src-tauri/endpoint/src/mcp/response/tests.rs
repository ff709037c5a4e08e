//! Messages precede the answer to which they belong. Only a client that reads too slowly loses
//! messages.

use std::future::{pending, ready};

use bytes::Bytes;
use drawbridge_sessions::message_stream;

use super::ResponseMessages;

#[tokio::test]
async fn an_answer_without_other_messages_is_the_only_message() {
    let (_messages, receiver) = message_stream();
    let mut response = ResponseMessages::new(receiver, ready("answer".into()));
    assert_eq!(response.next().await, Some(Bytes::from("answer")));
    assert!(response.is_finished());
    assert_eq!(response.next().await, None);
}

#[tokio::test]
async fn messages_sent_just_before_the_answer_precede_it() {
    let (messages, receiver) = message_stream();
    let late_sender = messages.clone();
    let answer = async move {
        for message in ["one", "two"] {
            messages.send(Bytes::from(message)).expect("room");
        }
        Bytes::from("answer")
    };
    let mut response = ResponseMessages::new(receiver, answer);
    for expected in ["one", "two", "answer"] {
        assert!(!response.is_finished());
        assert_eq!(response.next().await, Some(Bytes::from(expected)));
    }
    assert!(response.is_finished());
    assert!(
        late_sender.send(Bytes::from("late")).is_err(),
        "a message was accepted after the answer"
    );
}

#[tokio::test]
async fn a_message_is_returned_before_the_answer_is_ready() {
    let (messages, receiver) = message_stream();
    let mut response = ResponseMessages::new(receiver, pending());
    messages.send(Bytes::from("one")).expect("room");
    assert_eq!(response.next().await, Some(Bytes::from("one")));
    assert!(!response.is_finished());
}

#[tokio::test]
async fn a_client_that_reads_too_slowly_loses_messages_and_its_stream_but_not_the_answer() {
    let (messages, receiver) = message_stream();
    for _ in 0..10_000 {
        let _ = messages.send(Bytes::from_static(&[b'x'; 1024]));
    }
    let mut response = ResponseMessages::new(receiver, ready("answer".into()));
    assert_eq!(response.next().await, None);
    assert!(!response.is_finished());
    assert_eq!(response.next().await, Some(Bytes::from("answer")));
    assert!(response.is_finished());
}
