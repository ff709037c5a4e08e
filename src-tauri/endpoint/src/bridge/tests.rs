//! Reading lines from stdin and writing lines to stdout, without a hub.

use drawbridge_upstream::lines::Line;
use tokio::sync::mpsc;

use super::{read_lines, to_line};

async fn lines(input: &'static [u8]) -> Vec<Vec<u8>> {
    let (sender, mut receiver) = mpsc::channel(16);
    read_lines(input, sender).await;
    let mut lines = Vec::new();
    while let Some(line) = receiver.recv().await {
        match line {
            Line::Whole(bytes) => lines.push(bytes),
            Line::TooLong(_) => panic!("a short line is taken as too long"),
        }
    }
    lines
}

#[tokio::test]
async fn each_line_is_a_message_and_blank_lines_are_skipped() {
    assert_eq!(
        lines(b"{}\n\r\n  \n[1]\r\nlast").await,
        [&b"{}"[..], b"[1]", b"last"]
    );
}

#[test]
fn an_answer_is_one_line() {
    assert_eq!(
        to_line(b"{\r\n  \"a\": \"\\n\"\n}"),
        b"{    \"a\": \"\\n\" }\n"
    );
}
