use proptest::prelude::*;

use super::*;

fn url() -> Url {
    Url::parse("http://127.0.0.1:8000/sse").expect("a URL")
}

#[test]
fn an_endpoint_is_found_whatever_ends_its_lines_and_however_much_comes_behind_it() {
    for end in ["\n", "\r\n", "\r"] {
        let mut opening = Opening::new();
        let text = format!(
            "event: endpoint{end}data: /m{end}{end}data: x{end}{end}: {}{end}",
            "x".repeat(MAX_BYTES)
        );
        opening
            .push(text.as_bytes())
            .expect("the endpoint is there");
        assert_eq!(
            (opening.endpoint.as_deref(), opening.early.len()),
            (Some("/m"), 1),
            "{end:?}"
        );
    }
}

#[test]
fn a_url_that_only_holds_the_servers_is_another() {
    for said in [
        "blob:http://127.0.0.1:8000/m",
        "http://127.0.0.1:8001/m",
        "//example.com/m",
        "https://127.0.0.1:8000",
    ] {
        assert!(resolve(&url(), said).is_err(), "{said}");
    }
}

/// Generates beginnings of streams, as real servers send them and as faulty ones might.
fn said() -> impl Strategy<Value = Vec<u8>> {
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
    fn the_endpoint_is_the_same_however_the_stream_is_cut(bytes in said(), sizes: Vec<u8>) {
        properties::the_endpoint_does_not_depend_on_cuts(&odd_json::cut(&bytes, &sizes));
    }

    #[test]
    fn messages_go_to_the_server_that_was_given_whatever_it_says(bytes in said(), text: String) {
        properties::a_place_is_at_the_same_origin(&String::from_utf8_lossy(&bytes));
        properties::a_place_is_at_the_same_origin(&text);
    }
}
