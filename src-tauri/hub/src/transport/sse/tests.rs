use super::*;

fn events(parts: &[&str]) -> Vec<String> {
    let mut reader = Events::new(1_000);
    parts.iter().flat_map(|part| reader.push(part.as_bytes()).expect("short")).collect()
}

#[test]
fn an_event_is_its_data_lines() {
    assert_eq!(
        events(&["event: message\nid: 1\ndata: one\ndata:two\n\n: comment\n\ndata: three\n\n"]),
        ["one\ntwo", "three"]
    );
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
