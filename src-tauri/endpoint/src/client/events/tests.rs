//! Parsing of events from bodies that are cut into pieces.

use std::convert::Infallible;

use arbitrary_json::Choices;
use bytes::Bytes;
use drawbridge_hub::model::{event::Event, ids::ServerId};
use futures_util::{StreamExt, stream};
use proptest::prelude::*;

use super::{SseEvent, properties};

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
    let expected = [("7", "{\n}"), ("", " x")];
    assert_eq!(
        events,
        expected.map(|(id, data)| SseEvent {
            id: id.to_owned(),
            data: data.as_bytes().to_vec()
        })
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_body_in_any_pieces_is_the_same_events(parts in prop::collection::vec(part(), 0..40), sizes: Vec<u8>) {
        properties::check_events_do_not_depend_on_pieces(&arbitrary_json::split_bytes(&parts.concat(), &sizes));
    }

    #[test]
    fn a_message_of_the_endpoint_is_read_unchanged(bytes: Vec<u8>, sizes: Vec<u8>) {
        let value = Choices::new(&bytes).value();
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{value}}}"#);
        let event = crate::mcp::events::message_event(&Bytes::from(message.clone()));
        let body = endpoint_event(event);
        let events = properties::read_pieces(&arbitrary_json::split_bytes(&body, &sizes));
        let data: Vec<_> = events.iter().map(|event| String::from_utf8_lossy(&event.data)).collect();
        prop_assert_eq!(data, [message.replace('\r', " ")]);
    }
}

fn endpoint_event(event: axum::response::sse::Event) -> Bytes {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let response = crate::mcp::events::sse_response(stream::iter([event]));
        axum::body::to_bytes(response.into_body(), usize::MAX)
            .await
            .expect("a body")
    })
}

/// Generates text in which significant parts are frequent.
fn part() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: &[&str] = &[
        "\n",
        "\r\n",
        "\n\n",
        "data:",
        "data: {}",
        "event: message",
        "id:",
        "id: 7",
        ":",
        " ",
        "\r",
    ];
    prop_oneof![
        4 => prop::sample::select(PARTS).prop_map(|part| part.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}
