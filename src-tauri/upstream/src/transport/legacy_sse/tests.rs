//! Resolving the endpoint, which is the URL for messages; answers and cancellations; and streams
//! that are cut off, slow, long, closed, redirected or refused.

use std::collections::BTreeMap;

use drawbridge_jsonrpc::server_message::Incoming;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
};
use url::Url;

use super::{
    opening::{EndpointReader, resolve_endpoint},
    *,
};
use crate::transport::{
    Transport,
    test_server::{ACCEPTED, LONG, STREAM, Server},
};

async fn try_connect(
    url: &str,
    time_limit: Duration,
) -> (
    Result<SseTransport, SseError>,
    mpsc::Receiver<TransportEvent>,
) {
    let http = HttpClient::new();
    let headers = BTreeMap::from([("X-Key".to_owned(), "s3cret".to_owned())]);
    let (sender, inbox) = mpsc::channel(8);
    let events = EventSender::new(sender);
    (
        SseTransport::connect(
            http,
            &HttpTarget {
                url: url.to_owned(),
                headers,
                bearer: None,
            },
            time_limit,
            events,
        )
        .await,
        inbox,
    )
}

/// Returns a connected transport, its open stream, and its events.
async fn connected(
    server: &Server,
) -> (Arc<SseTransport>, TcpStream, mpsc::Receiver<TransportEvent>) {
    let opening = format!("{STREAM}event: endpoint\ndata: /messages/?session_id=abc\n\n");
    let url = server.url("/sse");
    let ((transport, inbox), (request, stream)) =
        tokio::join!(try_connect(&url, LONG), server.exchange(&opening));
    assert!(
        request.to_lowercase().contains("accept: text/event-stream"),
        "{request}"
    );
    assert!(
        request.to_lowercase().contains("x-key: s3cret"),
        "{request}"
    );
    (Arc::new(transport.expect("connect")), stream, inbox)
}

async fn connect_error(server: &Server, response: &str) -> String {
    let url = server.url("/sse");
    let ((transport, _inbox), _) = tokio::join!(try_connect(&url, LONG), server.exchange(response));
    transport.err().expect("an error").to_string()
}

fn list_request(id: u64) -> TransportRequest<'static> {
    TransportRequest {
        id,
        method: "tools/list",
        params: None,
        headers: &[],
    }
}

/// Sends a request in a task, and drops it after `time_limit`, like a caller whose deadline passes.
/// The task then returns `SendTimedOut`, which stands for the error of that caller.
fn send_request(
    transport: &Arc<SseTransport>,
    id: u64,
    time_limit: Duration,
) -> tokio::task::JoinHandle<Result<RpcResponse, TransportError>> {
    let transport = transport.clone();
    let given_up = || {
        Err(TransportError::Lost(LostReason::SendTimedOut {
            time_limit: Duration::ZERO,
        }))
    };
    tokio::spawn(async move {
        timeout(time_limit, transport.request(list_request(id)))
            .await
            .unwrap_or_else(|_| given_up())
    })
}

#[test]
fn every_form_of_an_endpoint_is_resolved_against_the_url_of_the_stream() {
    for (url, data, expected) in [
        (
            "http://h:1/sse",
            "/messages/?session_id=abc",
            "http://h:1/messages/?session_id=abc",
        ),
        ("http://h:1/sse/", " http://h:1/m?s=1 ", "http://h:1/m?s=1"),
        (
            "http://h:1/sse",
            r#"{"uri": "http://h:1/messages/?session_id=abc"}"#,
            "http://h:1/messages/?session_id=abc",
        ),
        (
            "http://h:1/sse",
            r#"{"uri": "/messages/?session_id=abc"}"#,
            "http://h:1/messages/?session_id=abc",
        ),
        (
            "http://h:1/sse/",
            r#"{"session_id": "abc"}"#,
            "http://h:1/messages/?session_id=abc",
        ),
        (
            "https://h/a/sse?x=1",
            r#"{"session_id": "a&b"}"#,
            "https://h/a/messages/?session_id=a%26b",
        ),
    ] {
        let endpoint = resolve_endpoint(&Url::parse(url).expect("a URL"), data).expect(data);
        assert_eq!(endpoint.as_str(), expected, "{data}");
    }
}

#[test]
fn an_endpoint_at_another_origin_or_without_a_url_is_refused() {
    let url = Url::parse("http://h:1/sse").expect("a URL");
    for data in [
        "http://other:1/m",
        "https://h:1/m",
        "//other/m",
        "http://h:2/m",
        r#"{"uri":"http://other/m"}"#,
    ] {
        assert!(
            resolve_endpoint(&url, data)
                .expect_err(data)
                .to_string()
                .contains("another server"),
            "{data}"
        );
    }
    for data in ["{}", "{", r#"{"uri":1}"#] {
        assert!(
            resolve_endpoint(&url, data)
                .expect_err(data)
                .to_string()
                .contains("names no URL"),
            "{data}"
        );
    }
}

#[test]
fn only_the_text_before_the_endpoint_is_bounded() {
    let endpoint = "event: endpoint\ndata:\n\nevent: endpoint\ndata: /m\n\n";
    let mut reader = EndpointReader::new();
    let after = ": more\n".repeat(200);
    reader
        .push(format!("{}{endpoint}{after}", ": ping\n".repeat(94)).as_bytes())
        .expect("100 lines");
    assert_eq!(reader.endpoint.as_deref(), Some("/m"));
    assert!(
        EndpointReader::new()
            .push(format!("{}{endpoint}", ": ping\n".repeat(95)).as_bytes())
            .is_err()
    );
    assert!(EndpointReader::new().push(&[b'x'; 64 * 1024 + 1]).is_err());
}

#[tokio::test]
async fn answers_come_on_the_stream_in_any_order() {
    let server = Server::new().await;
    let (transport, mut stream, mut inbox) = connected(&server).await;
    let first = send_request(&transport, 1, LONG);
    let (request, _) = server.exchange(ACCEPTED).await;
    assert!(
        request.starts_with("POST /messages/?session_id=abc HTTP/1.1"),
        "{request}"
    );
    assert!(
        request.to_lowercase().contains("x-key: s3cret"),
        "{request}"
    );
    let second = send_request(&transport, 2, LONG);
    server.exchange(ACCEPTED).await;
    let events = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"n\":2.0}}\n\n\
                  event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n\
                  event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":1.0}}\n\n";
    stream.write_all(events.as_bytes()).await.expect("written");
    for (request, answer) in [(first, r#"{"n":1.0}"#), (second, r#"{"n":2.0}"#)] {
        let response = request
            .await
            .expect("the task ends")
            .expect("an answer")
            .into_result()
            .expect("a result");
        assert_eq!(response.get(), answer);
    }
    let event = inbox.recv().await;
    assert!(
        matches!(event, Some(TransportEvent::Message { message: Incoming::Notification { ref method, .. }, during_request: None }) if method == "notifications/x")
    );
}

#[tokio::test]
async fn an_answer_in_the_response_to_the_post_is_accepted() {
    let server = Server::new().await;
    let (transport, _stream, _inbox) = connected(&server).await;
    let request = send_request(&transport, 1, LONG);
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let length = body.len();
    server
        .exchange(&format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ))
        .await;
    assert_eq!(
        request
            .await
            .expect("the task ends")
            .expect("an answer")
            .into_result()
            .expect("a result")
            .get(),
        "{}"
    );
}

#[tokio::test]
async fn requests_in_flight_are_lost_with_the_stream() {
    let server = Server::new().await;
    let (transport, stream, mut inbox) = connected(&server).await;
    let request = send_request(&transport, 1, LONG);
    server.exchange(ACCEPTED).await;
    drop(stream);
    let lost = request
        .await
        .expect("the task ends")
        .expect_err("the request fails");
    assert!(
        matches!(&lost, TransportError::Lost(error) if error.to_string().contains("stream")),
        "{lost}"
    );
    assert!(matches!(inbox.recv().await, Some(TransportEvent::Ended(_))));
    assert!(transport.end_reason().is_some());
    assert!(matches!(
        transport.request(list_request(9)).await,
        Err(TransportError::NotSent(_))
    ));
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_cancelled_at_the_server() {
    let server = Server::new().await;
    let (transport, _stream, _inbox) = connected(&server).await;
    let request = send_request(&transport, 1, Duration::from_millis(200));
    server.exchange(ACCEPTED).await;
    let (cancelled, _) = server.exchange(ACCEPTED).await;
    assert!(
        cancelled.contains("notifications/cancelled") && cancelled.contains(r#""requestId":1"#),
        "{cancelled}"
    );
    assert!(matches!(
        request.await.expect("the task ends"),
        Err(TransportError::Lost(LostReason::SendTimedOut { .. }))
    ));
}

#[tokio::test]
async fn an_initialize_that_takes_too_long_is_not_cancelled_at_the_server() {
    let server = Server::new().await;
    let (transport, _stream, _inbox) = connected(&server).await;
    let initialize = TransportRequest {
        method: "initialize",
        ..list_request(1)
    };
    let (given_up, _exchange) = tokio::join!(
        timeout(Duration::from_millis(500), transport.request(initialize)),
        server.exchange(ACCEPTED)
    );
    given_up.expect_err("no answer");
    server.assert_no_request().await;
}

#[tokio::test]
async fn a_connection_over_http_is_no_pipe() {
    let server = Server::new().await;
    let url = server.url("/sse");
    let opening = format!("{STREAM}event: endpoint\ndata: /m\n\n");
    let ((transport, _inbox), _exchange) =
        tokio::join!(try_connect(&url, LONG), server.exchange(&opening));
    assert!(!Transport::Sse(transport.expect("connect")).is_pipe());
}

#[tokio::test]
async fn a_404_for_a_lost_session_ends_the_connection_and_the_request_counts_as_not_sent() {
    let server = Server::new().await;
    let (transport, _stream, mut inbox) = connected(&server).await;
    let request = send_request(&transport, 1, LONG);
    server
        .exchange("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .await;
    assert!(matches!(
        request.await.expect("the task ends"),
        Err(TransportError::NotSent(NotSentReason::Ended(
            EndReason::SessionLost
        )))
    ));
    assert!(matches!(inbox.recv().await, Some(TransportEvent::Ended(_))));
}

#[tokio::test]
async fn a_closed_transport_closes_its_stream() {
    let server = Server::new().await;
    let (transport, mut stream, _inbox) = connected(&server).await;
    transport.close().await;
    let end = timeout(LONG, stream.read(&mut [0]))
        .await
        .expect("the stream is closed");
    assert!(matches!(end, Ok(0) | Err(_)));
    assert!(matches!(transport.end_reason(), Some(EndReason::Stopped)));
}

#[tokio::test]
async fn a_redirect_to_the_same_origin_is_followed_once() {
    let server = Server::new().await;
    let moved = "HTTP/1.1 307 Temporary Redirect\r\nLocation: /sse/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let url = server.url("/sse");
    let opening = format!("{STREAM}event: endpoint\ndata: /m\n\n");
    let ((transport, _inbox), (_, (second_request, _stream))) =
        tokio::join!(try_connect(&url, LONG), async {
            (
                server.exchange(moved).await,
                server.exchange(&opening).await,
            )
        });
    transport.expect("connect");
    assert!(
        second_request.starts_with("GET /sse/ ")
            && second_request.to_lowercase().contains("x-key: s3cret"),
        "{second_request}"
    );

    let twice = async { (server.exchange(moved).await, server.exchange(moved).await) };
    let ((transport, _inbox), _) = tokio::join!(try_connect(&url, LONG), twice);
    assert!(
        transport
            .err()
            .expect("an error")
            .to_string()
            .contains("307")
    );
}

#[tokio::test]
async fn a_response_that_is_no_stream_is_refused_with_a_reason() {
    let server = Server::new().await;
    let elsewhere =
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/sse\r\nContent-Length: 0\r\n\r\n";
    assert!(
        connect_error(&server, elsewhere)
            .await
            .contains("another server")
    );
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert!(connect_error(&server, page).await.contains("text/html"));
    let locked = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert!(
        connect_error(&server, locked)
            .await
            .contains("check the token")
    );
    let (transport, _inbox) = try_connect("http://127.0.0.1:1/sse", LONG).await;
    assert!(
        transport
            .err()
            .expect("an error")
            .to_string()
            .contains("cannot connect")
    );
}

#[tokio::test]
async fn a_stream_without_an_endpoint_is_an_error_that_lists_possible_causes() {
    let server = Server::new().await;
    let url = server.url("/sse");
    let (transport, _stream) = tokio::join!(
        try_connect(&url, Duration::from_millis(200)),
        server.exchange(STREAM)
    );
    let message = transport.0.err().expect("an error").to_string();
    for part in [
        "0.2 s",
        "server is running",
        &format!("currently: {url}"),
        "network",
        "firewall",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}
