use drawbridge_model::event::Events;
use drawbridge_store::secrets::InMemory;
use prometheus::TextEncoder;
use tokio::net::TcpListener;

use super::*;

#[tokio::test(start_paused = true)]
async fn spans_that_are_not_sent_before_the_exporter_closes_count_as_dropped() {
    // Nobody answers the connections.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let settings = SettingsValues {
        otlp_endpoint: format!("http://{address}"),
        ..SettingsValues::default()
    };
    let collector = Collector::from_settings(&settings).expect("a collector");
    let folder = tempfile::tempdir().expect("a folder");
    let logs = Logs::open(folder.path(), Events::new()).expect("logs");
    let secrets = Secrets::new(InMemory::default());
    let metrics = Metrics::new();
    let exporter = Exporter::start(collector, secrets, logs, metrics.clone());
    for _ in 0..3 {
        exporter.queue(Span::default());
    }

    exporter.close().await;

    let text = TextEncoder::new().encode_to_string(&metrics.gather());
    let text = text.expect("metrics");
    let dropped = text.lines().find(|line| line.contains("\"dropped\""));
    assert!(
        dropped.is_some_and(|line| line.ends_with(" 3")),
        "{dropped:?}"
    );
}
