//! Fail-closed tests: only the approved call runs, and if a step fails, nothing is sent. The server
//! is a real process, a shell script that records each call it receives.

use std::path::PathBuf;

use super::*;
use crate::{
    api::approvals::DecideApproval,
    model::{
        approval::{ApprovalRequest, Verdict},
        call::{Call, Decision},
        ids::{RuleId, SessionId},
        policy::RuleSpec,
        rpc::Reply,
    },
    policy::{Permitted, ToolCall},
    router::ForwardError,
};

const SERVER: &str = r#"
    while IFS= read -r line; do
        id=$(printf %s "$line" | sed -n 's/.*"id":\([^,}]*\).*/\1/p')
        case $line in
            *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"tools/list"'*) result=$(cat "$0/tools") ;;
            *'"tools/call"'*) printf '%s\n' "$line" >> "$0/heard"; result='{"content":[]}' ;;
            *) continue ;;
        esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
    done"#;

struct Door {
    desk: Desk,
    folder: PathBuf,
    id: ServerId,
    back: ClientHandle,
}

impl Door {
    async fn new() -> Self {
        let desk = desk().await;
        let folder = desk.folder.path().join("server");
        std::fs::create_dir(&folder).expect("a folder");
        let door = Self {
            id: ServerId::new("s"),
            back: ClientHandle::for_session(desk.hub.sessions.open(
                ClientName::new("c"),
                hello(),
                ClientScope::All,
            )),
            folder,
            desk,
        };
        door.offer("does it");
        door.desk
            .run(AddServer {
                spec: door.spec("a"),
                secrets: SecretValues::default(),
                pending: false,
            })
            .await
            .expect("added");
        door.sync().await;
        door
    }

    /// Returns the server's spec. A different `variant` in its environment gives it a different
    /// identity.
    fn spec(&self, variant: &str) -> ServerSpec {
        let arguments = ["-c", SERVER, self.folder.to_str().expect("a name")];
        spec(&json!({"name": "s", "command": "sh", "args": arguments, "env": {"VARIANT": variant}, "definitions": "trust"}).to_string())
    }

    fn offer(&self, description: &str) {
        let tools = json!({"tools": [{"name": "t", "description": description, "inputSchema": {"type": "object"}}]});
        std::fs::write(self.folder.join("tools"), tools.to_string()).expect("written");
    }

    async fn sync(&self) {
        self.desk
            .run(SyncServer {
                id: self.id.clone(),
            })
            .await
            .expect("read");
    }

    fn heard(&self) -> usize {
        std::fs::read_to_string(self.folder.join("heard")).map_or(0, |text| text.lines().count())
    }

    /// Returns a call as the pipeline builds it after parsing.
    async fn tool_call(&self) -> ToolCall {
        let tool = self
            .desk
            .hub
            .router
            .find(self.back.session(), CapabilityKind::Tools, "s__t")
            .await
            .expect("the tool is there");
        ToolCall {
            client: ClientName::new("c"),
            session: SessionId::new("session"),
            tool,
            arguments: json::raw("{}".into()),
            extra: None,
            params: json::raw(r#"{"name":"t","arguments":{}}"#.into()),
            progress_token: None,
        }
    }

    async fn permitted(&self) -> Permitted {
        self.desk
            .run(SetDefaultPolicy {
                effect: Effect::Allow,
            })
            .await
            .expect("set");
        gate(&self.desk.hub)
            .admit(self.tool_call().await, None)
            .await
            .expect("permitted")
    }

    async fn call(&self) -> Reply {
        let params = json::raw(r#"{"name":"s__t","arguments":{}}"#.into());
        self.desk
            .hub
            .request(&self.back, "tools/call", Some(&params))
            .await
    }

    /// Makes a call and lets `act` handle its approval request.
    async fn asked<T>(&self, act: impl AsyncFnOnce(ApprovalRequest) -> T) -> (Reply, T) {
        let person = async {
            loop {
                if let Some(request) = self.desk.hub.queue.list().pop() {
                    return act(request).await;
                }
                tokio::task::yield_now().await;
            }
        };
        futures_util::future::join(self.call(), person).await
    }

    async fn approve(&self, request: ApprovalRequest, verdict: Verdict) -> Result<Call, ApiError> {
        self.desk
            .run(DecideApproval {
                id: request.id,
                digest: request.digest,
                verdict,
            })
            .await
    }

    /// Adds a rule for the tool.
    async fn rule(&self, effect: Effect) {
        let scope = Scope {
            server: Some(self.id.clone()),
            tool: Some("t".into()),
            client: None,
        };
        let text = RuleSpec {
            scope,
            effect: Some(effect),
            ..RuleSpec::default()
        };
        self.desk
            .run(SaveRule {
                id: None,
                rule: text,
            })
            .await
            .expect("saved");
    }

    /// Restores the state before a change.
    async fn restore(&self, change: &str) {
        let (hub, id) = (&self.desk.hub, self.id.clone());
        match change {
            "server by hand" => {
                let identity = self
                    .desk
                    .run(ShowServer { id: id.clone() })
                    .await
                    .expect("shown")
                    .identity;
                drop(
                    self.desk
                        .run(AcceptServer { id, identity })
                        .await
                        .expect("accepted"),
                );
            }
            "off" => drop(
                self.desk
                    .run(EnableServer { id, enabled: true })
                    .await
                    .expect("turned on"),
            ),
            "tool gone" => self.offer("does it"),
            _ => {}
        }
        if hub.registry.get_runnable(&self.id).is_ok() {
            self.sync().await;
        }
    }
}

fn gate(hub: &Hub) -> Gate {
    Gate {
        rules: hub.rules.clone(),
        queue: hub.queue.clone(),
        drawbridge: hub.drawbridge.clone(),
        store: hub.store.clone(),
        journal: hub.journal.clone(),
        settings: hub.settings.clone(),
        events: hub.events.clone(),
        logs: hub.logs.clone(),
    }
}

#[track_caller]
fn is_refused(reply: &Reply, why: &str) {
    let result = reply.as_ref().expect("a result").get();
    assert!(
        result.contains(r#""isError":true"#) && result.contains(why),
        "not '{why}': {result}"
    );
}

#[tokio::test]
async fn what_was_approved_is_what_runs_or_nothing_does() {
    let door = Door::new().await;
    let (hub, id) = (&door.desk.hub, || door.id.clone());
    let permitted = door.permitted().await;
    assert!(
        hub.router
            .forward(&permitted, &door.back)
            .await
            .is_ok_and(|reply| reply.is_ok())
    );
    assert_eq!(door.heard(), 1, "where nothing changed it runs");
    for change in [
        "server",
        "server by hand",
        "off",
        "definition",
        "tool gone",
        "removed",
    ] {
        let permitted = door.permitted().await;
        match change {
            "server" => {
                let spec = door.spec("b");
                let update = UpdateServer {
                    id: id(),
                    spec,
                    secrets: SecretValues::default(),
                    pending: false,
                };
                drop(door.desk.run(update).await.expect("updated"));
                door.sync().await;
            }
            "server by hand" => {
                let file = door
                    .desk
                    .run(ShowServer { id: id() })
                    .await
                    .expect("shown")
                    .file;
                let text = std::fs::read_to_string(&file).expect("read");
                std::fs::write(&file, text.replace("\"b\"", "\"c\"")).expect("written");
                hub.registry.reload();
            }
            "off" => drop(
                door.desk
                    .run(EnableServer {
                        id: id(),
                        enabled: false,
                    })
                    .await
                    .expect("turned off"),
            ),
            "definition" => {
                door.offer("does something else");
                door.sync().await;
            }
            "tool gone" => {
                std::fs::write(door.folder.join("tools"), r#"{"tools":[]}"#).expect("written");
                door.sync().await;
            }
            _ => drop(
                door.desk
                    .run(RemoveServer { id: id() })
                    .await
                    .expect("removed"),
            ),
        }
        let forwarded = hub.router.forward(&permitted, &door.back).await;
        assert!(
            matches!(forwarded, Err(ForwardError::Changed)),
            "{change}: {forwarded:?}"
        );
        assert_eq!(door.heard(), 1, "{change}: nothing was sent");
        door.restore(change).await;
    }
}

/// Every step that can fail fails, although a rule or the default would allow the call.
#[tokio::test]
async fn where_a_step_of_a_decision_fails_nothing_is_sent() {
    for (broken, why) in [
        ("DROP TABLE call", "could not be written"),
        ("DROP TABLE audit", "could not be written"),
        ("DROP TABLE audit_head", "could not be written"),
        ("closed", "could not be written"),
        ("rule", "denied by policy"),
        ("secret", "did not reach the server"),
    ] {
        let door = Door::new().await;
        let hub = &door.desk.hub;
        door.desk
            .run(SetDefaultPolicy {
                effect: Effect::Allow,
            })
            .await
            .expect("set");
        match broken {
            "closed" => hub.store.close().await,
            "rule" => {
                // A rule that another program or a later version has written.
                door.rule(Effect::Allow).await;
                hub.store
                    .tamper(
                        r#"UPDATE rule SET conditions = '[{"pointer":"/a","is":{"matches":"("}}]'"#,
                    )
                    .await;
                hub.rules
                    .forget(&RuleId::new("none"))
                    .await
                    .expect("read again");
            }
            "secret" => {
                let secrets = SecretValues {
                    env: [("TOKEN".into(), "x".into())].into(),
                    ..SecretValues::default()
                };
                let update = UpdateServer {
                    id: door.id.clone(),
                    spec: door.spec("a"),
                    secrets,
                    pending: false,
                };
                door.desk.run(update).await.expect("updated");
                door.sync().await;
                door.desk
                    .run(RemoveSecret {
                        name: "s.TOKEN".into(),
                    })
                    .await
                    .expect("removed");
                hub.pool.remove(&door.id, "it shall begin anew").await;
            }
            sql => hub.store.tamper(sql).await,
        }
        let reply = door.call().await;
        let result = reply.as_ref().expect("a result").get().to_lowercase();
        assert!(
            result.contains(r#""iserror":true"#) && result.contains(why),
            "{broken}: {result}"
        );
        assert_eq!(door.heard(), 0, "{broken}");
    }
}

#[tokio::test]
async fn where_a_step_fails_while_a_person_decides_nothing_is_sent() {
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
        let door = Door::new().await;
        let hub = &door.desk.hub;
        let (reply, decided) = door
            .asked(async |request| match broken {
                "closed" => {
                    hub.store.close().await;
                    door.approve(request, Verdict::approve_once()).await
                }
                "no rules" => {
                    hub.store.tamper("DROP TABLE rule").await;
                    door.approve(request, always()).await
                }
                "dropped" => {
                    drop(
                        hub.queue
                            .take(&request.id, &request.digest)
                            .expect("it waits"),
                    );
                    Err(ApiError::invalid("whoever took it is gone"))
                }
                // Skips the checks before the request is taken.
                "edited" => Ok(hub
                    .queue
                    .take(&request.id, &request.digest)
                    .expect("it waits")
                    .decide(edited())
                    .await?),
                "forbidden" => {
                    door.rule(Effect::Deny).await;
                    Ok(hub
                        .queue
                        .take(&request.id, &request.digest)
                        .expect("it waits")
                        .decide(always())
                        .await?)
                }
                sql => {
                    hub.store.tamper(sql).await;
                    door.approve(request, Verdict::approve_once()).await
                }
            })
            .await;
        is_refused(&reply, "was not run");
        assert!(
            decided.is_err() || decided.is_ok_and(|call| call.decision == Decision::Denied),
            "{broken}"
        );
        assert_eq!(door.heard(), 0, "{broken}");
    }
}

#[tokio::test]
async fn a_deny_that_is_made_while_a_call_waits_holds_for_it() {
    let door = Door::new().await;
    let (reply, _) = door
        .asked(async |request| {
            door.rule(Effect::Deny).await;
            let refused = door
                .approve(request.clone(), Verdict::approve_once())
                .await
                .expect_err("a rule denies it");
            assert_eq!(refused.code, ErrorCode::Conflict, "{refused}");
            assert!(refused.message.contains("rule: deny t of s"), "{refused}");
            door.approve(
                request,
                Verdict::Deny {
                    reason: String::new(),
                },
            )
            .await
            .expect("denied");
        })
        .await;
    is_refused(&reply, "Denied by the user");
    assert_eq!(door.heard(), 0);
}
