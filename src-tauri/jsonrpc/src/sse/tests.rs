use proptest::prelude::*;

use super::*;

fn events(pieces: &[&str]) -> Vec<String> {
    let mut parser = SseParser::new(1_000);
    pieces
        .iter()
        .flat_map(|piece| {
            parser
                .push(piece.as_bytes())
                .expect("the event is short enough")
        })
        .map(|event| event.data)
        .collect()
}

#[test]
fn the_data_of_an_event_is_its_data_lines() {
    assert_eq!(
        events(&["event: message\nid: 1\ndata: one\ndata:two\n\n: comment\n\ndata: three\n\n"]),
        ["one\ntwo", "three"]
    );
}

#[test]
fn a_name_applies_to_one_event_only() {
    let events = SseParser::new(1_000)
        .push(b"event: endpoint\ndata: /m\n\ndata: x\n\nevent: ping\n\ndata: y\n\n");
    let events: Vec<_> = events
        .expect("the event is short enough")
        .into_iter()
        .map(|event| (event.name, event.data))
        .collect();
    let expected = [("endpoint", "/m"), ("message", "x"), ("message", "y")];
    assert_eq!(
        events,
        expected.map(|(name, data)| (name.to_owned(), data.to_owned()))
    );
}

#[test]
fn the_kind_of_line_end_and_a_cut_at_any_byte_make_no_difference() {
    let text = "data: a\r\n\r\ndata: b\r\rdata: c\n\n";
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let pieces: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(events(&pieces), ["a", "b", "c"]);
    assert_eq!(events(&[text]), ["a", "b", "c"]);
}

#[test]
fn an_event_without_data_or_with_blank_data_is_ignored() {
    assert!(events(&["data:\n\ndata: \n\nevent: x\n\n"]).is_empty());
}

#[test]
fn an_event_longer_than_the_limit_is_an_error() {
    assert_eq!(SseParser::new(10).push(b"data: 0123456789"), Err(TooLong));
}

#[test]
fn a_connection_resumes_after_the_last_event_that_was_read_or_was_too_long() {
    let mut parser = SseParser::new(12);
    let events = parser.push(b"id: 4\ndata: a\n\nid: 5\ndata: b\n");
    assert_eq!(events.expect("short events").len(), 1);
    assert_eq!(parser.last_id(), Some("4"), "event 5 is not complete");
    parser.reset_for_reconnect();
    assert_eq!(parser.last_id(), Some("4"));
    parser
        .push(b"id: 5\ndata: b\n\nid: 6\n\n")
        .expect("short events");
    assert_eq!(parser.last_id(), Some("6"), "event 6 has no data");
    let too_long = parser.push(b"id: 7\ndata: 0123456789\n");
    assert_eq!(too_long, Err(TooLong));
    assert_eq!(parser.last_id(), Some("7"));
}

#[test]
fn a_bom_before_the_first_event_is_skipped() {
    assert_eq!(
        events(&["\u{feff}data: one\n\n\u{feff}data: no field\ndata: two\n\n"]),
        ["one", "two"]
    );
}

#[test]
fn complete_events_before_an_event_that_is_too_long_are_not_lost() {
    let mut parser = SseParser::new(10);
    let events = parser.push(b"data: one\n\ndata: 0123456789");
    assert_eq!(events.map(|events| events.len()), Ok(1));
    assert_eq!(parser.push(b""), Err(TooLong));
}

/// Generates text in which meaningful parts are frequent.
fn body() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: &[&str] = &[
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "data",
        "data:",
        "data: {}",
        "event: endpoint",
        "event:",
        "id: 1",
        ":",
        " ",
        "\u{feff}",
        "é",
        "message",
    ];
    let part = prop_oneof![
        4 => prop::sample::select(PARTS).prop_map(|part| part.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_events_do_not_depend_on_how_the_bytes_are_cut(body in body(), sizes: Vec<u8>, max in 1_usize..200) {
        properties::events_do_not_depend_on_cuts(&arbitrary_json::split_bytes(&body, &sizes), max);
    }

    #[test]
    fn any_text_written_into_an_event_is_read_back(text: String) {
        properties::data_survives_a_round_trip(&text);
    }
}
