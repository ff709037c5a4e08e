mod audit;
mod client_files;
mod fail_closed;

use drawbridge_model::{
    acceptance::AcceptanceState,
    builtin::BuiltIn,
    ids::UserName,
    policy::{Effect, Scope},
    server::ServerState,
    spec::ServerSpec,
};
use drawbridge_store::secrets::{InMemory, Secret};
use drawbridge_upstream::ServerRequest;

use super::*;
use crate::api::{
    ErrorCode, Verb, audit::*, clients::*, drawbridge, policy::*, profiles::*, secrets::*,
    servers::*, settings::*, tools::ExportTools,
};

pub(super) struct TestHub {
    pub(super) hub: Arc<Hub>,
    folder: tempfile::TempDir,
}

/// Opens a hub without an admin token, whose built-in servers are disabled and whose secrets are in
/// memory.
pub(crate) async fn open_hub(data_dir: &Path) -> Arc<Hub> {
    let options = HubOptions {
        data_dir: data_dir.to_owned(),
        admin_token: None,
        disabled_built_ins: BuiltIn::ALL.into(),
    };
    Hub::open_with(options, Secrets::new(InMemory::default()))
        .await
        .expect("a hub")
}

pub(super) async fn test_hub() -> TestHub {
    let folder = tempfile::tempdir().expect("a folder");
    let options = HubOptions {
        data_dir: folder.path().to_owned(),
        admin_token: Some("a".repeat(40)),
        disabled_built_ins: BuiltIn::ALL.into(),
    };
    let hub = Hub::open_with(options, Secrets::new(InMemory::default()))
        .await
        .expect("a hub");
    TestHub { hub, folder }
}

impl TestHub {
    /// Changes the database with SQL, as another program could.
    fn tamper(&self, sql: &str) {
        let file = self.folder.path().join("drawbridge.db");
        rusqlite::Connection::open(file)
            .and_then(|connection| connection.execute_batch(sql))
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
    }

    async fn run<V: Verb>(&self, verb: V) -> Result<V::Answer, ApiError> {
        verb.run(&self.hub).await
    }

    /// Adds a server, which is accepted at once unless `pending` is set.
    async fn add(&self, spec: &str, secrets: SecretValues, pending: bool) -> ServerView {
        self.run(AddServer {
            spec: self::spec(spec),
            secrets,
            pending,
            grant_secrets: Vec::new(),
        })
        .await
        .expect("added")
    }
}

fn spec(text: &str) -> ServerSpec {
    serde_json::from_str(text).expect("a spec")
}

/// Returns the data of a client without capabilities, as read from `initialize`.
pub(super) fn client_info() -> ClientHello {
    let params = json::raw(r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#.into());
    protocol::handshake::read_initialize(Some(&params)).expect("a hello")
}

fn message<T>(result: Result<T, ApiError>) -> String {
    result.err().expect("rejected").message
}

fn code<T>(result: Result<T, ApiError>) -> Option<ErrorCode> {
    result.err().map(|error| error.code)
}

#[tokio::test]
async fn a_second_hub_on_the_same_folder_is_rejected_with_the_pid_of_the_first() {
    let test_hub = test_hub().await;
    let options = HubOptions {
        data_dir: test_hub.folder.path().to_owned(),
        admin_token: None,
        disabled_built_ins: BuiltIn::ALL.into(),
    };
    let error = Hub::open(options)
        .await
        .err()
        .expect("the hub does not open");
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(
        error.message.contains(&std::process::id().to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn a_change_of_a_setting_during_a_pause_does_not_end_the_pause() {
    let test_hub = test_hub().await;
    let change = ChangeSettings {
        cache_ttl_s: Some(60),
        ..ChangeSettings::default()
    };
    // The pause is polled first, and is being written when the change begins.
    let (paused, changed) = tokio::join!(
        test_hub.run(drawbridge::PauseCalls::default()),
        test_hub.run(change)
    );
    paused.expect("paused");
    assert_eq!(changed.expect("changed").cache_ttl_s, 60);
    let stored = Settings::load(test_hub.hub.store.clone()).await;
    let stored = stored.expect("settings").get();
    assert!(stored.paused && test_hub.hub.settings.get().paused);
    assert_eq!(stored.cache_ttl, Duration::from_secs(60));
}

#[tokio::test]
async fn a_policy_whose_default_cannot_be_stored_changes_no_rule() {
    let test_hub = test_hub().await;
    let scope = Scope {
        server: Some(ServerId::new("s")),
        ..Scope::default()
    };
    let effect = Effect::Deny;
    test_hub
        .run(SetPolicy { scope, effect })
        .await
        .expect("set a rule");
    let before = test_hub.run(ListPolicy {}).await.expect("the policy");
    test_hub.tamper("ALTER TABLE setting RENAME COLUMN value TO other");
    let import = ImportPolicy {
        text: r#"{"defaults":{"tools":"allow"},"rules":[]}"#.into(),
        replace: true,
    };
    assert_eq!(
        code(test_hub.run(import).await),
        Some(ErrorCode::Unavailable)
    );
    let preset = PolicyPreset::AskListed { listed: Vec::new() };
    assert_eq!(
        code(test_hub.run(ApplyPreset { preset }).await),
        Some(ErrorCode::Unavailable)
    );
    let after = test_hub.run(ListPolicy {}).await.expect("the policy");
    assert_eq!(after, before, "the policy in memory");
    let rules = test_hub.hub.store.rules().await.expect("read the rules");
    assert_eq!(rules.len(), 1, "the policy in the store");
}

#[tokio::test]
async fn secrets_are_put_in_the_secret_store_and_deleted_with_their_server() {
    let test_hub = test_hub().await;
    let secrets = SecretValues {
        env: [("KEY".to_owned(), "top-secret".to_owned())].into(),
        ..SecretValues::default()
    };
    let server = test_hub
        .add(r#"{"name":"My Server","command":"x"}"#, secrets, true)
        .await;
    assert_eq!(server.spec.env["KEY"], "${keyring:my-server.KEY}");
    let file = std::fs::read_to_string(&server.file).expect("the spec file");
    assert!(!file.contains("top-secret"), "{file}");
    assert_eq!(
        test_hub.run(ListSecrets {}).await.expect("listed")[0].present,
        Some(true)
    );
    test_hub
        .run(RemoveServer { id: server.id })
        .await
        .expect("removed");
    assert!(
        test_hub
            .hub
            .secrets
            .get("my-server.KEY")
            .await
            .expect("read the secret store")
            .is_none()
    );
    assert!(!Path::new(&server.file).exists());
}

#[tokio::test]
async fn literal_secrets_are_moved_to_the_secret_store_and_the_server_stays_accepted() {
    let test_hub = test_hub().await;
    let spec = r#"{"name":"a","command":"x","args":["--api-key","canary-0123456789"],
        "env":{"DATABASE_URL":"postgres://u:canary-pw@db/app"}}"#;
    let server = test_hub.add(spec, SecretValues::default(), false).await;
    assert_eq!(
        server.literal_secrets,
        ["the variable DATABASE_URL", "argument 2"]
    );
    let id = server.id.clone();
    let server = test_hub.run(MoveLiterals { id }).await.expect("moved");
    assert_eq!(server.acceptance, AcceptanceState::Accepted);
    assert_eq!(server.literal_secrets, [""; 0]);
    assert_eq!(server.spec.args, ["--api-key", "${keyring:a.api-key}"]);
    let file = std::fs::read_to_string(&server.file).expect("the spec file");
    assert!(!file.contains("canary"), "{file}");
    let stored = test_hub.hub.secrets.get("a.api-key").await;
    let stored = stored.expect("read the secret store").expect("stored");
    assert_eq!(stored.expose(), "canary-0123456789");
}

#[tokio::test]
async fn a_moved_secret_gets_no_name_that_another_server_uses() {
    let test_hub = test_hub().await;
    let other = r#"{"name":"b","command":"x","env":{"KEY":"${keyring:a.api-key}"}}"#;
    test_hub.add(other, SecretValues::default(), true).await;
    let spec = r#"{"name":"a","command":"x","args":["--api-key","canary-0123456789"]}"#;
    let server = test_hub.add(spec, SecretValues::default(), false).await;
    let id = server.id.clone();
    let server = test_hub.run(MoveLiterals { id }).await.expect("moved");
    assert_eq!(server.spec.args, ["--api-key", "${keyring:a.api-key_2}"]);
}

#[tokio::test]
async fn a_renamed_secret_keeps_its_value_and_its_servers_stay_accepted() {
    let test_hub = test_hub().await;
    let secrets = SecretValues {
        env: [("KEY".to_owned(), "top-secret".to_owned())].into(),
        ..SecretValues::default()
    };
    let server = test_hub
        .add(r#"{"name":"a","command":"x"}"#, secrets, false)
        .await;
    let rename = |name: &str, new_name: &str| RenameSecret {
        name: name.into(),
        new_name: new_name.into(),
    };
    test_hub
        .run(rename("a.KEY", "shared.KEY"))
        .await
        .expect("renamed");
    let id = server.id.clone();
    let server = test_hub.run(ShowServer { id }).await.expect("shown");
    assert_eq!(server.acceptance, AcceptanceState::Accepted);
    assert_eq!(server.spec.env["KEY"], "${keyring:shared.KEY}");
    let secrets = &test_hub.hub.secrets;
    let moved = secrets
        .get("shared.KEY")
        .await
        .expect("read")
        .expect("stored");
    assert_eq!(moved.expose(), "top-secret");
    assert!(secrets.get("a.KEY").await.expect("read").is_none());

    // As if the rename had failed before it removed the old name.
    let value = || Secret::new("top-secret".to_owned());
    secrets.set("a.KEY", value()).await.expect("set");
    test_hub
        .run(rename("a.KEY", "shared.KEY"))
        .await
        .expect("renamed again");
    assert!(secrets.get("a.KEY").await.expect("read").is_none());
    let other = Secret::new("other".to_owned());
    secrets.set("a.KEY", other).await.expect("set");
    let taken = message(test_hub.run(rename("a.KEY", "shared.KEY")).await);
    assert!(taken.contains("already"), "{taken}");
    secrets.remove("a.KEY").await.expect("removed");
    let missing = message(test_hub.run(rename("a.KEY", "b.KEY")).await);
    assert!(missing.contains("there is no secret 'a.KEY'"), "{missing}");
}

#[tokio::test]
async fn a_secret_in_use_is_removed_only_if_a_person_insists() {
    let test_hub = test_hub().await;
    let secrets = SecretValues {
        env: [("KEY".to_owned(), "top-secret".to_owned())].into(),
        ..SecretValues::default()
    };
    test_hub
        .add(r#"{"name":"a","command":"x"}"#, secrets, true)
        .await;
    let listed = test_hub.run(ListSecrets {}).await.expect("listed");
    assert_eq!(listed[0].not_granted, [ServerId::new("a")]);
    let remove = |even_if_used| RemoveSecret {
        name: "a.KEY".into(),
        even_if_used,
    };
    let refused = message(test_hub.run(remove(false)).await);
    assert!(refused.contains("used by the server 'a'"), "{refused}");
    test_hub.run(remove(true)).await.expect("removed");
}

#[tokio::test]
async fn only_the_identity_that_was_shown_can_be_accepted() {
    let test_hub = test_hub().await;
    let shown = test_hub
        .add(
            r#"{"name":"a","command":"harmless"}"#,
            SecretValues::default(),
            true,
        )
        .await;
    assert_eq!(
        (shown.acceptance, shown.state),
        (AcceptanceState::New, ServerState::NeedsAcceptance)
    );
    std::fs::write(&shown.file, r#"{"name":"a","command":"harmful"}"#).expect("write");
    test_hub.hub.registry.reload();
    let accept = AcceptServer {
        id: shown.id.clone(),
        identity: shown.identity,
        grant_secrets: Vec::new(),
    };
    assert_eq!(code(test_hub.run(accept).await), Some(ErrorCode::Conflict));
    let now = test_hub
        .run(ShowServer {
            id: shown.id.clone(),
        })
        .await
        .expect("shown");
    assert_eq!(now.acceptance, AcceptanceState::New);
    let accepted = test_hub
        .run(AcceptServer {
            id: shown.id,
            identity: now.identity,
            grant_secrets: Vec::new(),
        })
        .await
        .expect("accepted");
    assert_eq!(accepted.acceptance, AcceptanceState::Accepted);
}

#[tokio::test]
async fn a_server_that_may_not_run_cannot_be_verified_synced_or_restarted() {
    let test_hub = test_hub().await;
    let id = test_hub
        .add(
            r#"{"name":"a","command":"x"}"#,
            SecretValues::default(),
            true,
        )
        .await
        .id;
    assert_eq!(
        code(test_hub.run(VerifyServer { id: id.clone() }).await),
        Some(ErrorCode::Conflict)
    );
    assert_eq!(
        code(test_hub.run(SyncServer { id: id.clone() }).await),
        Some(ErrorCode::Conflict)
    );
    assert_eq!(
        code(test_hub.run(RestartServer { id: id.clone() }).await),
        Some(ErrorCode::Conflict)
    );
    assert!(test_hub.hub.catalog.sync(&id).await.is_err());
    assert_eq!(
        test_hub
            .hub
            .pool
            .status(&id)
            .map_or(0, |status| status.starts),
        0
    );
}

#[tokio::test]
async fn a_missing_command_is_reported_with_a_remedy() {
    let test_hub = test_hub().await;
    let spec = spec(r#"{"name":"a","command":"no-such-command-here"}"#);
    let error = test_hub
        .run(VerifySpec {
            id: None,
            spec,
            secrets: SecretValues::default(),
            grant_secrets: Vec::new(),
        })
        .await
        .expect_err("fails");
    assert!(
        error
            .message
            .contains("cannot find the command 'no-such-command-here'"),
        "{error}"
    );
    assert!(error.message.contains("Install the program"), "{error}");
}

#[tokio::test]
async fn each_request_looks_once_for_a_missing_program() {
    let test_hub = test_hub().await;
    let program = test_hub.folder.path().join("missing-program");
    let spec = serde_json::json!({"name": "a", "command": program});
    let server = test_hub
        .add(&spec.to_string(), SecretValues::default(), false)
        .await;
    let server = test_hub
        .hub
        .registry
        .get(&server.id)
        .expect("the server is registered");
    let session = test_hub.hub.pool.session(&server, None);
    assert!(session.hello().await.is_err());
    assert_eq!(session.status().starts, 1);
    std::fs::write(&program, "not executable").expect("write");
    assert!(session.hello().await.is_err());
    assert_eq!(session.status().starts, 2);
}

#[tokio::test]
async fn a_server_that_crashed_too_often_says_so() {
    let test_hub = test_hub().await;
    let show = async |name: &str, retries: u32| {
        let spec = serde_json::json!({
            "name": name, "command": "sh", "args": ["-c", "exit 7"], "retries": retries,
        });
        let server = test_hub
            .add(&spec.to_string(), SecretValues::default(), false)
            .await;
        let registered = test_hub.hub.registry.get(&server.id);
        let registered = registered.expect("the server is registered");
        let session = test_hub.hub.pool.session(&registered, None);
        assert!(session.hello().await.is_err());
        let shown = test_hub.run(ShowServer { id: server.id }).await;
        shown.expect("shown")
    };
    let gave_up = show("twice", 1).await;
    assert_eq!(
        (gave_up.state, gave_up.crashed_often),
        (ServerState::Error, false)
    );
    let crashed_often = show("often", 8).await;
    assert_eq!(
        (crashed_often.state, crashed_often.crashed_often),
        (ServerState::Error, true),
        "{}",
        crashed_often.reason
    );
}

#[tokio::test]
async fn a_closed_pool_starts_no_server() {
    let test_hub = test_hub().await;
    let server = test_hub
        .add(
            r#"{"name":"a","command":"sh","args":["-c","sleep 60"]}"#,
            SecretValues::default(),
            false,
        )
        .await;
    let server = test_hub
        .hub
        .registry
        .get(&server.id)
        .expect("the server is registered");
    test_hub.hub.pool.close().await;
    let session = test_hub.hub.pool.session(&server, None);
    assert!(session.hello().await.is_err());
    assert_eq!(session.status().starts, 0);
}

#[tokio::test]
async fn a_closed_session_cannot_be_restarted_through_an_old_handle() {
    let test_hub = test_hub().await;
    let server = test_hub
        .add(
            r#"{"name":"a","command":"sh","args":["-c","sleep 60"]}"#,
            SecretValues::default(),
            false,
        )
        .await;
    let registered = test_hub
        .hub
        .registry
        .get(&server.id)
        .expect("the server is registered");
    let session = test_hub.hub.pool.session(&registered, None);
    test_hub
        .run(EnableServer {
            id: server.id,
            enabled: false,
        })
        .await
        .expect("disabled");
    assert!(session.hello().await.is_err());
    assert_eq!(session.status().starts, 0);
}

#[tokio::test]
async fn a_client_that_changes_its_user_or_is_revoked_loses_its_own_sessions_with_servers() {
    let test_hub = test_hub().await;
    let spec = r#"{"name":"a","command":"x","isolation":"per_client"}"#;
    let server = test_hub.add(spec, SecretValues::default(), true).await;
    let server = test_hub.hub.registry.get(&server.id).expect("registered");
    let (name, other) = (ClientName::new("c"), ClientName::new("other"));
    test_hub
        .run(AddClient {
            name: name.clone(),
            token: None,
            user: None,
            lifetime_s: None,
            profile: None,
        })
        .await
        .expect("added");
    let session_of = |client| test_hub.hub.pool.session(&server, Some(client));
    let (own, others) = (session_of(&name), session_of(&other));
    let user = UserName::new("anna");
    let moved = SetClientUser {
        name: name.clone(),
        user,
    };
    test_hub.run(moved).await.expect("moved");
    let after = session_of(&name);
    assert!(!Arc::ptr_eq(&own, &after), "a new session");
    assert!(Arc::ptr_eq(&others, &session_of(&other)));
    let revoked = RevokeClient { name: name.clone() };
    test_hub.run(revoked).await.expect("revoked");
    assert!(!Arc::ptr_eq(&after, &session_of(&name)));
}

#[tokio::test]
async fn revoking_a_client_ends_its_sessions_and_deletes_its_rules() {
    let test_hub = test_hub().await;
    let name = ClientName::new("c");
    test_hub
        .run(AddClient {
            name: name.clone(),
            token: None,
            user: None,
            lifetime_s: None,
            profile: None,
        })
        .await
        .expect("added");
    let session = test_hub
        .hub
        .sessions
        .open(name.clone(), client_info(), ClientScope::ALL)
        .expect("a session");
    let scope = Scope {
        client: Some(name.clone()),
        ..Scope::default()
    };
    test_hub
        .run(SetPolicy {
            scope,
            effect: Effect::Allow,
        })
        .await
        .expect("set the policy");
    test_hub
        .run(RevokeClient { name: name.clone() })
        .await
        .expect("revoked");
    assert!(session.ended.is_cancelled());
    assert!(
        test_hub
            .run(ListPolicy {})
            .await
            .expect("listed")
            .rules
            .is_empty()
    );
    test_hub
        .run(AddClient {
            name,
            token: None,
            user: None,
            lifetime_s: None,
            profile: None,
        })
        .await
        .expect("added again");
}

#[tokio::test]
async fn the_sessions_of_a_client_end_with_its_token() {
    let test_hub = test_hub().await;
    let hub = &test_hub.hub;
    let add = |name: &str, lifetime_s| AddClient {
        lifetime_s,
        ..new_client(name, None)
    };
    for (name, lifetime) in [("ends", Some(60)), ("stays", None)] {
        test_hub.run(add(name, lifetime)).await.expect("added");
    }
    let open = |name: &str| {
        let name = ClientName::new(name);
        let session = hub.sessions.open(name, client_info(), ClientScope::ALL);
        session.expect("opened")
    };
    let (ends, stays) = (open("ends"), open("stays"));
    let after = |seconds: i64| Timestamp(clock::now().0 + seconds * 1000);
    client_uses::close_expired(hub, after(0), after(30));
    assert!(!ends.ended.is_cancelled());
    client_uses::close_expired(hub, after(30), after(90));
    assert!(ends.ended.is_cancelled());
    assert!(!stays.ended.is_cancelled());
    let refused = message(test_hub.run(add("zero", Some(0))).await);
    assert!(refused.contains("at least one second"), "{refused}");
}

fn new_client(name: &str, profile: Option<&str>) -> AddClient {
    AddClient {
        name: ClientName::new(name),
        token: None,
        user: None,
        lifetime_s: None,
        profile: profile.map(str::to_owned),
    }
}

async fn put_profile(test_hub: &TestHub, name: &str) {
    let profile = serde_json::from_value(serde_json::json!({ "name": name, "servers": {} }));
    let profile = profile.expect("a profile");
    test_hub.run(PutProfile { profile }).await.expect("saved");
}

#[tokio::test]
async fn a_client_that_cannot_be_added_keeps_its_removed_profile() {
    let test_hub = test_hub().await;
    let client = ClientName::new("c");
    test_hub
        .hub
        .access
        .admit_local(&client)
        .await
        .expect("admitted");
    for name in ["old", "new"] {
        put_profile(&test_hub, name).await;
    }
    let assign = AssignProfile {
        client: client.clone(),
        profile: Some("old".to_owned()),
    };
    test_hub.run(assign).await.expect("assigned");
    let remove = RemoveProfile {
        name: "old".to_owned(),
    };
    test_hub.run(remove).await.expect("removed");
    for add in [
        AddClient {
            token: Some("short".to_owned()),
            ..new_client("c", Some("new"))
        },
        AddClient {
            user: Some(UserName::new("")),
            ..new_client("c", Some("new"))
        },
    ] {
        test_hub.run(add).await.err().expect("rejected");
        let profiles = test_hub.hub.catalog.profiles();
        assert!(
            profiles.has_removed_profile(&client),
            "the client sees nothing"
        );
    }
}

#[tokio::test]
async fn the_second_of_two_clients_of_one_name_does_not_change_the_profile_of_the_first() {
    let test_hub = test_hub().await;
    for name in ["one", "two"] {
        put_profile(&test_hub, name).await;
    }
    let (one, two) = tokio::join!(
        test_hub.run(new_client("c", Some("one"))),
        test_hub.run(new_client("c", Some("two"))),
    );
    let added = match (one.is_ok(), two.is_ok()) {
        (true, false) => "one",
        (false, true) => "two",
        both => panic!("{both:?}"),
    };
    let profile = test_hub.hub.catalog.profiles();
    let profile = profile.client_profile(&ClientName::new("c"));
    assert_eq!(profile.expect("a profile").name, added);
}

#[tokio::test]
async fn a_client_cannot_be_given_the_admin_token() {
    let test_hub = test_hub().await;
    let add = AddClient {
        name: ClientName::new("c"),
        token: Some("a".repeat(40)),
        user: None,
        lifetime_s: None,
        profile: None,
    };
    assert_eq!(code(test_hub.run(add).await), Some(ErrorCode::Conflict));
}

#[tokio::test]
async fn an_invalid_scope_is_rejected() {
    let test_hub = test_hub().await;
    for scope in [
        Scope {
            server: Some(ServerId::new("")),
            ..Scope::default()
        },
        Scope {
            client: Some(ClientName::new("")),
            ..Scope::default()
        },
        Scope {
            tool: Some("t".into()),
            ..Scope::default()
        },
    ] {
        assert_eq!(
            code(
                test_hub
                    .run(SetPolicy {
                        scope,
                        effect: Effect::Allow
                    })
                    .await
            ),
            Some(ErrorCode::Invalid)
        );
    }
}

#[tokio::test]
async fn an_impossible_request_is_rejected_with_the_reason() {
    let test = test_hub().await;
    test.add(
        r#"{"name":"local","command":"x"}"#,
        SecretValues::default(),
        true,
    )
    .await;
    let sign_out = SignOutServer {
        id: ServerId::new("local"),
    };
    assert_eq!(
        message(test.run(sign_out).await),
        "'local' is a local program, so there is nothing to sign out of"
    );
    let export = ExportTools {
        client: Some(ClientName::new("ghost")),
    };
    assert_eq!(
        message(test.run(export).await),
        "there is no client named 'ghost'"
    );
    let import = ImportPolicy {
        text: "[]".into(),
        replace: false,
    };
    let error = message(test.run(import).await);
    assert!(
        error.starts_with("this is not a valid policy file: ")
            && error.contains("expected an object with defaults and rules")
            && error.ends_with(". See `drawbridge policy export` for the format."),
        "{error}"
    );
}

#[tokio::test]
async fn settings_are_bounded_and_stored() {
    let test_hub = test_hub().await;
    let wrong = ChangeSettings {
        approval_timeout_s: Some(1),
        ..ChangeSettings::default()
    };
    assert_eq!(code(test_hub.run(wrong).await), Some(ErrorCode::Invalid));
    let wrong = ChangeSettings {
        audit_retention_days: Some(4_000),
        ..ChangeSettings::default()
    };
    assert_eq!(code(test_hub.run(wrong).await), Some(ErrorCode::Invalid));
    let unlimited = ChangeSettings {
        audit_retention_days: Some(0),
        ..ChangeSettings::default()
    };
    assert_eq!(
        test_hub
            .run(unlimited)
            .await
            .expect("changed")
            .audit_retention_days,
        0
    );
    let right = ChangeSettings {
        approval_timeout_s: Some(20),
        ..ChangeSettings::default()
    };
    test_hub.run(right).await.expect("changed");
    test_hub
        .run(SetDefaultPolicy {
            effect: Effect::Deny,
            kind: None,
        })
        .await
        .expect("set the policy");
    let loaded = Settings::load(test_hub.hub.store.clone())
        .await
        .expect("loaded")
        .get();
    assert_eq!(
        (loaded.approval_timeout.as_secs(), loaded.default_tools),
        (20, Effect::Deny)
    );
    assert_eq!(loaded.audit_retention_days, 0);
}

#[tokio::test]
async fn changes_and_refused_tokens_are_recorded_in_the_audit_log() {
    let test_hub = test_hub().await;
    let before = test_hub
        .run(VerifyAudit {})
        .await
        .expect("verified")
        .entries;
    test_hub
        .add(
            r#"{"name":"a","url":"http://127.0.0.1:9/mcp"}"#,
            SecretValues::default(),
            false,
        )
        .await;
    let scope = Scope {
        server: Some(ServerId::new("a")),
        ..Scope::default()
    };
    test_hub
        .run(SetPolicy {
            scope: scope.clone(),
            effect: Effect::Deny,
        })
        .await
        .expect("set the policy");
    test_hub.run(RemovePolicy { scope }).await.expect("removed");
    test_hub
        .run(SetDefaultPolicy {
            effect: Effect::Deny,
            kind: None,
        })
        .await
        .expect("set the policy");
    test_hub.hub.record_refused_token(&ClientName::new("c"));
    test_hub.hub.record_refused_token(&ClientName::new("c"));
    let report = test_hub.run(VerifyAudit {}).await.expect("verified");
    assert_eq!(
        (report.entries - before, report.broken),
        (6, None),
        "two entries about the server, two about the rule, one about the default, one about the token"
    );
}

/// A future has the size of its largest branch, and is moved before it is first polled. Rarely used
/// branches are therefore boxed.
#[tokio::test]
async fn the_future_of_a_request_is_small() {
    let test_hub = test_hub().await;
    let server = test_hub
        .add(
            r#"{"name":"a","url":"http://127.0.0.1:9/mcp"}"#,
            SecretValues::default(),
            false,
        )
        .await;
    let server = test_hub
        .hub
        .registry
        .get(&server.id)
        .expect("the server is registered");
    let session = test_hub.hub.pool.session(&server, None);
    let request = session.request(ServerRequest::new("ping", None, Duration::from_secs(1)));
    assert!(
        size_of_val(&request) <= 4_096,
        "{} bytes",
        size_of_val(&request)
    );
    let client = test_hub
        .hub
        .sessions
        .open(ClientName::new("c"), client_info(), ClientScope::ALL);
    let handle = ClientHandle::for_session(client.expect("a session"));
    let call = test_hub.hub.handle_request(&handle, "tools/call", None);
    assert!(size_of_val(&call) <= 512, "{} bytes", size_of_val(&call));
}
