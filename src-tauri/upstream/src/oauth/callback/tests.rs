use super::*;

fn code(text: &str) -> Option<AuthorizationResponse> {
    Some(AuthorizationResponse {
        outcome: AuthorizationResult::Code(text.into()),
        issuer: None,
    })
}

#[test]
fn only_an_answer_with_the_state_counts() {
    assert_eq!(parse_query("code=c&state=s", "s"), code("c"));
    assert_eq!(
        parse_query("state=s&code=c%2B&iss=https%3A%2F%2Fa.example", "s"),
        Some(AuthorizationResponse {
            outcome: AuthorizationResult::Code("c+".into()),
            issuer: Some("https://a.example".into())
        })
    );
    for other in [
        "",
        "code=c",
        "code=c&state=",
        "code=c&state=x",
        "state=s",
        "code=c&state=s&error=e",
        "code=c&state=s&state=s",
    ] {
        assert_eq!(parse_query(other, "s"), None, "{other}");
    }
    let repeated = ["code=c&code=d&state=s", "code=c&state=s&iss=a&iss=b"];
    assert!(
        repeated
            .iter()
            .all(|query| parse_query(query, "s").is_none()),
        "a query that repeats a parameter is rejected"
    );
}

#[test]
fn a_refusal_has_its_reason() {
    let refused = parse_query(
        "error=access_denied&error_description=not+today&state=s",
        "s",
    )
    .expect("an answer");
    assert_eq!(
        refused.outcome,
        AuthorizationResult::Refused("access_denied: not today".into())
    );
    assert_eq!(
        parse_query("error=access_denied&state=x", "s"),
        None,
        "a refusal with another state is ignored"
    );
}

async fn get_page(url: &str) -> (u16, String) {
    crate::install_tls();
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let response = client.get(url).send().await.expect("an answer");
    (
        response.status().as_u16(),
        response.text().await.expect("a page"),
    )
}

#[tokio::test]
async fn the_browser_gets_a_page_and_the_listener_is_gone_after_one_answer() {
    let callback = Callback::bind(None).await.expect("bind a port");
    let uri = callback.redirect_uri();
    let port = Callback::port_of(&uri).expect("a port");
    let waiting = tokio::spawn(async move { callback.wait("s").await });
    assert_eq!(get_page(&format!("{uri}?code=c&state=wrong")).await.0, 400);
    assert_eq!(
        get_page(&format!("http://127.0.0.1:{port}/other?code=c&state=s"))
            .await
            .0,
        404
    );
    assert_eq!(
        get_page(&format!("http://localhost:{port}/callback?code=c&state=s"))
            .await
            .0,
        404,
        "requests for another host name are rejected"
    );
    let (status, page) = get_page(&format!("{uri}?code=c&state=s")).await;
    assert!(
        status == 200 && page.contains("You can close this window") && !page.contains("<script"),
        "{page}"
    );
    assert_eq!(waiting.await.ok(), code("c"));
    let result = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client")
        .get(&uri)
        .send()
        .await;
    assert!(
        result.is_err_and(|e| e.is_connect()),
        "the listener is closed"
    );
}

#[tokio::test]
async fn the_previous_port_is_reused_if_it_is_free() {
    let first = Callback::bind(None).await.expect("bind a port");
    let port = Callback::port_of(&first.redirect_uri());
    assert!(Callback::bind(port).await.is_err(), "the port is in use");
    drop(first);
    assert_eq!(
        Callback::port_of(
            &Callback::bind(port)
                .await
                .expect("bind a port")
                .redirect_uri()
        ),
        port
    );
}
