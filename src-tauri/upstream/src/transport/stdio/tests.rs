use std::collections::BTreeMap;

use drawbridge_model::event::Events;
use tokio::sync::mpsc;

use super::*;
use crate::transport::TransportEvent;

#[tokio::test]
async fn a_server_that_ends_by_itself_when_it_is_closed_counts_as_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    let launch = Launch {
        // Ends with exit code 0 when its stdin is closed.
        command: "cat".into(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
        sandbox: None,
        recording: None,
        stop_timeout: Duration::from_secs(5),
    };
    let guard = Guard::new();
    let (sender, mut inbox) = mpsc::channel(8);
    let transport = StdioTransport::start(
        ServerId::new("s"),
        &launch,
        &guard,
        logs,
        Arc::default(),
        EventSender::new(sender),
    );
    let transport = transport.await.expect("start");

    transport.close().await;

    let end = inbox.recv().await;
    assert!(
        matches!(end, Some(TransportEvent::Ended(EndReason::Stopped))),
        "{end:?}"
    );
}
