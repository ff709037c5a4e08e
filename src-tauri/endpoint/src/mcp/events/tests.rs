//! The bytes of an event stream.

use std::time::Duration;

use axum::{body::to_bytes, http::header, response::Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{message_event, sse_response};

fn stream_events(events: Vec<Bytes>) -> Response {
    sse_response(stream::iter(events))
}

async fn read_text(response: Response) -> String {
    let body = to_bytes(response.into_body(), usize::MAX)
        .await
        .expect("a body");
    String::from_utf8(body.to_vec()).expect("UTF-8")
}

#[tokio::test]
async fn a_message_is_an_event_named_message() {
    let response = stream_events(vec![
        message_event(br#"{"a":"\n \u00e9"}"#),
        message_event(b"{}"),
    ]);
    assert_eq!(
        response.headers()[header::CONTENT_TYPE],
        "text/event-stream"
    );
    let expected = "event: message\ndata: {\"a\":\"\\n \\u00e9\"}\n\nevent: message\ndata: {}\n\n";
    assert_eq!(read_text(response).await, expected);
}

#[tokio::test]
async fn line_breaks_between_tokens_do_not_end_the_event() {
    let body = read_text(stream_events(vec![message_event(b"{\n\"a\": 1\r\n}")])).await;
    let data: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&data.join("\n")).expect("JSON")["a"],
        1,
        "{body}"
    );
    assert!(
        body.ends_with("\n\n") && body.trim_end().lines().all(|line| !line.is_empty()),
        "the body is not one event: {body:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn ready_events_share_pieces_of_limited_length_and_stay_in_order() {
    let message = |number: usize| format!(r#"{{"number":{number},"text":"{}"}}"#, "x".repeat(100));
    let mut events: Vec<Bytes> = (0..200)
        .map(|number| message_event(message(number).as_bytes()))
        .collect();
    events.insert(50, message_event("y".repeat(100_000).as_bytes()));
    let expected = events.concat();
    let mut body = sse_response(stream::iter(events).chain(stream::pending()))
        .into_body()
        .into_data_stream();
    let mut received = Vec::new();
    let mut pieces = 0;
    while received.len() < expected.len() {
        let piece = body.next().await.expect("a piece").expect("no error");
        assert!(
            piece.len() < 5_000 || piece.len() > 100_000,
            "{}",
            piece.len()
        );
        received.extend_from_slice(&piece);
        pieces += 1;
    }
    assert_eq!(received, expected);
    assert!((5..=10).contains(&pieces), "{pieces} pieces");
    let comment = body.next().await.expect("a piece").expect("no error");
    assert_eq!(&comment[..], b":\n\n");
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_sends_a_comment_every_fifteen_seconds() {
    let mut body = sse_response(stream::pending::<Bytes>())
        .into_body()
        .into_data_stream();
    for _ in 0..2 {
        let start = tokio::time::Instant::now();
        let comment = body.next().await.expect("a piece").expect("no error");
        assert!(comment.starts_with(b":"), "{comment:?}");
        assert_eq!(start.elapsed(), Duration::from_secs(15));
    }
}
