//! Messages precede the answer that they belong to, and none is lost.

use std::future::{pending, ready};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::ResponseMessages;

#[tokio::test]
async fn an_answer_without_other_messages_is_the_only_one() {
    let (_messages, receiver) = mpsc::channel(1);
    let mut response = ResponseMessages::new(receiver, ready("answer".into()));
    assert_eq!(response.next().await, Some(Bytes::from("answer")));
    assert!(response.is_finished());
    assert_eq!(response.next().await, None);
}

#[tokio::test]
async fn messages_sent_just_before_the_answer_precede_it() {
    let (messages, receiver) = mpsc::channel(2);
    let late_sender = messages.clone();
    let answer = async move {
        for message in ["one", "two"] {
            messages.try_send(Bytes::from(message)).expect("room");
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
        late_sender.try_send(Bytes::from("late")).is_err(),
        "a message was accepted after the answer"
    );
}

#[tokio::test]
async fn a_message_is_returned_before_the_answer_is_ready() {
    let (messages, receiver) = mpsc::channel(1);
    let mut response = ResponseMessages::new(receiver, pending());
    messages.try_send(Bytes::from("one")).expect("room");
    assert_eq!(response.next().await, Some(Bytes::from("one")));
    assert!(!response.is_finished());
}
