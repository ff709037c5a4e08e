//! Tests of complete, chunked, too long and truncated answers, and of refused connections, on this
//! machine.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;

/// Starts a server that sends `response` to each client and then closes the connection. Returns the
/// server's URL.
async fn start_server(response: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    url
}

async fn get(url: &str, max: usize) -> Result<Bytes, HttpError> {
    let mut request = HttpRequest::new(Bytes::new());
    *request.uri_mut() = url.parse().expect("a URL");
    HttpClient::new().send(request).await?.bytes(max).await
}

#[tokio::test]
async fn an_answer_does_not_depend_on_how_it_is_chunked() {
    let long = "x".repeat(300_000);
    for (response, body) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd".to_owned(),
            "abcd",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n3\r\nbcd\r\n0\r\n\r\n"
                .to_owned(),
            "abcd",
        ),
        (
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{long}",
                long.len()
            ),
            &*long,
        ),
        (
            "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "",
        ),
    ] {
        assert_eq!(
            get(&start_server(response).await, 1_000_000)
                .await
                .expect("an answer"),
            body
        );
    }
}

#[tokio::test]
async fn a_too_long_or_truncated_answer_is_an_error() {
    let chunked =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n4\r\nefgh\r\n0\r\n\r\n";
    let long_chunked = get(&start_server(chunked.to_owned()).await, 7).await;
    assert!(
        matches!(long_chunked, Err(HttpError::TooLong { max: 7 })),
        "{long_chunked:?}"
    );
    let long_unchunked = get(
        &start_server("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nabcdefgh".to_owned()).await,
        7,
    )
    .await;
    assert!(
        matches!(long_unchunked, Err(HttpError::TooLong { max: 7 })),
        "{long_unchunked:?}"
    );
    let truncated = get(
        &start_server("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nabc".to_owned()).await,
        100,
    )
    .await;
    assert!(
        matches!(truncated, Err(HttpError::Interrupted { .. })),
        "{truncated:?}"
    );
}

#[tokio::test]
async fn a_refused_connection_is_reported_as_not_sent() {
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port")
        .local_addr()
        .expect("an address");
    let refused = get(&format!("http://{free}/"), 100).await;
    assert!(
        matches!(refused, Err(HttpError::NotSent { .. })),
        "{refused:?}"
    );
    let refused_https = get(&format!("https://{free}/"), 100).await;
    assert!(
        matches!(refused_https, Err(HttpError::NotSent { .. })),
        "{refused_https:?}"
    );
}
