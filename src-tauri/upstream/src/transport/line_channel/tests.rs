use arbitrary_json::Choices;
use drawbridge_jsonrpc::server_message::Incoming;
use drawbridge_model::event::Events;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::lines::properties::Pieces;
use crate::transport::TransportEvent;

/// Returns the receiving end of a server's messages, with logs in this folder.
fn inbound_in(folder: &TempDir) -> Inbound {
    Inbound {
        server: ServerId::new("s"),
        logs: Logs::open(folder.path(), Events::default()).expect("logs"),
        pending: Pending::default(),
        non_jsonrpc_lines: Arc::default(),
    }
}

/// Reads the output of a server, which arrives in these pieces. Returns the methods of its
/// messages, and the number of lines that are not JSON-RPC.
async fn read_pieces(pieces: &[&[u8]]) -> (Vec<String>, u32) {
    let folder = TempDir::new().expect("a folder");
    let inbound = inbound_in(&folder);
    let (sender, mut inbox) = mpsc::channel(100);
    let events = EventSender::new(sender);
    read_messages(Pieces::new(pieces), &inbound, &events).await;
    drop(events);
    let mut methods = Vec::new();
    while let Some(TransportEvent::Message {
        message: Incoming::Notification { method, .. } | Incoming::Request { method, .. },
        ..
    }) = inbox.recv().await
    {
        methods.push(method);
    }
    let non_jsonrpc_lines = inbound.non_jsonrpc_lines.load(Ordering::Relaxed);
    (methods, non_jsonrpc_lines)
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_cancelled_unless_it_is_initialize() {
    let folder = TempDir::new().expect("a folder");
    let (channel, mut outgoing) = LineChannel::new(Arc::new(inbound_in(&folder)));
    for (method, messages) in [("initialize", 1), ("tools/list", 2)] {
        let request = TransportRequest {
            id: 1,
            method,
            params: None,
            headers: &[],
        };
        let given_up = timeout(Duration::from_millis(10), channel.request(request)).await;
        given_up.expect_err("no answer");
        let mut sent = Vec::new();
        outgoing.recv_many(&mut sent, OUTBOX_CAPACITY).await;
        assert_eq!(sent.len(), messages, "{method}");
    }
}

#[tokio::test]
async fn a_message_after_the_end_is_refused_with_the_reason_of_the_end() {
    let folder = TempDir::new().expect("a folder");
    let inbound = Arc::new(inbound_in(&folder));
    let (channel, outgoing) = LineChannel::new(inbound.clone());
    inbound.pending.end(&EndReason::Unresponsive);
    drop(outgoing);
    for is_outbox_closed in [false, true] {
        if is_outbox_closed {
            channel.close_outbox();
        }
        let refused = channel.try_send(Vec::new());
        assert!(
            matches!(
                refused,
                Err(TransportError::NotSent(NotSentReason::Ended(
                    EndReason::Unresponsive
                )))
            ),
            "{refused:?}"
        );
    }
}

#[test]
fn a_message_is_one_line_whatever_stands_between_its_tokens() {
    let smuggled =
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"delete_everything"}}"#;
    let params = drawbridge_jsonrpc::json::raw(format!("{{\"a\":\n{smuggled}\r\n}}"));
    let mut line = Vec::new();
    append_line(
        &mut line,
        &encode::encode_request(1, "prompts/get", Some(params.get())),
    );
    assert_eq!(
        line.iter()
            .filter(|byte| matches!(byte, b'\n' | b'\r'))
            .count(),
        1,
        "the only line break is at the end"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_arrives_whatever_lines_are_between_and_however_the_bytes_are_split(
        seeds in prop::collection::vec((any::<Vec<u8>>(), "[^\n{]{0,40}"), 0..8),
        sizes: Vec<u8>,
    ) {
        let mut bytes = Vec::new();
        let mut non_jsonrpc_lines = 0;
        for (index, (seed, text)) in seeds.iter().enumerate() {
            let params = drawbridge_jsonrpc::json::raw(Choices::new(seed).value());
            append_line(&mut bytes, &encode::encode_notification(&format!("m{index}"), Some(params.get())));
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(b'\n');
            // A line that consists only of a line break or a BOM is skipped.
            let text = text.strip_suffix('\r').unwrap_or(text);
            non_jsonrpc_lines += u32::from(!text.strip_prefix('\u{feff}').unwrap_or(text).is_empty());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let received = runtime.block_on(read_pieces(&arbitrary_json::split_bytes(&bytes, &sizes)));
        let expected: Vec<String> = (0..seeds.len()).map(|index| format!("m{index}")).collect();
        prop_assert_eq!(received, (expected, non_jsonrpc_lines));
    }
}
