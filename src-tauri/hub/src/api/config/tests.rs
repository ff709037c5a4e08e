use std::fs;

use drawbridge_client_config::FoundServer;
use drawbridge_model::{clock, event::Event};

use super::{
    import::{FindServers, ImportServers},
    *,
};
use crate::{
    access::TokenRefusal,
    api::{ErrorCode, servers::SecretValues},
    hub::tests::open_hub,
};

/// Returns a request to connect VS Code in a project.
fn connect(project: &Path, transport: ClientTransport) -> PreviewConfig {
    PreviewConfig {
        kind: "vscode".into(),
        action: ConfigAction::Connect,
        path: None,
        project: Some(project.to_owned()),
        name: None,
        transport,
        ask_once: false,
        environment: Environment::new(),
    }
}

/// Returns the file that [`connect`] changes. Creates its folder.
fn vscode_file(project: &Path) -> PathBuf {
    fs::create_dir_all(project.join(".vscode")).expect("a folder");
    project.join(".vscode/mcp.json")
}

/// Returns the token in the file that [`connect`] changes.
fn read_token(project: &Path) -> String {
    let text = fs::read_to_string(vscode_file(project)).expect("read");
    let token = text
        .split('"')
        .find_map(|part| part.strip_prefix("Bearer "));
    token.expect("the file has the token").to_owned()
}

async fn run<V: Verb>(hub: &Hub, verb: V) -> Result<V::Answer, ApiError> {
    verb.run(hub).await
}

async fn preview(hub: &Hub, verb: PreviewConfig) -> (String, ConfigPreview) {
    let preview = run(hub, verb).await.expect("a preview");
    let id = preview.id.clone().expect("there is something to do");
    (id, preview)
}

async fn apply_preview(hub: &Hub, id: String) -> Result<ClientChangeView, ApiError> {
    // If another program changes the entry, Drawbridge does not restore it.
    let restores = false;
    run(hub, ApplyConfig { id, restores }).await
}

async fn undo(hub: &Hub, change: &str) -> UndoneView {
    let verb = UndoConfig {
        change: Some(change.to_owned()),
        kind: None,
    };
    run(hub, verb).await.expect("undone")
}

#[tokio::test]
async fn a_failed_switch_from_the_bridge_to_http_leaves_the_client_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let name = ClientName::new("vscode");
    hub.access.admit_local(&name).await.expect("admitted");
    let (id, _) = preview(&hub, connect(folder.path(), ClientTransport::Http)).await;
    fs::write(vscode_file(folder.path()), "{}").expect("written");
    assert!(
        apply_preview(&hub, id).await.is_err(),
        "the file has changed"
    );
    let clients = hub.access.clients();
    assert!(clients.iter().all(|client| client.token_hmac.is_none()));
    hub.access.admit_local(&name).await.expect("not revoked");
    let again = connect(folder.path(), ClientTransport::Http);
    let (id, _) = preview(&hub, again).await;
    apply_preview(&hub, id).await.expect("applied");
}

#[tokio::test]
async fn undoing_a_connection_over_http_invalidates_its_token_and_revokes_only_a_new_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    for existed in [true, false] {
        let name = ClientName::new(if existed { "old" } else { "new" });
        if existed {
            hub.access.admit_local(&name).await.expect("admitted");
        }
        let verb = PreviewConfig {
            name: Some(name.clone()),
            ..connect(folder.path(), ClientTransport::Http)
        };
        let (id, _) = preview(&hub, verb).await;
        let change = apply_preview(&hub, id).await.expect("applied");
        let token = read_token(folder.path());
        assert_eq!(hub.access.find_client(&token), Some(name.clone()));
        undo(&hub, &change.id).await;
        assert_eq!(hub.access.find_client(&token), None);
        assert_eq!(
            hub.access.admit_local(&name).await.is_ok(),
            existed,
            "only a client that the connection added is revoked"
        );
    }
}

#[tokio::test]
async fn a_token_is_invalid_while_no_entry_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let name = ClientName::new("vscode");
    let over_http = connect(folder.path(), ClientTransport::Http);
    let (id, _) = preview(&hub, over_http.clone()).await;
    apply_preview(&hub, id).await.expect("connected");
    let token = read_token(folder.path());
    let by_bridge = connect(folder.path(), ClientTransport::Bridge);
    let disconnect = PreviewConfig {
        action: ConfigAction::Disconnect,
        ..over_http.clone()
    };
    let as_other_client = PreviewConfig {
        name: Some(ClientName::new("other")),
        ..over_http.clone()
    };
    for verb in [by_bridge.clone(), disconnect, as_other_client] {
        let (id, shown) = preview(&hub, verb).await;
        let is_announced = |note: &String| note.contains("'vscode' becomes invalid");
        assert!(shown.notes.iter().any(is_announced), "{:?}", shown.notes);
        assert_eq!(hub.access.find_client(&token), Some(name.clone()));
        let change = apply_preview(&hub, id).await.expect("applied");
        assert_eq!(hub.access.find_client(&token), None);
        undo(&hub, &change.id).await;
        assert_eq!(read_token(folder.path()), token);
        assert_eq!(hub.access.authenticate(&token, None), Ok(name.clone()));
    }

    let (id, _) = preview(&hub, by_bridge).await;
    let change = apply_preview(&hub, id).await.expect("applied");
    run(&hub, RevokeClient { name: name.clone() })
        .await
        .expect("revoked");
    undo(&hub, &change.id).await;
    assert_eq!(
        hub.access.find_client(&token),
        None,
        "a client that was revoked since stays revoked"
    );
}

#[tokio::test]
async fn a_token_stays_valid_while_another_entry_has_it_or_if_no_entry_got_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let name = ClientName::new("vscode");
    // The client is revoked before each connection, so that both files can use its name.
    for project in [&one, &two] {
        let _ = run(&hub, RevokeClient { name: name.clone() }).await;
        let (id, _) = preview(&hub, connect(project, ClientTransport::Http)).await;
        apply_preview(&hub, id).await.expect("connected");
    }
    let token = hub
        .access
        .rotate(&name, None, TokenLifetime::Same)
        .await
        .expect("rotated");
    let written = hub.write_client_token(&name, &token).await;
    assert_eq!(written.updated.len(), 2, "{:?}", written.failed);
    let switch = async |project: &Path| {
        let (id, _) = preview(&hub, connect(project, ClientTransport::Bridge)).await;
        apply_preview(&hub, id).await.expect("applied")
    };
    let first = switch(&one).await;
    assert_eq!(hub.access.find_client(&token), Some(name.clone()));
    switch(&two).await;
    assert_eq!(hub.access.find_client(&token), None);
    undo(&hub, &first.id).await;
    assert_eq!(read_token(&one), token);
    assert_eq!(hub.access.find_client(&token), Some(name.clone()));

    run(&hub, RevokeClient { name: name.clone() })
        .await
        .expect("revoked");
    while clock::now()
        <= hub
            .client_configs
            .managed(&vscode_file(&one))
            .expect("managed")
            .connected_at
    {
        tokio::task::yield_now().await;
    }
    let added = hub.access.add(&name, None, None, None).await;
    let by_hand = added.expect("added by hand");
    switch(&one).await;
    assert_eq!(hub.access.find_client(&by_hand), Some(name));
}

#[tokio::test]
async fn a_repair_replaces_the_token_of_the_client_only_if_the_file_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let name = ClientName::new("vscode");
    let (id, _) = preview(&hub, connect(folder.path(), ClientTransport::Http)).await;
    apply_preview(&hub, id).await.expect("connected");
    let old = read_token(folder.path());

    let (id, _) = preview(&hub, connect(folder.path(), ClientTransport::Http)).await;
    fs::write(vscode_file(folder.path()), "{}").expect("written");
    assert!(
        apply_preview(&hub, id).await.is_err(),
        "the file has changed"
    );
    let clients = hub.access.clients();
    assert!(clients.iter().all(|client| client.old_token_hmac.is_none()));
    assert_eq!(hub.access.find_client(&old), Some(name.clone()));

    let (id, _) = preview(&hub, connect(folder.path(), ClientTransport::Http)).await;
    let repair = apply_preview(&hub, id).await.expect("repaired");
    let new = read_token(folder.path());
    // The old token is valid until the new token is used.
    assert_eq!(hub.access.authenticate(&old, None), Ok(name.clone()));
    assert_eq!(hub.access.authenticate(&new, None), Ok(name.clone()));
    assert_eq!(
        hub.access.authenticate(&old, None),
        Err(TokenRefusal::Unknown)
    );

    undo(&hub, &repair.id).await;
    assert_eq!(
        hub.access.find_client(&new),
        Some(name),
        "undoing a repair does not revoke the client"
    );
}

#[tokio::test]
async fn a_token_that_is_also_used_elsewhere_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let name = ClientName::new("vscode");
    let added = hub.access.add(&name, None, None, None).await;
    added.expect("added by hand");
    let refused = run(&hub, connect(&one, ClientTransport::Http)).await;
    let message = refused.expect_err("the name is taken").message;
    assert!(message.contains("already exists"), "{message}");

    // The client is revoked before each connection, so that both files can use its name.
    for project in [&one, &two] {
        let name = name.clone();
        run(&hub, RevokeClient { name }).await.expect("revoked");
        let (id, _) = preview(&hub, connect(project, ClientTransport::Http)).await;
        apply_preview(&hub, id).await.expect("connected");
    }
    let refused = run(&hub, connect(&one, ClientTransport::Http)).await;
    let message = refused.expect_err("the other file needs the token").message;
    let other = vscode_file(&two).display().to_string();
    assert!(message.contains(&other), "{message}");
    assert!(message.contains("clients rotate"), "{message}");
}

#[tokio::test]
async fn a_preview_is_used_only_for_the_kind_of_change_that_it_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    for (id, action) in [
        ("import", ClientAction::Import),
        ("connect", ClientAction::Connect),
    ] {
        hub.client_configs.keep_preview(Preview {
            id: id.to_owned(),
            plan: Plan::default(),
            action,
            kind: None,
            connected: Vec::new(),
            disconnected: Vec::new(),
            new_client: None,
            imported: Vec::new(),
        });
    }
    let import = |id: &str| ImportServers {
        id: id.to_owned(),
        restores: false,
    };
    let refused = apply_preview(&hub, "import".into()).await;
    assert_eq!(refused.expect_err("refused").code, ErrorCode::Invalid);
    let refused = run(&hub, import("connect")).await;
    assert_eq!(refused.expect_err("refused").code, ErrorCode::Invalid);
    // The refused previews can still be used.
    run(&hub, import("import")).await.expect("imported");
    apply_preview(&hub, "connect".into())
        .await
        .expect("applied");
}

#[tokio::test]
async fn a_correct_entry_that_is_not_managed_is_taken_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let file = vscode_file(folder.path());
    let kind = "vscode".to_owned();
    let snippet = run(&hub, ShowConfig { kind }).await.expect("a snippet");
    fs::write(&file, &snippet.text).expect("written");
    let verb = connect(folder.path(), ClientTransport::Bridge);
    let (id, preview) = preview(&hub, verb.clone()).await;
    assert_eq!(preview.files, []);
    let change = apply_preview(&hub, id).await.expect("applied");
    assert!(hub.client_configs.managed(&file).is_some());
    let again = run(&hub, verb).await.expect("a preview");
    assert_eq!(again.id, None, "nothing is left to do");
    undo(&hub, &change.id).await;
    assert!(hub.client_configs.managed(&file).is_none());
    let text = fs::read_to_string(&file).expect("read");
    assert_eq!(text, snippet.text);
}

#[tokio::test]
async fn imported_servers_stay_until_all_files_are_restored() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let spec = serde_json::from_str(r#"{"name":"demo","command":"x"}"#).expect("a spec");
    let server = servers::add(&hub, spec, SecretValues::default())
        .await
        .expect("added");
    let (id, _) = preview(&hub, connect(folder.path(), ClientTransport::Bridge)).await;
    let preview = hub
        .client_configs
        .take_preview(&id, |action| action != ClientAction::Import)
        .expect("a preview");
    let change = apply(&hub, preview, vec![server.clone()], false)
        .await
        .expect("applied");
    let file = vscode_file(folder.path());
    fs::write(&file, b"\xff").expect("written");
    let undone = undo(&hub, &change.id).await;
    assert!(undone.files[0].error.is_some(), "{undone:?}");
    assert!(hub.registry.get(&server).is_ok());
    fs::remove_file(&file).expect("removed");
    let undone = undo(&hub, &change.id).await;
    assert_eq!(undone.files[0].error, None);
    assert!(hub.registry.get(&server).is_err());
}

#[tokio::test]
async fn an_outdated_import_adds_no_server_even_for_a_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let (id, _) = preview(&hub, connect(folder.path(), ClientTransport::Bridge)).await;
    let preview = hub
        .client_configs
        .take_preview(&id, |action| action != ClientAction::Import)
        .expect("a preview");
    let server = FoundServer {
        name: "demo".into(),
        spec: Ok(serde_json::from_str(r#"{"name":"demo","command":"x"}"#).expect("a spec")),
        found_at: Vec::new(),
        secrets: Vec::new(),
        inputs: Vec::new(),
        notes: Vec::new(),
    };
    hub.client_configs.keep_preview(Preview {
        action: ClientAction::Import,
        imported: vec![(server, BTreeMap::new())],
        ..preview
    });
    fs::write(vscode_file(folder.path()), b"{}").expect("written");
    let mut events = hub.events.subscribe();
    let restores = false;
    let refused = run(&hub, ImportServers { id, restores }).await;
    assert_eq!(refused.expect_err("refused").code, ErrorCode::Conflict);
    while let Ok(event) = events.try_recv() {
        let is_added = matches!(&event, Event::ServerChanged { id } if id.as_str() == "demo");
        assert!(!is_added, "{event:?}");
    }
}

#[tokio::test]
async fn a_relative_project_folder_is_refused_with_an_example() {
    let folder = tempfile::tempdir().expect("a folder");
    let hub = open_hub(&folder.path().join("data")).await;
    let relative = Path::new("src/project");
    let connected = run(&hub, connect(relative, ClientTransport::Http)).await;
    let searched = run(
        &hub,
        FindServers {
            kind: None,
            projects: vec![relative.to_owned()],
            environment: Environment::new(),
        },
    )
    .await;
    for error in [connected.err(), searched.err()] {
        let error = error.expect("the folder is refused");
        assert_eq!(
            (error.code, error.message.as_str()),
            (
                ErrorCode::Invalid,
                "the project folder 'src/project' is not an absolute path; use a path such as \
                 /home/me/project"
            )
        );
    }
}
