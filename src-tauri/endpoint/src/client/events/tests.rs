//! Parsing of events: their ids and data, in bodies that are cut into pieces.

use std::convert::Infallible;

use arbitrary_json::Choices;
use bytes::Bytes;
use drawbridge_model::{event::Event, ids::ServerId};
use futures_util::{FutureExt, StreamExt, stream};
use proptest::prelude::*;

use super::SseEvent;

/// Ends with an event that is not complete, because no blank line follows it.
const BODY: &str = ":\n\ndata: {\"kind\":\"policy_changed\"}\n\n: keep alive\n\ndata: {\"kind\":\"of the future\"}\r\n\r\n\
    data:{\"kind\":\"server_changed\",\"id\":\"a\"}\n\ndata: {\"kind\":\"lagged\"}\n";

#[tokio::test]
async fn events_are_the_same_wherever_the_body_is_cut() {
    for size in 1..BODY.len() {
        let chunks: Vec<_> = BODY
            .as_bytes()
            .chunks(size)
            .map(|chunk| Ok::<_, Infallible>(Bytes::copy_from_slice(chunk)))
            .collect();
        let events: Vec<Event> = super::read_hub_events(stream::iter(chunks)).collect().await;
        assert_eq!(
            events,
            [
                Event::PolicyChanged,
                Event::ServerChanged {
                    id: ServerId::new("a")
                }
            ],
            "{size}"
        );
    }
}

#[tokio::test]
async fn an_event_keeps_its_id_and_all_lines_of_its_data() {
    let body = "event: message\nid: 7\ndata: {\ndata: }\n\nid: 8\n\ndata:  x\n\n";
    let chunks = [Ok::<_, Infallible>(Bytes::from_static(body.as_bytes()))];
    let events: Vec<_> = super::read_events(stream::iter(chunks)).collect().await;
    // An id applies to later events too, even if the event that sets the id has no data.
    let expected = [("7", "{\n}"), ("8", " x")];
    assert_eq!(
        events,
        expected.map(|(id, data)| SseEvent {
            name: "message".to_owned(),
            id: id.to_owned(),
            data: data.to_owned()
        })
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_message_is_read_with_spaces_for_its_carriage_returns(bytes: Vec<u8>, sizes: Vec<u8>) {
        let value = Choices::new(&bytes).value();
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{value}}}"#);
        let body = encode_as_endpoint(&message);
        let events = read_pieces(&arbitrary_json::split_bytes(&body, &sizes));
        let data: Vec<_> = events.into_iter().map(|event| event.data).collect();
        prop_assert_eq!(data, [message.replace('\r', " ")]);
    }
}

/// Returns the body with which the endpoint sends this message.
fn encode_as_endpoint(message: &str) -> Bytes {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let event = crate::mcp::events::message_event(message.as_bytes());
        let response = crate::mcp::events::sse_response(stream::iter([event]));
        axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .expect("a body")
    })
}

fn read_pieces(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let pieces: Vec<_> = pieces
        .iter()
        .map(|piece| Ok::<_, Infallible>(Bytes::copy_from_slice(piece)))
        .collect();
    super::read_events(stream::iter(pieces))
        .collect()
        .now_or_never()
        .expect("all pieces are ready")
}
