//! Tests of readers that keep up and readers that do not, of streams that have ended, and of queues
//! that nobody reads.

use super::*;

const KIB: usize = 1024;

fn message(bytes: usize) -> Bytes {
    vec![b'x'; bytes].into()
}

#[tokio::test]
async fn a_reader_gets_every_message_in_order_however_long() {
    let (sender, mut reader) = message_stream();
    for bytes in [1, 16 * KIB * KIB, 2, MAX_WAITING_BYTES + 1] {
        sender.send(message(bytes)).expect("nothing else waits");
        assert_eq!(
            reader.next().await.map(|message| message.len()),
            Some(bytes)
        );
    }
    for bytes in 1..100 {
        sender.send(message(bytes)).expect("short messages fit");
    }
    for bytes in 1..100 {
        assert_eq!(
            reader.next().await.map(|message| message.len()),
            Some(bytes)
        );
    }
}

#[tokio::test]
async fn a_reader_that_keeps_reading_misses_only_messages_beyond_the_limit() {
    let (sender, mut reader) = message_stream();
    for _ in 0..100 {
        let delivered = (0..40).filter(|_| sender.send(message(2 * KIB)).is_ok());
        assert_eq!(delivered.count(), MAX_WAITING_BYTES / (2 * KIB));
        for _ in 0..MAX_WAITING_BYTES / (2 * KIB) {
            assert!(reader.next().await.is_some(), "the stream stays open");
        }
    }
}

#[tokio::test]
async fn a_stream_that_nobody_reads_ends_and_frees_its_messages() {
    for bytes in [100, 8 * KIB * KIB] {
        let (sender, mut reader) = message_stream();
        let max_bytes = MAX_WAITING_BYTES.max(bytes);
        for _ in 0..10_000 {
            let _ = sender.send(message(bytes));
            let state = sender.0.lock();
            assert!(
                state.message_bytes <= max_bytes,
                "{} bytes",
                state.message_bytes
            );
        }
        assert!(sender.is_abandoned());
        assert_eq!(sender.0.lock().message_bytes, 0);
        assert_eq!(reader.next().await, None, "the stream has ended");
        assert_eq!(sender.send(message(1)), Err(Undelivered::TooSlow));
    }
}

#[tokio::test]
async fn answers_wait_up_to_32_mib_and_more_end_the_stream() {
    let (sender, mut reader) = message_stream();
    let answer = || message(MAX_WAITING_ANSWER_BYTES / 4);
    for _ in 0..4 {
        sender.send_answer(answer()).expect("the answer fits");
    }
    assert_eq!(sender.send_answer(answer()), Err(Undelivered::TooSlow));
    assert!(sender.is_abandoned());
    assert_eq!(reader.next().await, None);
}

#[test]
fn a_message_to_an_ended_stream_is_returned_to_its_sender() {
    let (sender, mut reader) = message_stream();
    sender.send("one".into()).expect("the message fits");
    assert_eq!(reader.close(), ["one"]);
    let late = Undelivered::Ended("late".into());
    assert_eq!(sender.send("late".into()), Err(late));
    let (sender, reader) = message_stream();
    drop(reader);
    assert!(!sender.is_abandoned());
    let late = Undelivered::Ended("late".into());
    assert_eq!(sender.send("late".into()), Err(late));
}

#[tokio::test]
async fn an_outbox_keeps_its_latest_messages_until_somebody_reads() {
    let queue = Arc::new(MessageQueue::new(Lifetime::Session));
    for number in 0..1_000 {
        let text = format!("{number:>1024}");
        queue
            .push(text.into())
            .expect("the oldest messages make room");
    }
    assert_eq!(
        queue.push(message(MAX_WAITING_BYTES + 1)),
        Err(Undelivered::TooSlow),
        "a message beyond the limit waits only if somebody reads"
    );
    let mut reader = queue.attach_reader();
    let oldest = 1_000 - MAX_WAITING_BYTES / KIB;
    for number in oldest..1_000 {
        let text = reader.next().await.expect("a message");
        assert_eq!(text, format!("{number:>1024}"));
    }
    queue.push(message(KIB * KIB)).expect("somebody reads");
    let mut next_reader = queue.attach_reader();
    assert_eq!(reader.next().await, None, "the next reader took over");
    drop(reader);
    assert_eq!(
        next_reader.next().await.map(|message| message.len()),
        Some(KIB * KIB)
    );
}
