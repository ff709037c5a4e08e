mod crossing;

use super::*;
use crate::upstream::OutgoingRequest;
use crate::{
    api::{ErrorCode, Verb, audit::*, clients::*, policy::*, secrets::*, servers::*, settings::*},
    model::{
        policy::{Effect, Scope},
        server::{Acceptance, ServerState},
        spec::ServerSpec,
    },
    secrets::InMemory,
};

struct Desk {
    hub: Arc<Hub>,
    folder: tempfile::TempDir,
}

async fn desk() -> Desk {
    let folder = tempfile::tempdir().expect("a folder");
    let options = HubOptions {
        data_dir: folder.path().to_owned(),
        admin_token: Some("a".repeat(40)),
    };
    let hub = Hub::open_with(options, Secrets::new(InMemory::default()))
        .await
        .expect("a hub");
    Desk { hub, folder }
}

impl Desk {
    async fn run<V: Verb>(&self, verb: V) -> Result<V::Answer, ApiError> {
        verb.run(&self.hub).await
    }

    async fn add(&self, spec: &str, secrets: SecretValues, pending: bool) -> ServerView {
        self.run(AddServer {
            spec: self::spec(spec),
            secrets,
            pending,
        })
        .await
        .expect("added")
    }
}

fn spec(text: &str) -> ServerSpec {
    serde_json::from_str(text).expect("a spec")
}

/// The negotiation result of a client without capabilities.
fn hello() -> ClientHello {
    let params = json::raw(r#"{"protocolVersion":"2025-06-18","capabilities":{}}"#.into());
    protocol::handshake::read_initialize(Some(&params)).expect("a hello")
}

fn code<T>(result: Result<T, ApiError>) -> Option<ErrorCode> {
    result.err().map(|error| error.code)
}

#[tokio::test]
async fn a_second_hub_on_the_folder_is_refused_with_the_pid_of_the_first() {
    let desk = desk().await;
    let options = HubOptions {
        data_dir: desk.folder.path().to_owned(),
        admin_token: None,
    };
    let error = Hub::open(options).await.err().expect("refused");
    assert_eq!(error.code, ErrorCode::Conflict);
    assert!(
        error.message.contains(&std::process::id().to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn a_secret_goes_to_the_keyring_and_its_reference_to_the_spec_and_both_go_with_the_server() {
    let desk = desk().await;
    let secrets = SecretValues {
        env: [("KEY".to_owned(), "top-secret".to_owned())].into(),
        ..SecretValues::default()
    };
    let server = desk
        .add(r#"{"name":"My Server","command":"x"}"#, secrets, true)
        .await;
    assert_eq!(server.spec.env["KEY"], "${keyring:my-server.KEY}");
    let file = std::fs::read_to_string(&server.file).expect("the spec file");
    assert!(!file.contains("top-secret"), "{file}");
    assert_eq!(
        desk.run(ListSecrets {}).await.expect("listed")[0].present,
        Some(true)
    );
    desk.run(RemoveServer { id: server.id })
        .await
        .expect("removed");
    assert!(
        desk.hub
            .secrets
            .get("my-server.KEY")
            .await
            .expect("asked")
            .is_none()
    );
    assert!(!Path::new(&server.file).exists());
}

#[tokio::test]
async fn only_what_was_shown_can_be_accepted() {
    let desk = desk().await;
    let shown = desk
        .add(
            r#"{"name":"a","command":"harmless"}"#,
            SecretValues::default(),
            true,
        )
        .await;
    assert_eq!(
        (shown.acceptance, shown.state),
        (Acceptance::New, ServerState::NeedsAcceptance)
    );
    std::fs::write(&shown.file, r#"{"name":"a","command":"harmful"}"#).expect("write");
    desk.hub.registry.reload();
    let accept = AcceptServer {
        id: shown.id.clone(),
        identity: shown.identity,
    };
    assert_eq!(code(desk.run(accept).await), Some(ErrorCode::Conflict));
    let now = desk
        .run(ShowServer {
            id: shown.id.clone(),
        })
        .await
        .expect("shown");
    assert_eq!(now.acceptance, Acceptance::New);
    let accepted = desk
        .run(AcceptServer {
            id: shown.id,
            identity: now.identity,
        })
        .await
        .expect("accepted");
    assert_eq!(accepted.acceptance, Acceptance::Accepted);
}

#[tokio::test]
async fn a_server_that_may_not_run_is_neither_verified_nor_read_nor_restarted() {
    let desk = desk().await;
    let id = desk
        .add(
            r#"{"name":"a","command":"x"}"#,
            SecretValues::default(),
            true,
        )
        .await
        .id;
    assert_eq!(
        code(desk.run(VerifyServer { id: id.clone() }).await),
        Some(ErrorCode::Conflict)
    );
    assert_eq!(
        code(desk.run(SyncServer { id: id.clone() }).await),
        Some(ErrorCode::Conflict)
    );
    assert_eq!(
        code(desk.run(RestartServer { id: id.clone() }).await),
        Some(ErrorCode::Conflict)
    );
    assert!(desk.hub.catalog.sync(&id).await.is_err());
    assert_eq!(
        desk.hub.pool.status(&id).map_or(0, |status| status.starts),
        0
    );
}

#[tokio::test]
async fn a_server_that_cannot_be_found_says_so_and_what_to_do() {
    let desk = desk().await;
    let spec = spec(r#"{"name":"a","command":"no-such-command-here"}"#);
    let error = desk
        .run(TryServer {
            spec,
            secrets: SecretValues::default(),
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
async fn a_hub_that_has_ended_starts_nothing_any_more() {
    let desk = desk().await;
    let server = desk
        .add(
            r#"{"name":"a","command":"sh","args":["-c","sleep 60"]}"#,
            SecretValues::default(),
            false,
        )
        .await;
    let server = desk.hub.registry.get(&server.id).expect("known");
    desk.hub.pool.close().await;
    let session = desk.hub.pool.session(&server, None);
    assert!(session.hello().await.is_err());
    assert_eq!(session.status().starts, 0);
}

#[tokio::test]
async fn a_session_that_was_ended_is_not_started_by_those_who_still_hold_it() {
    let desk = desk().await;
    let server = desk
        .add(
            r#"{"name":"a","command":"sh","args":["-c","sleep 60"]}"#,
            SecretValues::default(),
            false,
        )
        .await;
    let registered = desk.hub.registry.get(&server.id).expect("known");
    let held = desk.hub.pool.session(&registered, None);
    desk.run(EnableServer {
        id: server.id,
        enabled: false,
    })
    .await
    .expect("disabled");
    assert!(held.hello().await.is_err());
    assert_eq!(held.status().starts, 0);
}

#[tokio::test]
async fn revoking_a_client_ends_its_sessions_and_its_rules() {
    let desk = desk().await;
    let name = ClientName::new("c");
    desk.run(AddClient {
        name: name.clone(),
        token: None,
    })
    .await
    .expect("added");
    let session = desk
        .hub
        .sessions
        .open(name.clone(), hello(), ClientScope::All);
    let scope = Scope {
        client: Some(name.clone()),
        ..Scope::default()
    };
    desk.run(SetPolicy {
        scope,
        effect: Effect::Allow,
    })
    .await
    .expect("set");
    desk.run(RevokeClient { name: name.clone() })
        .await
        .expect("revoked");
    assert!(session.ended.is_cancelled());
    assert!(
        desk.run(ListPolicy {})
            .await
            .expect("listed")
            .rules
            .is_empty()
    );
    desk.run(AddClient { name, token: None })
        .await
        .expect("added again");
}

#[tokio::test]
async fn a_client_cannot_be_given_the_token_that_administers() {
    let desk = desk().await;
    let add = AddClient {
        name: ClientName::new("c"),
        token: Some("a".repeat(40)),
    };
    assert_eq!(code(desk.run(add).await), Some(ErrorCode::Conflict));
}

#[tokio::test]
async fn an_empty_scope_is_not_taken_for_everything() {
    let desk = desk().await;
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
                desk.run(SetPolicy {
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
async fn settings_are_bounded_and_kept() {
    let desk = desk().await;
    let wrong = ChangeSettings {
        approval_timeout_s: Some(1),
        ..ChangeSettings::default()
    };
    assert_eq!(code(desk.run(wrong).await), Some(ErrorCode::Invalid));
    let wrong = ChangeSettings {
        audit_retention_days: Some(4_000),
        ..ChangeSettings::default()
    };
    assert_eq!(code(desk.run(wrong).await), Some(ErrorCode::Invalid));
    let kept = ChangeSettings {
        audit_retention_days: Some(0),
        ..ChangeSettings::default()
    };
    assert_eq!(
        desk.run(kept).await.expect("changed").audit_retention_days,
        0
    );
    let right = ChangeSettings {
        approval_timeout_s: Some(20),
        ..ChangeSettings::default()
    };
    desk.run(right).await.expect("changed");
    desk.run(SetDefaultPolicy {
        effect: Effect::Deny,
    })
    .await
    .expect("set");
    let loaded = Settings::load(desk.hub.store.clone())
        .await
        .expect("loaded")
        .get();
    assert_eq!(
        (loaded.approval_timeout.as_secs(), loaded.default_policy),
        (20, Effect::Deny)
    );
    assert_eq!(loaded.audit_retention_days, 0);
}

#[tokio::test]
async fn what_changes_what_may_cross_is_noted_in_the_audit() {
    let desk = desk().await;
    let before = desk.run(VerifyAudit {}).await.expect("verified").entries;
    desk.add(
        r#"{"name":"a","url":"http://127.0.0.1:9/mcp"}"#,
        SecretValues::default(),
        false,
    )
    .await;
    let scope = Scope {
        server: Some(ServerId::new("a")),
        ..Scope::default()
    };
    desk.run(SetPolicy {
        scope: scope.clone(),
        effect: Effect::Deny,
    })
    .await
    .expect("set");
    desk.run(RemovePolicy { scope }).await.expect("removed");
    desk.run(SetDefaultPolicy {
        effect: Effect::Deny,
    })
    .await
    .expect("set");
    desk.hub.refused(&ClientName::new("c"));
    desk.hub.refused(&ClientName::new("c"));
    let report = desk.run(VerifyAudit {}).await.expect("verified");
    assert_eq!(
        (report.entries - before, report.broken),
        (5, None),
        "a server, two rules, the default, one token"
    );
}

/// A future has the size of its largest branch and is moved when it is first polled. Rarely used
/// branches are therefore boxed.
#[tokio::test]
async fn the_future_of_a_request_is_small() {
    let desk = desk().await;
    let server = desk
        .add(
            r#"{"name":"a","url":"http://127.0.0.1:9/mcp"}"#,
            SecretValues::default(),
            false,
        )
        .await;
    let server = desk.hub.registry.get(&server.id).expect("known");
    let session = desk.hub.pool.session(&server, None);
    let request = session.request(OutgoingRequest::new("ping", None, Duration::from_secs(1)));
    assert!(
        size_of_val(&request) <= 4_096,
        "{} bytes",
        size_of_val(&request)
    );
    let client = desk
        .hub
        .sessions
        .open(ClientName::new("c"), hello(), ClientScope::All);
    let back = ClientHandle::for_session(client);
    let call = desk.hub.request(&back, "tools/call", None);
    assert!(size_of_val(&call) <= 512, "{} bytes", size_of_val(&call));
}
