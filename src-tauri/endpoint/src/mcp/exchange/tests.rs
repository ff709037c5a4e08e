//! Messages precede the answer that they belong to, and none is lost.

use std::future::{pending, ready};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::Conversation;

#[tokio::test]
async fn an_answer_alone_is_all_there_is() {
    let (_messages, receiver) = mpsc::channel(1);
    let mut conversation = Conversation::new(receiver, ready("answer".into()));
    assert_eq!(conversation.next().await, Some(Bytes::from("answer")));
    assert!(conversation.is_over());
    assert_eq!(conversation.next().await, None);
}

#[tokio::test]
async fn what_is_sent_with_the_last_breath_comes_before_the_answer() {
    let (messages, receiver) = mpsc::channel(2);
    let late = messages.clone();
    let answer = async move {
        for message in ["one", "two"] {
            messages.try_send(Bytes::from(message)).expect("room");
        }
        Bytes::from("answer")
    };
    let mut conversation = Conversation::new(receiver, answer);
    for expected in ["one", "two", "answer"] {
        assert!(!conversation.is_over());
        assert_eq!(conversation.next().await, Some(Bytes::from(expected)));
    }
    assert!(conversation.is_over());
    assert!(
        late.try_send(Bytes::from("late")).is_err(),
        "what comes after it is for the session"
    );
}

#[tokio::test]
async fn a_message_is_given_out_while_the_answer_is_not_there() {
    let (messages, receiver) = mpsc::channel(1);
    let mut conversation = Conversation::new(receiver, pending());
    messages.try_send(Bytes::from("one")).expect("room");
    assert_eq!(conversation.next().await, Some(Bytes::from("one")));
    assert!(!conversation.is_over());
}
