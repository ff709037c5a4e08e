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
async fn lines_come_without_their_ends_and_without_a_bom() {
    let whole = |text: &[u8]| Line::Whole(text.to_vec());
    assert_eq!(lines(b"\xef\xbb\xbfone\r\n\ntwo", 100).await, [whole(b"one"), whole(b""), whole(b"two")]);
}

#[tokio::test]
async fn an_endless_line_is_dropped_and_the_next_one_is_found() {
    let mut text = vec![b'x'; 10_000];
    text.extend_from_slice(b"\ngood\n");
    let found = lines(&text, 100).await;
    assert!(matches!(&found[0], Line::TooLong(start) if start.len() <= SHOWN));
    assert_eq!(found[1], Line::Whole(b"good".to_vec()));
}

#[tokio::test]
async fn invalid_utf8_is_a_line_like_others() {
    assert_eq!(lines(b"\xff\xfe\n", 100).await, [Line::Whole(b"\xff\xfe".to_vec())]);
}
