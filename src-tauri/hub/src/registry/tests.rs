use std::fs;

use super::*;

struct Fixture {
    registry: Registry,
    changes: mpsc::UnboundedReceiver<Vec<ServerId>>,
    folder: PathBuf,
    _temp: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let temp = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&temp.path().join("test.db"))
        .await
        .expect("a store");
    let folder = temp.path().join("servers");
    let (sender, changes) = mpsc::unbounded_channel();
    let registry = Registry::open(folder.clone(), store, Events::new(), sender)
        .await
        .expect("a registry");
    Fixture {
        registry,
        changes,
        folder,
        _temp: temp,
    }
}

fn spec(text: &str) -> ServerSpec {
    serde_json::from_str(text).expect("a spec")
}

#[tokio::test]
async fn a_new_file_is_listed_but_may_not_run_until_it_is_accepted() {
    let desk = fixture().await;
    fs::write(
        desk.folder.join("evil.json"),
        r#"{"command":"rm","args":["-rf"],"trusted":true}"#,
    )
    .expect("write");
    assert_eq!(desk.registry.reload(), [ServerId::new("evil")]);
    let server = desk.registry.get(&ServerId::new("evil")).expect("known");
    assert_eq!(desk.registry.acceptance(&server), AcceptanceState::New);
    assert!(!desk.registry.may_run(&server));
    desk.registry.accept(&server).await.expect("accepted");
    assert!(desk.registry.may_run(&server));
}

#[tokio::test]
async fn a_changed_command_revokes_the_acceptance() {
    let desk = fixture().await;
    let server = desk
        .registry
        .write(&ServerId::new("a"), &spec(r#"{"command":"x"}"#))
        .expect("written");
    desk.registry.accept(&server).await.expect("accepted");
    fs::write(desk.folder.join("a.json"), r#"{"command":"y"}"#).expect("write");
    desk.registry.reload();
    let server = desk.registry.get(&ServerId::new("a")).expect("known");
    assert_eq!(desk.registry.acceptance(&server), AcceptanceState::Changed);
}

#[tokio::test]
async fn a_broken_file_reports_its_position_and_affects_no_other_file() {
    let desk = fixture().await;
    desk.registry
        .write(&ServerId::new("good"), &spec(r#"{"command":"x"}"#))
        .expect("written");
    fs::write(desk.folder.join("bad.json"), "{\n  \"command\": oops\n}").expect("write");
    fs::write(desk.folder.join("Bad Name.json"), "{}").expect("write");
    desk.registry.reload();
    let specs = desk.registry.specs();
    assert_eq!(specs.servers.len(), 1);
    let places: Vec<_> = specs
        .broken
        .iter()
        .map(|broken| (broken.line, broken.column))
        .collect();
    assert_eq!(places, [(0, 0), (2, 14)]);
}

#[tokio::test]
async fn a_change_on_the_disk_is_noticed() {
    let mut desk = fixture().await;
    let _watch = desk.registry.watch().expect("watched");
    fs::write(desk.folder.join("new.json"), r#"{"command":"x"}"#).expect("write");
    let seen = tokio::time::timeout(std::time::Duration::from_secs(10), desk.changes.recv())
        .await
        .expect("in time");
    assert_eq!(seen, Some(vec![ServerId::new("new")]));
}

#[tokio::test]
async fn taken_and_empty_names_are_rejected() {
    let desk = fixture().await;
    let id = desk.registry.new_id("My Server").expect("an id");
    desk.registry
        .write(&id, &spec(r#"{"command":"x"}"#))
        .expect("written");
    assert!(matches!(
        desk.registry.new_id("my server"),
        Err(RegistryError::Taken(_))
    ));
    assert!(matches!(
        desk.registry.new_id("!"),
        Err(RegistryError::BadName)
    ));
    desk.registry.remove(&id).expect("removed");
    assert!(desk.registry.new_id("my server").is_ok());
}

#[tokio::test]
async fn a_broken_file_keeps_the_previous_spec() {
    let desk = fixture().await;
    let server = desk
        .registry
        .write(&ServerId::new("a"), &spec(r#"{"command":"x"}"#))
        .expect("written");
    fs::write(desk.folder.join("a.json"), r#"{"command":"#).expect("write");
    desk.registry.reload();
    assert_eq!(desk.registry.specs().broken.len(), 1);
    assert_eq!(
        desk.registry.get(&ServerId::new("a")).expect("known"),
        server
    );
}
