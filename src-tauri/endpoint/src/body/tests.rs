//! Bodies that arrive in pieces, too slowly, or without end, and bodies that exceed the memory for
//! requests.

use std::convert::Infallible;

use drawbridge_model::ids::ClientName;
use drawbridge_sessions::RequestBudget;
use futures_util::{StreamExt, stream};
use tokio::time::sleep;

use super::*;

async fn read(body: Body) -> Result<Bytes, Refusal> {
    let permit = RequestBudget::default().begin(&ClientName::new("desk"));
    read_body(body, &mut permit.expect("the first request")).await
}

fn pieces(pieces: &[&'static str]) -> Body {
    let pieces: Vec<_> = pieces
        .iter()
        .map(|piece| Ok::<_, Infallible>(Bytes::from_static(piece.as_bytes())))
        .collect();
    Body::from_stream(stream::iter(pieces))
}

#[tokio::test]
async fn a_body_does_not_depend_on_its_pieces() {
    for body in [
        Body::from("abcd"),
        pieces(&["abcd"]),
        pieces(&["a", "", "bc", "d"]),
    ] {
        assert_eq!(
            read(Body::new(BoundedBody::new(body))).await.expect("read"),
            "abcd"
        );
    }
    assert_eq!(read(Body::empty()).await.expect("read"), "");
}

#[tokio::test(start_paused = true)]
async fn a_stalled_body_is_refused_and_a_slow_body_is_not() {
    let slow = stream::iter(0..4).then(|_| async {
        sleep(TOTAL_TIMEOUT / 5).await;
        Ok::<_, Infallible>(Bytes::from_static(b"x"))
    });
    let whole = read(Body::new(BoundedBody::new(Body::from_stream(slow))))
        .await
        .expect("each piece arrives in time");
    assert_eq!(whole, "xxxx");

    let stuck = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b"x")) })
        .chain(stream::pending());
    let refusal = read(Body::new(BoundedBody::new(Body::from_stream(stuck))))
        .await
        .expect_err("the body takes too long");
    assert_eq!(refusal.status, StatusCode::BAD_REQUEST);
    assert!(
        refusal.error.message.contains("within 30 s"),
        "{}",
        refusal.error.message
    );
}

#[tokio::test]
async fn a_body_without_end_is_refused_once_it_is_too_long() {
    let piece = Bytes::from(vec![b'x'; MAX_BODY_BYTES / 4]);
    let endless = stream::repeat_with(move || Ok::<_, Infallible>(piece.clone()));
    let refusal = read(Body::from_stream(endless))
        .await
        .expect_err("the body is too long");
    assert_eq!(refusal.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test(start_paused = true)]
async fn a_body_is_refused_if_its_pieces_arrive_in_time_but_the_whole_does_not() {
    let start = Instant::now();
    let trickle = stream::repeat_with(|| ()).then(|()| async {
        sleep(READ_TIMEOUT - Duration::from_secs(5)).await;
        Ok::<_, Infallible>(Bytes::from_static(b"x"))
    });
    let refusal = read(Body::new(BoundedBody::new(Body::from_stream(trickle))))
        .await
        .expect_err("the body takes too long");
    assert_eq!(start.elapsed(), TOTAL_TIMEOUT);
    assert!(
        refusal.error.message.contains("within 120 s"),
        "{}",
        refusal.error.message
    );
}

#[tokio::test]
async fn small_pieces_are_joined_and_large_pieces_are_passed_on() {
    let bytes = 5 * MIN_PIECE_BYTES / 2;
    let small_pieces = stream::iter(vec![Ok::<_, Infallible>(Bytes::from_static(b"x")); bytes]);
    let mut body = BoundedBody::new(Body::from_stream(small_pieces));
    let mut lengths = Vec::new();
    while let Some(piece) = body.frame().await {
        let piece = piece.expect("a piece").into_data().expect("data");
        lengths.push(piece.len());
    }
    let joined = MIN_PIECE_BYTES;
    assert_eq!(lengths, [joined, joined, joined / 2]);
    let large = Bytes::from(vec![b'x'; MIN_PIECE_BYTES]);
    let mut body = BoundedBody::new(Body::from(large.clone()));
    let piece = body.frame().await.expect("a piece").expect("a piece");
    let piece = piece.into_data().expect("data");
    assert_eq!(piece.as_ptr(), large.as_ptr(), "the piece was copied");
}

#[tokio::test]
async fn a_body_beyond_the_memory_for_requests_is_refused() {
    let (budget, client) = (RequestBudget::default(), ClientName::new("desk"));
    let large = Bytes::from(vec![b'x'; MAX_BODY_BYTES]);
    let mut permits = Vec::new();
    let refusal = loop {
        let mut permit = budget.begin(&client).expect("a request");
        match read_body(Body::from(large.clone()), &mut permit).await {
            Ok(_) => permits.push(permit),
            Err(refusal) => break refusal,
        }
        assert!(permits.len() <= 16, "no limit");
    };
    assert_eq!(refusal.status, StatusCode::SERVICE_UNAVAILABLE);
    let message = refusal.error.message;
    assert!(message.contains("in flight take more than"), "{message}");
    permits.pop();
    let mut permit = budget.begin(&client).expect("a request");
    let again = read_body(Body::from(large), &mut permit).await;
    assert!(again.is_ok(), "there is room again");
}
