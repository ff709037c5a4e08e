//! Bodies that arrive in pieces, too slowly, or without end.

use std::convert::Infallible;

use futures_util::{StreamExt, stream};

use super::*;

fn pieces(pieces: &[&'static str]) -> Body {
    let pieces: Vec<_> = pieces
        .iter()
        .map(|piece| Ok::<_, Infallible>(Bytes::from_static(piece.as_bytes())))
        .collect();
    Body::from_stream(stream::iter(pieces))
}

#[tokio::test]
async fn a_body_is_the_same_in_however_many_pieces_it_comes() {
    for body in [
        Body::from("abcd"),
        pieces(&["abcd"]),
        pieces(&["a", "", "bc", "d"]),
    ] {
        assert_eq!(
            read_body(Body::new(TimeoutBody::new(body)))
                .await
                .expect("read"),
            "abcd"
        );
    }
    assert_eq!(read_body(Body::empty()).await.expect("read"), "");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_coming_is_given_up_and_one_that_is_slow_is_not() {
    let slow = stream::iter(0..4).then(|_| async {
        sleep(READ_TIMEOUT - Duration::from_secs(1)).await;
        Ok::<_, Infallible>(Bytes::from_static(b"x"))
    });
    let whole = read_body(Body::new(TimeoutBody::new(Body::from_stream(slow))))
        .await
        .expect("each piece came in time");
    assert_eq!(whole, "xxxx");

    let stuck = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b"x")) })
        .chain(stream::pending());
    let refusal = read_body(Body::new(TimeoutBody::new(Body::from_stream(stuck))))
        .await
        .expect_err("given up");
    assert_eq!(refusal.status, StatusCode::BAD_REQUEST);
    assert!(
        refusal.error.message.contains("within 30 s"),
        "{}",
        refusal.error.message
    );
}

#[tokio::test]
async fn a_body_without_end_is_refused_where_it_is_too_long() {
    let piece = Bytes::from(vec![b'x'; MAX_BODY_BYTES / 4]);
    let endless = stream::repeat_with(move || Ok::<_, Infallible>(piece.clone()));
    let refusal = read_body(Body::from_stream(endless))
        .await
        .expect_err("refused");
    assert_eq!(refusal.status, StatusCode::PAYLOAD_TOO_LARGE);
}
