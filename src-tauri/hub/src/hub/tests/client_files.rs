//! Tests that a client's new token counts as written only for files that Drawbridge can write.

use drawbridge_model::client_file::ClientTransport;
use drawbridge_store::table::client_file::ClientFileRow;

use super::*;

#[tokio::test]
async fn a_file_of_an_unknown_kind_of_client_does_not_count_as_updated() {
    let TestHub { hub, folder } = test_hub().await;
    let client = ClientName::new("c");
    let row = ClientFileRow {
        path: folder.path().join("mcp.json").display().to_string(),
        kind: "of a later version".into(),
        client: client.clone(),
        project: None,
        transport: ClientTransport::Http,
        asks_once: false,
        restores: false,
        entry_digest: String::new(),
        connected_at: Timestamp(0),
    };
    hub.store
        .replace_client_files(&[], &[row])
        .await
        .expect("stored");
    hub.close().await;
    drop(hub);
    let hub = open_hub(folder.path()).await;
    let written = hub.write_client_token(&client, "token").await;
    assert!(written.updated.is_empty(), "{:?}", written.updated);
    let [(_, reason)] = &written.failed[..] else {
        panic!("{:?}", written.failed);
    };
    assert!(reason.contains("does not know the client"), "{reason}");
}
