use proptest::prelude::*;

use super::*;

async fn lines(text: &[u8], max: usize) -> Vec<Line> {
    let mut reader = tokio::io::BufReader::with_capacity(4, text);
    let mut lines = Vec::new();
    while let Some(line) = next_line(&mut reader, max).await.expect("read") {
        lines.push(line);
    }
    lines
}

#[tokio::test]
async fn lines_are_read_without_line_breaks_and_bom() {
    let whole = |text: &[u8]| Line::Whole(text.to_vec());
    assert_eq!(
        lines(b"\xef\xbb\xbfone\r\n\ntwo", 100).await,
        [whole(b"one"), whole(b""), whole(b"two")]
    );
}

#[tokio::test]
async fn a_too_long_line_does_not_affect_the_next_line() {
    let mut text = vec![b'x'; 10_000];
    text.extend_from_slice(b"\ngood\n");
    let lines = lines(&text, 100).await;
    assert!(matches!(&lines[0], Line::TooLong(start) if start.len() <= PREVIEW_LEN));
    assert_eq!(lines[1], Line::Whole(b"good".to_vec()));
}

#[tokio::test]
async fn invalid_utf8_is_read_like_any_other_line() {
    assert_eq!(
        lines(b"\xff\xfe\n", 100).await,
        [Line::Whole(b"\xff\xfe".to_vec())]
    );
}

#[tokio::test]
async fn only_the_beginning_of_a_too_long_line_is_kept() {
    for size in [1, 7, 150, 10_000] {
        let line = [&[b'a'; 150][..], &[b'b'; 10_000]].concat();
        let mut reader = properties::Pieces::new(&arbitrary_json::split_bytes(
            &line,
            &[u8::try_from(size - 1).unwrap_or(255)],
        ));
        let next = next_line(&mut reader, 1_000).await.expect("read");
        assert_eq!(
            next,
            Some(Line::TooLong(line[..PREVIEW_LEN].to_vec())),
            "{size}"
        );
    }
}

/// Generates bytes in which line breaks and other significant bytes are frequent.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    const PARTS: &[&[u8]] = &[b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"{}", b"\xff"];
    let part = prop_oneof![
        prop::sample::select(PARTS).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..300),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_do_not_depend_on_how_bytes_arrive(bytes in bytes(), sizes: Vec<u8>, max in 1_usize..600) {
        properties::lines_do_not_depend_on_cuts(&arbitrary_json::split_bytes(&bytes, &sizes), max);
    }
}
