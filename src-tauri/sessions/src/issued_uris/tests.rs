use super::*;

fn server(id: &str) -> ServerId {
    ServerId::new(id)
}

fn issuer(issued: &IssuedUris, uri: &str) -> Option<String> {
    issued
        .lock()
        .by_uri
        .get(uri)
        .map(|(server, _)| server.as_str().to_owned())
}

#[test]
fn only_members_named_uri_with_a_string_are_found() {
    let result = r#"{"content":[
        {"type":"resource_link","name":"a","uri":"x://link"},
        {"type":"resource","resource":{"uri" : "x://embedded \"quoted\" \u00e9","text":"t"}},
        {"type":"text","text":"{\"uri\":\"x://in a text\"}"}, {"text":"uri","uri":5,"icon":{"uri":null}},
        {"type":"text","text":"\\"},{"uri":"x://behind a backslash"}],
        "contents":[{"uri":"x://contents"}],"uriTemplate":"x://{template}","uri"#;
    let expected = [
        "x://link",
        "x://embedded \"quoted\" é",
        "x://behind a backslash",
        "x://contents",
    ]
    .map(str::to_owned);
    assert_eq!(find_uris(result), expected);
}

#[test]
fn a_uri_belongs_to_the_server_that_named_it_last() {
    let issued = IssuedUris::default();
    issued.record(&server("one"), r#"{"uri":"x://a"}"#);
    issued.record(&server("two"), r#"{"uri":"x://a"}"#);
    assert_eq!(issuer(&issued, "x://a").as_deref(), Some("two"));
    let all = issued.lock();
    assert_eq!((all.by_age.len(), all.bytes), (1, 5));
}

#[test]
fn only_the_newest_uris_are_remembered() {
    let issued = IssuedUris::default();
    let many: Vec<_> = (0..3 * MAX_URIS)
        .map(|number| format!(r#"{{"uri":"x://{number}"}}"#))
        .collect();
    issued.record(&server("s"), &many.join(","));
    assert_eq!(issued.lock().by_uri.len(), MAX_URIS);
    assert_eq!(issuer(&issued, "x://1999"), None);
    assert!(issuer(&issued, "x://2000").is_some() && issuer(&issued, "x://2999").is_some());

    let long = "l".repeat(MAX_LENGTH / 2);
    for number in 0..1_000 {
        issued.record(&server("s"), &format!(r#"{{"uri":"x://{number}/{long}"}}"#));
    }
    let all = issued.lock();
    assert!(
        all.bytes <= MAX_BYTES && all.by_uri.len() == all.by_age.len(),
        "{} bytes",
        all.bytes
    );
    assert_eq!(
        all.bytes,
        all.by_uri.keys().map(|uri| uri.len()).sum::<usize>()
    );
    drop(all);
    issued.record(
        &server("s"),
        &format!(r#"{{"uri":"{}"}}"#, "l".repeat(MAX_LENGTH)),
    );
    assert_eq!(
        issuer(&issued, &"l".repeat(MAX_LENGTH)),
        None,
        "a URI that is too long is not recorded"
    );
}
