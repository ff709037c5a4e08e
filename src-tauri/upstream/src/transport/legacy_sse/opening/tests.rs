use proptest::prelude::*;

use super::*;

fn url() -> Url {
    Url::parse("http://127.0.0.1:8000/sse").expect("a URL")
}

#[test]
fn an_endpoint_is_found_with_any_line_ends_and_any_text_after_it() {
    for end in ["\n", "\r\n", "\r"] {
        let mut reader = EndpointReader::new();
        let text = format!(
            "event: endpoint{end}data: /m{end}{end}data: x{end}{end}: {}{end}",
            "x".repeat(MAX_BYTES)
        );
        reader.push(text.as_bytes()).expect("the endpoint is there");
        assert_eq!(
            (reader.endpoint.as_deref(), reader.early_events.len()),
            (Some("/m"), 1),
            "{end:?}"
        );
    }
}

#[test]
fn an_endpoint_at_another_origin_is_refused() {
    for data in [
        "blob:http://127.0.0.1:8000/m",
        "http://127.0.0.1:8001/m",
        "//example.com/m",
        "https://127.0.0.1:8000",
    ] {
        assert!(resolve_endpoint(&url(), data).is_err(), "{data}");
    }
}

/// Generates beginnings of streams, as real servers send them and as faulty servers might.
fn stream_beginnings() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: &[&str] = &[
        "\n",
        "\r",
        "\n\n",
        "\r\r",
        "event: endpoint",
        "data: ",
        "/messages/",
        "?session_id=1",
        "http://127.0.0.1:8000",
        "https://example.com",
        "blob:",
        "//",
        "\\",
        "@",
        "{\"uri\":\"",
        "\"}",
        "{\"session_id\":\"",
        "#",
        "..",
        ":",
        "%2f",
    ];
    let part = prop_oneof![
        6 => prop::sample::select(PARTS).prop_map(|part| part.as_bytes().to_vec()),
        1 => Just(vec![b'x'; 20_000]),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(part, 0..20).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_endpoint_does_not_depend_on_how_the_stream_is_split(bytes in stream_beginnings(), sizes: Vec<u8>) {
        properties::the_endpoint_does_not_depend_on_cuts(&arbitrary_json::split_bytes(&bytes, &sizes));
    }

    #[test]
    fn messages_are_posted_only_to_the_given_server(bytes in stream_beginnings(), text: String) {
        properties::endpoint_has_the_same_origin(&String::from_utf8_lossy(&bytes));
        properties::endpoint_has_the_same_origin(&text);
    }
}
