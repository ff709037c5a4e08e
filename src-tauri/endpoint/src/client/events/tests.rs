//! Events are read whole, however the body is cut.

use std::convert::Infallible;

use bytes::Bytes;
use drawbridge_hub::model::{event::Event, ids::ServerId};
use futures_util::{StreamExt, stream};

use super::Sent;

const BODY: &str = ":\n\ndata: {\"kind\":\"policy_changed\"}\n\n: keep alive\n\ndata: {\"kind\":\"of the future\"}\r\n\r\n\
    data:{\"kind\":\"server_changed\",\"id\":\"a\"}\n\ndata: {\"kind\":\"lagged\"}\n";

#[tokio::test]
async fn events_are_the_same_wherever_the_body_is_cut() {
    for size in 1..BODY.len() {
        let chunks: Vec<_> =
            BODY.as_bytes().chunks(size).map(|chunk| Ok::<_, Infallible>(Bytes::copy_from_slice(chunk))).collect();
        let events: Vec<Event> = super::read(stream::iter(chunks)).collect().await;
        assert_eq!(events, [Event::PolicyChanged, Event::ServerChanged { id: ServerId::new("a") }], "{size}");
    }
}

#[tokio::test]
async fn an_event_keeps_its_id_and_all_lines_of_its_data() {
    let body = "event: message\nid: 7\ndata: {\ndata: }\n\nid: 8\n\ndata:  x\n\n";
    let chunks = [Ok::<_, Infallible>(Bytes::from_static(body.as_bytes()))];
    let sent: Vec<_> = super::sent(stream::iter(chunks)).collect().await;
    let expected = [("7", "{\n}"), ("", " x")];
    assert_eq!(sent, expected.map(|(id, data)| Sent { id: id.to_owned(), data: data.as_bytes().to_vec() }));
}
