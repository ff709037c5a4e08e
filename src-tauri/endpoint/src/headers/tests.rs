//! Reading of request headers.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::{accepts_events, accepts_json, check_content_length, is_json};

fn headers(name: &'static str, values: &[&'static str]) -> HeaderMap {
    let name = HeaderName::from_static(name);
    values
        .iter()
        .map(|value| (name.clone(), HeaderValue::from_static(value)))
        .collect()
}

#[test]
fn a_content_type_is_json_whatever_its_parameters() {
    for json in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json ;a=b",
    ] {
        assert!(is_json(&headers("content-type", &[json])), "{json}");
    }
    for other in [
        "text/plain",
        "application/jsonp",
        "application/json-rpc",
        "",
        "text/plain; application/json",
    ] {
        assert!(!is_json(&headers("content-type", &[other])), "{other}");
    }
    assert!(!is_json(&HeaderMap::new()));
}

#[test]
fn a_client_accepts_json_by_name_by_range_or_without_the_header() {
    assert!(accepts_json(&HeaderMap::new()));
    for accept in [
        "application/json",
        "text/event-stream, application/json",
        "*/*",
        "application/*;q=0.1",
        "application/json, */*;q=0",
        "application/json;version=1;q=0, application/json",
    ] {
        assert!(accepts_json(&headers("accept", &[accept])), "{accept}");
    }
    assert!(accepts_json(&headers(
        "accept",
        &["text/event-stream", "application/json"]
    )));
    for other in [
        "text/event-stream",
        "text/*",
        "application/xml",
        "",
        "application/json;q=0",
        "*/*, application/json; Q=0.000",
        "application/*;q=0, text/event-stream",
    ] {
        assert!(!accepts_json(&headers("accept", &[other])), "{other}");
    }
}

#[test]
fn a_client_accepts_events_only_if_it_says_so() {
    for accept in [
        "text/event-stream",
        "application/json, text/event-stream",
        "*/*",
        "Text/*;q=0.1",
    ] {
        assert!(accepts_events(&headers("accept", &[accept])), "{accept}");
    }
    assert!(!accepts_events(&HeaderMap::new()));
    for other in [
        "application/json",
        "application/*",
        "",
        "*/*, text/event-stream;q=0",
    ] {
        assert!(!accepts_events(&headers("accept", &[other])), "{other}");
    }
}

#[test]
fn a_body_of_exactly_the_limit_is_accepted_and_a_longer_body_is_not() {
    let check = |length: &'static str| check_content_length(&headers("content-length", &[length]));
    assert!(check("16777216").is_ok());
    assert!(check("16777217").is_err());
}
