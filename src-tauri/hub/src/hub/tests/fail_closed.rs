//! Tests that Drawbridge fails closed: only a permitted call of an unchanged tool is sent, and
//! nothing is sent if a step of a decision fails. Also tests rules that are made while a call
//! waits. The server is a real process: a shell script that records each call that it receives.

use std::path::PathBuf;

use drawbridge_jsonrpc::rpc::RpcResult;
use drawbridge_model::{
    approval::{ApprovalRequest, Verdict},
    call::{Call, Decision},
    policy::{Rule, RuleSpec},
};

use super::*;
use crate::{
    api::approvals::DecideApproval,
    policy::{GuardedRequest, Permitted},
    router::ForwardError,
};

const SERVER_SCRIPT: &str = r#"
    while IFS= read -r line; do
        id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
        case $line in
            *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"tools/list"'*) result=$(cat "$0/tools") ;;
            *'"tools/call"'*) printf '%s\n' "$line" >> "$0/received"; result='{"content":[]}' ;;
            *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
    done"#;

struct Fixture {
    test_hub: TestHub,
    folder: PathBuf,
    id: ServerId,
    handle: ClientHandle,
}

impl Fixture {
    async fn new() -> Self {
        let test_hub = test_hub().await;
        let folder = test_hub.folder.path().join("server");
        std::fs::create_dir(&folder).expect("a folder");
        let sessions = &test_hub.hub.sessions;
        let session = sessions.open(ClientName::new("c"), client_info(), ClientScope::ALL);
        let fixture = Self {
            id: ServerId::new("s"),
            handle: ClientHandle::for_session(session.expect("a session")),
            folder,
            test_hub,
        };
        fixture.write_tools("does it");
        fixture
            .test_hub
            .run(AddServer {
                spec: fixture.spec("a"),
                secrets: SecretValues::default(),
                pending: false,
                grant_secrets: Vec::new(),
            })
            .await
            .expect("added");
        fixture.sync().await;
        fixture
    }

    /// Returns the server's spec. A different `variant` in its environment gives it a different
    /// identity.
    fn spec(&self, variant: &str) -> ServerSpec {
        let arguments = ["-c", SERVER_SCRIPT, self.folder.to_str().expect("a name")];
        spec(&json!({"name": "s", "command": "sh", "args": arguments, "env": {"VARIANT": variant}, "definitions": "trust"}).to_string())
    }

    fn write_tools(&self, description: &str) {
        let tools = json!({"tools": [{"name": "t", "description": description, "inputSchema": {"type": "object"}}]});
        std::fs::write(self.folder.join("tools"), tools.to_string()).expect("written");
    }

    async fn sync(&self) {
        self.test_hub
            .run(SyncServer {
                id: self.id.clone(),
            })
            .await
            .expect("read");
    }

    fn received_calls(&self) -> usize {
        std::fs::read_to_string(self.folder.join("received")).map_or(0, |text| text.lines().count())
    }

    /// Returns a call as the pipeline builds it from a request.
    async fn tool_call(&self) -> GuardedRequest {
        let tool = self
            .test_hub
            .hub
            .router
            .find(self.handle.session(), CapabilityKind::Tools, "s__t")
            .await
            .expect("the tool is there");
        GuardedRequest::call_for_test("c", tool, "{}")
    }

    async fn admit_call(&self) -> Permitted {
        self.test_hub
            .run(SetDefaultPolicy {
                effect: Effect::Allow,
                kind: None,
            })
            .await
            .expect("set the policy");
        self.test_hub
            .hub
            .gate
            .admit(self.tool_call().await, None)
            .await
            .expect("admit the call")
    }

    async fn call(&self) -> RpcResult {
        let params = json::raw(r#"{"name":"s__t","arguments":{}}"#.into());
        self.test_hub
            .hub
            .handle_request(&self.handle, "tools/call", Some(&params))
            .await
    }

    /// Makes a call, and passes its approval request to `act`.
    async fn call_and_decide<T>(
        &self,
        act: impl AsyncFnOnce(ApprovalRequest) -> T,
    ) -> (RpcResult, T) {
        let person = async {
            loop {
                if let Some(request) = self.test_hub.hub.queue.list().pop() {
                    return act(request).await;
                }
                tokio::task::yield_now().await;
            }
        };
        futures_util::future::join(self.call(), person).await
    }

    async fn decide(&self, request: ApprovalRequest, verdict: Verdict) -> Result<Call, ApiError> {
        self.test_hub
            .run(DecideApproval {
                id: request.id,
                digest: request.digest,
                verdict,
            })
            .await
    }

    /// Decides a request, but skips the checks of the verb before the request is taken.
    async fn decide_unchecked(
        &self,
        request: &ApprovalRequest,
        verdict: Verdict,
    ) -> Result<Call, ApiError> {
        let hub = &self.test_hub.hub;
        let taken = hub.queue.take_request(&request.id, &request.digest)?;
        Ok(hub.gate.decide_taken(taken, verdict).await?)
    }

    /// Adds a rule for the tool.
    async fn add_rule(&self, effect: Effect) {
        let scope = Scope {
            server: Some(self.id.clone()),
            tool: Some("t".into()),
            ..Scope::default()
        };
        let rule = RuleSpec {
            scope,
            effect: Some(effect),
            ..RuleSpec::default()
        };
        self.test_hub
            .run(SaveRule { id: None, rule })
            .await
            .expect("saved");
    }

    /// Undoes a change as far as necessary, so that the tool can be called again.
    async fn restore(&self, change: &str) {
        let (hub, id) = (&self.test_hub.hub, self.id.clone());
        match change {
            "server by hand" => {
                let identity = self
                    .test_hub
                    .run(ShowServer { id: id.clone() })
                    .await
                    .expect("shown")
                    .identity;
                drop(
                    self.test_hub
                        .run(AcceptServer {
                            id,
                            identity,
                            grant_secrets: Vec::new(),
                        })
                        .await
                        .expect("accepted"),
                );
            }
            "off" => drop(
                self.test_hub
                    .run(EnableServer { id, enabled: true })
                    .await
                    .expect("enable the server"),
            ),
            "tool gone" => self.write_tools("does it"),
            _ => {}
        }
        if hub.registry.get_runnable(&self.id).is_ok() {
            self.sync().await;
        }
    }
}

#[track_caller]
fn assert_refused(response: &RpcResult, reason: &str) {
    let result = response.as_ref().expect("a result").get();
    assert!(
        result.contains(r#""isError":true"#) && result.contains(reason),
        "the call is not refused with '{reason}': {result}"
    );
}

#[tokio::test]
async fn a_permitted_call_does_not_run_if_its_server_or_tool_has_changed() {
    let fixture = Fixture::new().await;
    let (hub, id) = (&fixture.test_hub.hub, || fixture.id.clone());
    let permitted = fixture.admit_call().await;
    assert!(
        hub.router
            .forward(&permitted, &fixture.handle, None)
            .await
            .is_ok_and(|response| response.into_result().is_ok())
    );
    assert_eq!(
        fixture.received_calls(),
        1,
        "the call runs if nothing has changed"
    );
    for change in [
        "server",
        "server by hand",
        "off",
        "definition",
        "tool gone",
        "removed",
    ] {
        let permitted = fixture.admit_call().await;
        match change {
            "server" => {
                let spec = fixture.spec("b");
                let update = UpdateServer {
                    id: id(),
                    spec,
                    secrets: SecretValues::default(),
                    pending: false,
                    grant_secrets: Vec::new(),
                };
                drop(fixture.test_hub.run(update).await.expect("updated"));
                fixture.sync().await;
            }
            "server by hand" => {
                let file = fixture
                    .test_hub
                    .run(ShowServer { id: id() })
                    .await
                    .expect("shown")
                    .file;
                let text = std::fs::read_to_string(&file).expect("read");
                std::fs::write(&file, text.replace("\"b\"", "\"c\"")).expect("written");
                hub.registry.reload();
            }
            "off" => drop(
                fixture
                    .test_hub
                    .run(EnableServer {
                        id: id(),
                        enabled: false,
                    })
                    .await
                    .expect("disable the server"),
            ),
            "definition" => {
                fixture.write_tools("does something else");
                fixture.sync().await;
            }
            "tool gone" => {
                std::fs::write(fixture.folder.join("tools"), r#"{"tools":[]}"#).expect("written");
                fixture.sync().await;
            }
            _ => drop(
                fixture
                    .test_hub
                    .run(RemoveServer { id: id() })
                    .await
                    .expect("removed"),
            ),
        }
        let forwarded = hub.router.forward(&permitted, &fixture.handle, None).await;
        assert!(
            matches!(forwarded, Err(ForwardError::Changed)),
            "{change}: {forwarded:?}"
        );
        assert_eq!(fixture.received_calls(), 1, "{change}: nothing was sent");
        fixture.restore(change).await;
    }
}

/// Breaks one step at a time, each in a hub of its own whose default allows the call.
#[tokio::test]
async fn nothing_is_sent_if_a_step_of_a_decision_fails() {
    for (broken, reason) in [
        ("DROP TABLE call", "could not be recorded"),
        ("DROP TABLE audit", "could not be recorded"),
        ("DROP TABLE audit_head", "could not be recorded"),
        ("closed", "could not be recorded"),
        ("rule", "the policy denied this call"),
        ("secret", "did not reach the server"),
    ] {
        let fixture = Fixture::new().await;
        let hub = &fixture.test_hub.hub;
        fixture
            .test_hub
            .run(SetDefaultPolicy {
                effect: Effect::Allow,
                kind: None,
            })
            .await
            .expect("set the policy");
        match broken {
            "closed" => hub.store.close().await,
            "rule" => {
                // A rule that cannot be read, as another program or a later version may write it.
                fixture.add_rule(Effect::Allow).await;
                fixture.test_hub.tamper(
                    r#"UPDATE rule SET conditions = '[{"pointer":"/a","is":{"matches":"("}}]'"#,
                );
                // Any change makes the hub read the rules again.
                hub.rules
                    .delete_for_client(&ClientName::new("nobody"))
                    .await
                    .expect("read again");
            }
            "secret" => {
                let secrets = SecretValues {
                    env: [("TOKEN".into(), "x".into())].into(),
                    ..SecretValues::default()
                };
                let update = UpdateServer {
                    id: fixture.id.clone(),
                    spec: fixture.spec("a"),
                    secrets,
                    pending: false,
                    grant_secrets: Vec::new(),
                };
                fixture.test_hub.run(update).await.expect("updated");
                fixture.sync().await;
                fixture
                    .test_hub
                    .run(RemoveSecret {
                        even_if_used: true,
                        name: "s.TOKEN".into(),
                    })
                    .await
                    .expect("removed");
                hub.pool.remove(&fixture.id, "the test restarts it").await;
            }
            sql => fixture.test_hub.tamper(sql),
        }
        let response = fixture.call().await;
        let result = response.as_ref().expect("a result").get().to_lowercase();
        assert!(
            result.contains(r#""iserror":true"#) && result.contains(reason),
            "{broken}: {result}"
        );
        assert_eq!(fixture.received_calls(), 0, "{broken}");
    }
}

#[tokio::test]
async fn nothing_is_sent_if_a_step_fails_while_a_person_decides() {
    let always = || Verdict::ApproveAlways { conditions: vec![] };
    let edited = || Verdict::ApproveOnce {
        arguments: Some("[1]".into()),
    };
    for broken in [
        "closed",
        "DROP TABLE call",
        "DROP TABLE audit",
        "no rules",
        "dropped",
        "edited",
        "forbidden",
    ] {
        let fixture = Fixture::new().await;
        let hub = &fixture.test_hub.hub;
        let (response, decided) = fixture
            .call_and_decide(async |request| match broken {
                "closed" => {
                    hub.store.close().await;
                    fixture.decide(request, Verdict::approve_once()).await
                }
                "no rules" => {
                    fixture.test_hub.tamper("DROP TABLE rule");
                    fixture.decide(request, always()).await
                }
                "dropped" => {
                    drop(
                        hub.queue
                            .take_request(&request.id, &request.digest)
                            .expect("take the request"),
                    );
                    Err(ApiError::invalid("the verdict cannot be delivered"))
                }
                // The usual checks would reject these two verdicts before the request is taken.
                "edited" => fixture.decide_unchecked(&request, edited()).await,
                "forbidden" => {
                    fixture.add_rule(Effect::Deny).await;
                    fixture.decide_unchecked(&request, always()).await
                }
                sql => {
                    fixture.test_hub.tamper(sql);
                    fixture.decide(request, Verdict::approve_once()).await
                }
            })
            .await;
        assert_refused(&response, "was not run");
        assert!(
            decided.is_err() || decided.is_ok_and(|call| call.decision == Decision::Denied),
            "{broken}"
        );
        assert_eq!(fixture.received_calls(), 0, "{broken}");
        let is_allow = |rule: &Arc<Rule>| rule.spec.effect == Some(Effect::Allow);
        assert!(
            !hub.rules.list().iter().any(is_allow),
            "{broken}: a denied call adds no rule that allows calls"
        );
    }
}

#[tokio::test]
async fn a_rule_that_an_approval_makes_allows_the_next_call_and_is_in_the_audit_log() {
    let fixture = Fixture::new().await;
    let hub = &fixture.test_hub.hub;
    let (_, decided) = fixture
        .call_and_decide(async |request| {
            fixture
                .decide(request, Verdict::ApproveAlways { conditions: vec![] })
                .await
        })
        .await;
    decided.expect("approved");
    fixture.call().await.expect("the rule allows the next call");
    assert_eq!(fixture.received_calls(), 2);
    let report = hub
        .journal
        .verify()
        .await
        .expect("the audit log is verified");
    let calls = hub
        .store
        .audited_calls(None, None, None, 10)
        .await
        .expect("read the calls");
    let reasons: Vec<_> = calls.iter().map(|call| call.call.reason.as_str()).collect();
    assert_eq!(reasons[0], "always");
    // A `decided` and an `ended` entry for each call, and an entry for the rule.
    assert!(report.broken.is_none() && report.entries >= 5, "{report:?}");
}

#[tokio::test]
async fn a_deny_rule_applies_to_a_call_that_already_waits() {
    let fixture = Fixture::new().await;
    let (response, _) = fixture
        .call_and_decide(async |request| {
            fixture.add_rule(Effect::Deny).await;
            let refused = fixture
                .decide(request.clone(), Verdict::approve_once())
                .await
                .expect_err("a rule denies the call");
            assert_eq!(refused.code, ErrorCode::Conflict, "{refused}");
            assert!(refused.message.contains("rule: deny t of s"), "{refused}");
            fixture
                .decide(
                    request,
                    Verdict::Deny {
                        reason: String::new(),
                    },
                )
                .await
                .expect("denied");
        })
        .await;
    assert_refused(&response, "The user denied this call");
    assert_eq!(fixture.received_calls(), 0);
}
