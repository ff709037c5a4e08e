use axum::http::{HeaderValue, Request};

use super::*;

fn parts(user_agent: &'static str) -> Parts {
    let request = Request::post("/mcp")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::USER_AGENT, HeaderValue::from_static(user_agent));
    request.body(()).expect("a request").into_parts().0
}

#[tokio::test]
async fn a_client_has_the_name_in_its_introduction_or_else_its_user_agent() {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":" des\u202ek ","version":"1"}}}"#;
    let stateless = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"modern","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":"{}"}}"#,
        "x".repeat(MAX_BODY_BYTES)
    );
    for (body, user_agent, name) in [
        (initialize, "library/1", "des\u{fffd}k"),
        (stateless, "library/1", "modern"),
        ("no JSON", "library/1", "library/1"),
        (&long, "library/1", "library/1"),
        ("{}", " ", UNKNOWN_CLIENT),
    ] {
        let mut body = Body::from(body.to_owned());
        assert_eq!(find_name(&parts(user_agent), Some(&mut body)).await, name);
    }
    assert_eq!(find_name(&parts("library/1"), None).await, "library/1");
}

#[test]
fn only_this_computer_is_local() {
    for (address, is_local) in [
        ("127.0.0.1:9", true),
        ("127.8.0.1:9", true),
        ("[::1]:9", true),
        ("[::ffff:127.0.0.1]:9", true),
        ("192.168.0.7:9", false),
        ("[fe80::1]:9", false),
    ] {
        let peer = Peer::new(address.parse().expect("an address"), 8765);
        assert_eq!(peer.is_local(), is_local, "{address}");
    }
}
