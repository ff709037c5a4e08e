use drawbridge_model::digest;

use super::*;
use crate::table::{capability::Definitions, server::ServerRow};

async fn open_store(folder: &tempfile::TempDir) -> Store {
    Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("open the store")
        .0
}

fn offer(
    kind: DefinitionKind,
    name: &str,
    text: &str,
    accepted_by: Option<AcceptedBy>,
) -> OfferedDefinition {
    OfferedDefinition {
        id: DefinitionId {
            kind,
            name: name.into(),
            digest: digest::sha256(text.as_bytes()),
        },
        definition: text.into(),
        accepted_by,
    }
}

async fn record_sync(store: &Store, offered: &[OfferedDefinition]) {
    let server = ServerRow::new(ServerId::new("s"));
    store
        .record_sync(&server, &Definitions::new(), offered)
        .await
        .expect("record a sync");
}

async fn read_versions(store: &Store) -> Vec<DefinitionRow> {
    let server = ServerId::new("s");
    store.definitions(&server).await.expect("read the versions")
}

#[tokio::test]
async fn an_accepted_version_outlasts_any_number_of_changes() {
    let folder = tempfile::tempdir().expect("make a folder");
    let store = open_store(&folder).await;
    let accepted = offer(DefinitionKind::Tool, "t", "first", Some(AcceptedBy::Person));
    record_sync(&store, &[accepted]).await;
    for change in 0..50 {
        let changed = offer(DefinitionKind::Tool, "t", &format!("change {change}"), None);
        record_sync(&store, &[changed]).await;
    }
    let versions = read_versions(&store).await;
    assert!(
        versions
            .iter()
            .any(|version| version.definition == "first" && version.accepted_at.is_some()),
        "{versions:?}"
    );
    assert_eq!(versions[0].definition, "change 49");
    // The accepted version, the offered version, and at most `MAX_VERSIONS` others.
    assert!(versions.len() <= 22, "{} versions", versions.len());
}

#[tokio::test]
async fn the_changes_of_a_trusted_server_do_not_fill_the_database() {
    let folder = tempfile::tempdir().expect("make a folder");
    let store = open_store(&folder).await;
    let person = offer(DefinitionKind::Tool, "t", "first", Some(AcceptedBy::Person));
    record_sync(&store, &[person]).await;
    for change in 0..50 {
        let text = format!("change {change}");
        let changed = offer(DefinitionKind::Tool, "t", &text, Some(AcceptedBy::Trust));
        record_sync(&store, &[changed]).await;
    }
    let versions = read_versions(&store).await;
    assert!(versions.len() <= 22, "{} versions", versions.len());
    for change in 0..50 {
        // From here on, the spec does not trust the server.
        let changed = offer(DefinitionKind::Tool, "t", &format!("later {change}"), None);
        record_sync(&store, &[changed]).await;
    }
    let versions = read_versions(&store).await;
    for kept in ["first", "change 49", "later 49"] {
        assert!(
            versions.iter().any(|version| version.definition == kept),
            "{kept}"
        );
    }
}

#[tokio::test]
async fn a_tool_and_a_prompt_with_the_same_definition_are_accepted_separately() {
    let folder = tempfile::tempdir().expect("make a folder");
    let store = open_store(&folder).await;
    let kinds = [DefinitionKind::Tool, DefinitionKind::Prompt];
    let offered = kinds.map(|kind| offer(kind, "x", r#"{"name":"x"}"#, None));
    record_sync(&store, &offered).await;
    store
        .accept_definitions(&ServerId::new("s"), &[offered[1].id.clone()])
        .await
        .expect("accept the prompt");
    let accepted: Vec<_> = read_versions(&store)
        .await
        .into_iter()
        .map(|version| (version.kind, version.accepted_at.is_some()))
        .collect();
    assert_eq!(
        accepted,
        [
            (DefinitionKind::Prompt, true),
            (DefinitionKind::Tool, false)
        ]
    );
}
