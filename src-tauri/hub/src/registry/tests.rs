use std::fs;

use super::*;

struct Fixture {
    registry: Registry,
    changes: DirtySet<ServerId>,
    folder: PathBuf,
    _temp: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let temp = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&temp.path().join("test.db"))
        .await
        .expect("a store");
    let folder = temp.path().join("servers");
    let changes = DirtySet::default();
    let registry = Registry::open(folder.clone(), store, Events::new(), changes.clone())
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
    let fixture = fixture().await;
    fs::write(
        fixture.folder.join("evil.json"),
        r#"{"command":"rm","args":["-rf"],"trusted":true}"#,
    )
    .expect("write");
    assert_eq!(fixture.registry.reload(), [ServerId::new("evil")]);
    let server = fixture
        .registry
        .get(&ServerId::new("evil"))
        .expect("the server is registered");
    assert_eq!(fixture.registry.acceptance(&server), AcceptanceState::New);
    assert!(!fixture.registry.may_run(&server));
    fixture.registry.accept(&server).await.expect("accepted");
    assert!(fixture.registry.may_run(&server));
}

#[tokio::test]
async fn a_changed_command_revokes_the_acceptance() {
    let fixture = fixture().await;
    let server = fixture
        .registry
        .write(&ServerId::new("a"), &spec(r#"{"command":"x"}"#))
        .expect("written");
    fixture.registry.accept(&server).await.expect("accepted");
    fs::write(fixture.folder.join("a.json"), r#"{"command":"y"}"#).expect("write");
    fixture.registry.reload();
    let server = fixture
        .registry
        .get(&ServerId::new("a"))
        .expect("the server is registered");
    assert_eq!(
        fixture.registry.acceptance(&server),
        AcceptanceState::Changed
    );
}

#[tokio::test]
async fn a_broken_file_reports_its_position_and_affects_no_other_file() {
    let fixture = fixture().await;
    fixture
        .registry
        .write(&ServerId::new("good"), &spec(r#"{"command":"x"}"#))
        .expect("written");
    fs::write(fixture.folder.join("bad.json"), "{\n  \"command\": oops\n}").expect("write");
    fs::write(fixture.folder.join("Bad Name.json"), "{}").expect("write");
    fixture.registry.reload();
    let specs = fixture.registry.specs();
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
    let fixture = fixture().await;
    let _watch = fixture.registry.watch().expect("watch the folder");
    fs::write(fixture.folder.join("new.json"), r#"{"command":"x"}"#).expect("write");
    tokio::time::timeout(std::time::Duration::from_secs(10), fixture.changes.wait())
        .await
        .expect("the change is reported in time");
    assert_eq!(fixture.changes.take(), [ServerId::new("new")].into());
}

#[tokio::test]
async fn taken_and_empty_names_are_rejected() {
    let fixture = fixture().await;
    let id = fixture.registry.new_id("My Server").expect("an id");
    fixture
        .registry
        .write(&id, &spec(r#"{"command":"x"}"#))
        .expect("written");
    assert!(matches!(
        fixture.registry.new_id("my server"),
        Err(RegistryError::Taken(_))
    ));
    assert!(matches!(
        fixture.registry.new_id("!"),
        Err(RegistryError::BadName)
    ));
    fixture.registry.remove(&id).expect("removed");
    assert!(fixture.registry.new_id("my server").is_ok());
}

#[tokio::test]
async fn a_broken_file_keeps_the_previous_spec() {
    let fixture = fixture().await;
    let server = fixture
        .registry
        .write(&ServerId::new("a"), &spec(r#"{"command":"x"}"#))
        .expect("written");
    fs::write(fixture.folder.join("a.json"), r#"{"command":"#).expect("write");
    fixture.registry.reload();
    assert_eq!(fixture.registry.specs().broken.len(), 1);
    assert_eq!(
        fixture
            .registry
            .get(&ServerId::new("a"))
            .expect("the server is registered"),
        server
    );
}
