use super::*;
use crate::{
    api::{Verb, servers::AddServer},
    hub::tests::open_hub,
};

#[tokio::test]
async fn a_run_without_a_connection_is_recorded_again_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(folder.path()).await;
    let add = serde_json::json!({ "spec": { "name": "a", "command": "x" } });
    let add: AddServer = serde_json::from_value(add).expect("a request");
    let added = add.run(&hub).await.expect("added");
    let server = hub.registry.get(&added.id).expect("registered");
    let load = async || {
        let (store, events, logs) = (hub.store.clone(), hub.events.clone(), hub.logs.clone());
        AccessReports::load(store, events, logs, folder.path().to_owned())
            .await
            .expect("the reports")
    };

    let reports = load().await;
    let sink = reports.begin(&server).expect("the first run is recorded");
    sink(RecordedAccess::Summary(AccessSummary::default()));
    reports.store_now().await;

    let reports = load().await;
    let sink = reports.begin(&server).expect("the next run is recorded");
    sink(RecordedAccess::Summary(AccessSummary::default()));
    reports.confirm(&server);
    reports.store_now().await;

    let reports = load().await;
    assert!(reports.begin(&server).is_none());
    assert!(
        reports
            .report(&server.id)
            .is_some_and(|report| report.has_connected)
    );
}
