use super::*;

fn events(parts: &[&str]) -> Vec<String> {
    let mut reader = Events::new(1_000);
    parts.iter().flat_map(|part| reader.push(part.as_bytes()).expect("short")).map(|event| event.data).collect()
}

#[test]
fn an_event_is_its_data_lines() {
    assert_eq!(
        events(&["event: message\nid: 1\ndata: one\ndata:two\n\n: comment\n\ndata: three\n\n"]),
        ["one\ntwo", "three"]
    );
}

#[test]
fn an_event_has_its_name_and_only_its_own() {
    let found = Events::new(1_000).push(b"event: endpoint\ndata: /m\n\ndata: x\n\nevent: ping\n\ndata: y\n\n");
    let found: Vec<_> = found.expect("short").into_iter().map(|event| (event.name, event.data)).collect();
    let expected = [("endpoint", "/m"), ("message", "x"), ("message", "y")];
    assert_eq!(found, expected.map(|(name, data)| (name.to_owned(), data.to_owned())));
}

#[test]
fn line_ends_of_every_kind_and_cuts_at_any_byte_are_the_same() {
    let text = "data: a\r\n\r\ndata: b\r\rdata: c\n\n";
    let bytes: Vec<String> = text.chars().map(String::from).collect();
    let parts: Vec<&str> = bytes.iter().map(String::as_str).collect();
    assert_eq!(events(&parts), ["a", "b", "c"]);
    assert_eq!(events(&[text]), ["a", "b", "c"]);
}

#[test]
fn an_empty_event_is_none() {
    assert!(events(&["data:\n\ndata: \n\nevent: x\n\n"]).is_empty());
}

#[test]
fn an_endless_event_is_an_error() {
    assert_eq!(Events::new(10).push(b"data: 0123456789"), Err(TooLong));
}
