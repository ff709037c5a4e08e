//! Sessions, cancellations, the end of a connection, and the stream of the server's own messages.

use std::collections::BTreeMap;

use drawbridge_model::protocol::NEWEST_LEGACY;
use tokio::{io::AsyncWriteExt, sync::mpsc};

use super::*;
use crate::transport::test_server::{ACCEPTED, STREAM, Server};

const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;

/// Returns a transport, the sender of its events, and their receiver, which holds `capacity`
/// events.
fn new_transport(
    url: String,
    capacity: usize,
) -> (
    Arc<HttpTransport>,
    EventSender,
    mpsc::Receiver<TransportEvent>,
) {
    let (sender, inbox) = mpsc::channel(capacity);
    let events = EventSender::new(sender);
    let target = HttpTarget {
        url,
        headers: BTreeMap::new(),
        bearer: None,
    };
    let transport = HttpTransport::new(HttpClient::new(), &target, events.clone());
    (transport.expect("a URL"), events, inbox)
}

/// Returns a transport to a legacy server. The transport opens the stream of the server's own
/// messages.
fn connected(server: &Server) -> (Arc<HttpTransport>, mpsc::Receiver<TransportEvent>) {
    let (transport, _, inbox) = new_transport(server.url("/mcp"), 8);
    transport.complete_handshake(&ServerHello {
        protocol_version: NEWEST_LEGACY.to_owned(),
        ..ServerHello::default()
    });
    (transport, inbox)
}

fn request(id: u64, method: &'static str) -> TransportRequest<'static> {
    TransportRequest {
        id,
        method,
        params: None,
        headers: &[],
    }
}

fn response_with_session(session: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: {session}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn only_a_successful_initialize_begins_a_session() {
    let server = Server::new().await;
    let (transport, _events, _inbox) = new_transport(server.url("/mcp"), 8);

    let refusal = response_with_session(
        "refused",
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#,
    );
    let (response, _) = tokio::join!(
        transport.request(request(1, "initialize")),
        server.exchange(&refusal)
    );
    assert!(
        matches!(response, Ok(RpcResponse::Error(_))),
        "{response:?}"
    );
    assert_eq!(transport.session_id(), None);

    let success = response_with_session("begun", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    let (response, (sent, _stream)) = tokio::join!(
        transport.request(request(2, "initialize")),
        server.exchange(&success)
    );
    assert!(
        matches!(response, Ok(RpcResponse::Result(_))),
        "{response:?}"
    );
    assert!(!sent.to_lowercase().contains("mcp-session-id"), "{sent}");
    assert_eq!(transport.session_id().as_deref(), Some("begun"));
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_cancelled_unless_it_is_initialize() {
    let server = Server::new().await;
    let (transport, _events, _inbox) = new_transport(server.url("/mcp"), 8);
    for (method, is_cancelled) in [("initialize", false), ("tools/list", true)] {
        let time_limit = Duration::from_millis(500);
        let (given_up, _exchange) = tokio::join!(
            timeout(time_limit, transport.request(request(1, method))),
            server.exchange("")
        );
        given_up.expect_err("no answer");
        if is_cancelled {
            let (sent, _) = server.exchange(ACCEPTED).await;
            assert!(sent.contains("notifications/cancelled"), "{sent}");
        } else {
            server.assert_no_request().await;
        }
    }
}

#[tokio::test]
async fn the_end_is_reported_once_even_if_the_inbox_is_full() {
    let (transport, events, mut inbox) = new_transport("http://127.0.0.1:1/mcp".to_owned(), 1);
    events.send_later(TransportEvent::Ended(EndReason::Unresponsive));
    for id in 1..=2 {
        let answer = transport.request(request(id, "tools/list")).await;
        assert!(
            matches!(answer, Err(TransportError::NotSent(_))),
            "{answer:?}"
        );
    }
    drop((transport, events));
    let first = inbox.recv().await;
    assert!(
        matches!(first, Some(TransportEvent::Ended(EndReason::Unresponsive))),
        "{first:?}"
    );
    let end = inbox.recv().await;
    assert!(
        matches!(end, Some(TransportEvent::Ended(EndReason::Remote(_)))),
        "{end:?}"
    );
    assert!(inbox.recv().await.is_none());
}

#[tokio::test]
async fn the_stream_is_opened_again_after_an_event_that_is_too_long() {
    let server = Server::new().await;
    let (_transport, mut inbox) = connected(&server);
    let (_, mut stream) = server.exchange(STREAM).await;
    let event = format!("retry: 10\ndata: {}", "x".repeat(MAX_MESSAGE));
    // Fails if the client closes the connection before it has read everything.
    let _ = stream.write_all(event.as_bytes()).await;

    let (_, mut stream) = server.exchange(STREAM).await;
    let event = format!("data: {NOTIFICATION}\n\n");
    stream.write_all(event.as_bytes()).await.expect("written");
    let event = inbox.recv().await;
    assert!(
        matches!(event, Some(TransportEvent::Message { .. })),
        "{event:?}"
    );
}
