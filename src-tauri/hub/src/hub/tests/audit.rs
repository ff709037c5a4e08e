//! Tests that changes by a person or another program, and refusals, are in the audit log, and that
//! each verb leaves the entries of its row in `api/audited.rs`.

use drawbridge_model::{audit::AuditKind, pairing::PairingProgram};
use serde_json::Value;

use super::*;
use crate::access::WebUiAddress;
use crate::api::{
    self,
    audited::{AUDITED, Audited},
    pairing::{AnswerPairing, ListPairings},
    profiles::{AssignProfile, PutProfile, RemoveProfile},
};

impl TestHub {
    /// Returns the kinds and bodies of the entries after the entry with this number, oldest first,
    /// without entries about calls.
    async fn entries_since(&self, seq: u32) -> Vec<(AuditKind, Value)> {
        let page = self.run(ListAudit::default()).await.expect("listed");
        let new = page.entries.into_iter().filter(|entry| entry.seq > seq);
        let mut entries: Vec<_> = new.map(|entry| (entry.kind, entry.body)).collect();
        entries.reverse();
        entries
    }

    /// Returns the kinds of all entries after the entry with this number, including entries about
    /// calls.
    async fn kinds_since(&self, seq: u32) -> Vec<AuditKind> {
        let mut kinds = Vec::new();
        for kind in AuditKind::ALL {
            let verb = ListAudit {
                kind: Some(*kind),
                ..ListAudit::default()
            };
            let page = self.run(verb).await.expect("listed");
            let newest = page.entries.first();
            if newest.is_some_and(|entry| entry.seq > seq) {
                kinds.push(*kind);
            }
        }
        kinds
    }

    /// Returns the number of the last entry, which may be about a call.
    async fn last_seq(&self) -> u32 {
        let report = self.run(VerifyAudit {}).await.expect("verified");
        assert_eq!(report.broken, None);
        report.entries
    }

    /// Returns the number of the last entry that is not about a call.
    async fn last_listed_seq(&self) -> u32 {
        let page = self.run(ListAudit::default()).await.expect("listed");
        page.entries[0].seq
    }

    /// Ends the hub and opens another hub on the same folder.
    async fn restart(self) -> Self {
        self.hub.close().await;
        let Self { hub, folder } = self;
        drop(hub);
        let hub = open_hub(folder.path()).await;
        Self { hub, folder }
    }
}

fn kinds(entries: &[(AuditKind, Value)]) -> Vec<AuditKind> {
    entries.iter().map(|(kind, _)| *kind).collect()
}

#[tokio::test]
async fn rules_that_are_removed_with_their_server_or_client_are_recorded() {
    let hub = test_hub().await;
    let server = r#"{"name":"a","url":"http://127.0.0.1:9/mcp"}"#;
    hub.add(server, SecretValues::default(), false).await;
    let client = ClientName::new("desk");
    hub.run(AddClient {
        name: client.clone(),
        token: None,
        user: None,
        lifetime_s: None,
        profile: None,
    })
    .await
    .expect("added");
    let scopes = [
        Scope {
            server: Some(ServerId::new("a")),
            ..Scope::default()
        },
        Scope {
            server: Some(ServerId::new("a")),
            tool: Some("t".into()),
            ..Scope::default()
        },
        Scope {
            client: Some(client.clone()),
            ..Scope::default()
        },
    ];
    for scope in scopes {
        let effect = Effect::Deny;
        hub.run(SetPolicy { scope, effect }).await.expect("set");
    }
    let before = hub.last_listed_seq().await;
    hub.run(RevokeClient { name: client })
        .await
        .expect("revoked");
    let id = ServerId::new("a");
    hub.run(RemoveServer { id }).await.expect("removed");
    let entries = hub.entries_since(before).await;
    assert_eq!(
        kinds(&entries),
        [
            AuditKind::ClientRevoked,
            AuditKind::PolicyChanged,
            AuditKind::ServerRemoved,
            AuditKind::PolicyChanged,
        ]
    );
    assert_eq!(entries[0].1["client"], "desk");
    assert_eq!(entries[1].1["client"], "desk");
    assert_eq!(entries[1].1["removed"].as_array().map(Vec::len), Some(1));
    assert_eq!(entries[2].1, json!({ "server": "a", "by": "person" }));
    let removed = entries[3].1["removed"].as_array().expect("the rules");
    assert_eq!(removed.len(), 2, "{removed:?}");
    assert_eq!(removed[1]["rule"]["tool"], "t", "{removed:?}");
    assert_eq!(
        hub.run(VerifyAudit {}).await.expect("verified").broken,
        None
    );
}

#[tokio::test]
async fn rules_that_a_new_rule_or_an_import_replaces_are_recorded() {
    let hub = test_hub().await;
    let scope = Scope {
        server: Some(ServerId::new("a")),
        ..Scope::default()
    };
    hub.run(SetPolicy {
        scope: scope.clone(),
        effect: Effect::Deny,
    })
    .await
    .expect("set");
    let before = hub.last_listed_seq().await;
    hub.run(SetPolicy {
        scope,
        effect: Effect::Allow,
    })
    .await
    .expect("set");
    let entries = hub.entries_since(before).await;
    let replaced = entries[0].1["replaced"].as_array().map(Vec::len);
    assert_eq!(replaced, Some(1), "{entries:?}");
    let before = hub.last_listed_seq().await;
    hub.run(ImportPolicy {
        text: r#"{"rules":[]}"#.into(),
        replace: true,
    })
    .await
    .expect("imported");
    let entries = hub.entries_since(before).await;
    let [(AuditKind::PolicyChanged, body)] = &entries[..] else {
        panic!("one entry: {entries:?}")
    };
    assert_eq!(body["replace"], true);
    assert_eq!(body["removed"][0]["rule"]["effect"], "allow", "{body}");
}

#[tokio::test]
async fn changes_of_clients_profiles_settings_and_secrets_are_recorded_without_secret_values() {
    let hub = test_hub().await;
    let before = hub.last_listed_seq().await;
    let name = ClientName::new("desk");
    let added = hub
        .run(AddClient {
            name: name.clone(),
            token: None,
            user: None,
            lifetime_s: None,
            profile: None,
        })
        .await
        .expect("added");
    hub.hub
        .admit_local_client(&ClientName::new("bridge"))
        .await
        .expect("admitted");
    hub.hub
        .admit_local_client(&ClientName::new("bridge"))
        .await
        .expect("admitted");
    let profile = serde_json::from_str(r#"{"name":"p","servers":{}}"#).expect("a profile");
    hub.run(PutProfile { profile }).await.expect("saved");
    hub.run(AssignProfile {
        client: name.clone(),
        profile: Some("p".into()),
    })
    .await
    .expect("assigned");
    hub.run(RemoveProfile { name: "p".into() })
        .await
        .expect("removed");
    for days in [30, 30, 7] {
        hub.run(ChangeSettings {
            audit_retention_days: Some(days),
            ..ChangeSettings::default()
        })
        .await
        .expect("changed");
    }
    for value in ["first-value", "second-value"] {
        hub.run(SetSecret {
            name: "token".into(),
            value: value.into(),
        })
        .await
        .expect("stored");
    }
    for _ in 0..2 {
        hub.run(RemoveSecret {
            even_if_used: false,
            name: "token".into(),
        })
        .await
        .expect("removed");
    }
    let entries = hub.entries_since(before).await;
    let expected = [
        (
            AuditKind::ClientAdded,
            json!({ "client": "desk", "has_token": true, "user": "default" }),
        ),
        (
            AuditKind::ClientAdded,
            json!({ "client": "bridge", "has_token": false, "user": "default" }),
        ),
        (
            AuditKind::ProfileChanged,
            json!({ "profile": "p", "servers": {}, "folder": null }),
        ),
        (
            AuditKind::ProfileChanged,
            json!({ "client": "desk", "profile": "p", "before": null }),
        ),
        (
            AuditKind::ProfileChanged,
            json!({ "profile": "p", "removed": true, "clients": ["desk"] }),
        ),
        (
            AuditKind::SettingsChanged,
            json!({ "changed": [{ "setting": "audit_retention_days", "old": 90, "new": 30 }] }),
        ),
        (
            AuditKind::SettingsChanged,
            json!({ "changed": [{ "setting": "audit_retention_days", "old": 30, "new": 7 }] }),
        ),
        (
            AuditKind::SecretSet,
            json!({ "secret": "token", "replaced": false }),
        ),
        (
            AuditKind::SecretSet,
            json!({ "secret": "token", "replaced": true }),
        ),
        (AuditKind::SecretRemoved, json!({ "secret": "token" })),
    ];
    assert_eq!(entries, expected);
    let text = format!("{entries:?}");
    assert!(
        !text.contains("value") && !text.contains(&added.token),
        "{text}"
    );

    let page = hub
        .run(ListAudit {
            kind: Some(AuditKind::SecretSet),
            limit: Some(1),
            ..ListAudit::default()
        })
        .await
        .expect("listed");
    assert_eq!(page.entries.len(), 1);
    let next = hub
        .run(ListAudit {
            kind: Some(AuditKind::SecretSet),
            before: page.next,
            ..ListAudit::default()
        })
        .await
        .expect("listed");
    assert_eq!(next.entries[0].body["replaced"], false);
    assert_eq!(next.next, None);
}

#[tokio::test]
async fn a_change_of_a_spec_file_is_recorded_even_if_no_hub_ran_at_the_time() {
    let hub = test_hub().await;
    let secrets = SecretValues {
        env: [("KEY".to_owned(), "a-secret-value".to_owned())].into(),
        ..SecretValues::default()
    };
    let before = hub.last_listed_seq().await;
    hub.add(r#"{"name":"a","command":"true"}"#, secrets, false)
        .await;
    let id = ServerId::new("a");
    hub.run(EnableServer {
        id: id.clone(),
        enabled: false,
    })
    .await
    .expect("disabled");
    let entries = hub.entries_since(before).await;
    assert_eq!(
        kinds(&entries),
        [
            AuditKind::SecretSet,
            AuditKind::ServerAdded,
            AuditKind::ServerAccepted,
            AuditKind::ServerChanged
        ]
    );
    assert_eq!(entries[0].1["secret"], "a.KEY");
    assert_eq!(entries[1].1["by"], "person");
    assert_eq!(entries[3].1["fields"], json!(["enabled"]));

    let before = hub.last_listed_seq().await;
    let file = hub.folder.path().join("servers/a.json");
    let other = r#"{"name":"a","command":"true","args":["--password","hunter2"],"enabled":false}"#;
    std::fs::write(&file, other).expect("write the file");
    hub.hub.registry.reload();
    let entries = loop {
        let entries = hub.entries_since(before).await;
        if !entries.is_empty() {
            break entries;
        }
        tokio::task::yield_now().await;
    };
    let [(AuditKind::ServerChanged, body)] = &entries[..] else {
        panic!("one entry: {entries:?}")
    };
    assert_eq!(body["by"], "file");
    assert_eq!(body["fields"], json!(["args", "env"]));
    assert!(!body.to_string().contains("hunter2"));

    let before = hub.last_listed_seq().await;
    let hub = hub.restart().await;
    assert_eq!(hub.entries_since(before).await, [], "nothing has changed");
    hub.hub.close().await;
    std::fs::write(&file, other.replace("false", "true")).expect("write the file");
    let hub = hub.restart().await;
    let entries = hub.entries_since(before).await;
    assert_eq!(kinds(&entries), [AuditKind::ServerChanged]);
    assert_eq!(entries[0].1["fields"], json!(["enabled"]));
    hub.hub.close().await;
    std::fs::write(&file, "{").expect("break the file");
    let hub = hub.restart().await;
    assert_eq!(
        hub.entries_since(before).await.len(),
        1,
        "a broken file does not count as removed"
    );
    hub.hub.close().await;
    std::fs::remove_file(&file).expect("remove the file");
    let hub = hub.restart().await;
    let entries = hub.entries_since(before).await;
    assert_eq!(
        entries[1],
        (
            AuditKind::ServerRemoved,
            json!({ "server": "a", "by": "file" })
        )
    );
}

#[tokio::test]
async fn refusals_are_counted_and_recorded_at_most_once_a_minute() {
    let hub = test_hub().await;
    let name = ClientName::new("desk");
    let token = hub
        .run(AddClient {
            name: name.clone(),
            token: None,
            user: None,
            lifetime_s: None,
            profile: None,
        })
        .await
        .expect("added")
        .token;
    hub.run(RevokeClient { name }).await.expect("revoked");
    let before = hub.last_listed_seq().await;
    let web_ui = WebUiAddress {
        host: "127.0.0.1:8765".to_owned(),
        origin: None,
    };
    for _ in 0..5 {
        hub.hub.record_unknown_token("guess");
        hub.hub.record_unknown_token(&token);
        let refused = hub.hub.sign_in_browser("guess", web_ui.clone(), None);
        assert!(refused.is_none());
    }
    let local = hub.hub.admit_local_client(&ClientName::new("desk")).await;
    assert!(local.is_err(), "the same client at the local socket");
    let code = hub.hub.access().issue_browser_code();
    let browser = hub
        .hub
        .sign_in_browser(&code, web_ui.clone(), Some("Firefox"));
    let browser = browser.expect("signed in").browser.id;
    let entries = hub.entries_since(before).await;
    assert_eq!(
        entries,
        [
            (AuditKind::TokenRefused, json!({ "count": 1 })),
            (
                AuditKind::TokenRefused,
                json!({ "client": "desk", "reason": "the client was revoked" })
            ),
            (AuditKind::BrowserRefused, json!({ "count": 1 })),
            (
                AuditKind::BrowserSignedIn,
                json!({
                    "browser": browser,
                    "address": "http://127.0.0.1:8765",
                    "user_agent": "Firefox",
                })
            ),
        ]
    );
    let before = hub.last_listed_seq().await;
    // Skips the minute after which the counts are recorded.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::task::yield_now().await;
    tokio::time::resume();
    hub.hub.record_unknown_token("guess");
    let restarted = hub.restart().await;
    let mut counts: Vec<_> = restarted
        .entries_since(before)
        .await
        .into_iter()
        .map(|(kind, body)| (kind.as_str(), body["count"].as_u64()))
        .collect();
    counts.sort_unstable();
    assert_eq!(
        counts,
        [
            ("browser_refused", Some(4)),
            ("token_refused", Some(1)),
            ("token_refused", Some(4)),
        ],
        "the rest is recorded at the end of the minute, or of the hub"
    );
}

#[tokio::test]
async fn the_pairing_of_a_client_is_recorded() {
    let hub = test_hub().await;
    let profile = json!({ "profile": { "name": "p", "servers": {} } });
    api::dispatch(&hub.hub, "profiles.put", profile.to_string().as_bytes())
        .await
        .expect("saved");
    let ask = |token: &'static str| {
        let place = hub.hub.reserve_pairing(Some(token)).expect("a place");
        let program = PairingProgram {
            pid: 7,
            executable: "/bin/desk".into(),
            folder: None,
        };
        let name = "desk".to_owned();
        hub.hub.ask_to_pair(place, name, Some(token), Some(program))
    };
    for (token, approve, expected) in [
        (
            "the first token of this test is long",
            false,
            &[AuditKind::PairingRequested, AuditKind::PairingDenied][..],
        ),
        (
            "the second token of this test is long",
            true,
            &[
                AuditKind::PairingRequested,
                AuditKind::ProfileChanged,
                AuditKind::ClientAdded,
                AuditKind::PairingApproved,
            ],
        ),
    ] {
        let before = hub.last_listed_seq().await;
        let _ticket = ask(token).expect("asked");
        let requests = hub.run(ListPairings {}).await.expect("listed");
        hub.run(AnswerPairing {
            id: requests[0].id.clone(),
            approve,
            name: None,
            profile: Some("p".into()),
        })
        .await
        .expect("answered");
        let entries = hub.entries_since(before).await;
        assert_eq!(kinds(&entries), expected);
        let (_, last) = entries.last().expect("an entry");
        assert_eq!(last["program"]["executable"], "/bin/desk");
        assert!(!last.to_string().contains(token), "{last}");
    }
}

/// The verbs with entries that `each_verb_leaves_the_entries_of_its_row` does not run, because each
/// needs a file or a running program, such as an archive, a server or a client. Other tests run
/// these verbs.
const RUN_BY_OTHER_TESTS: [&str; 25] = [
    // Need a request in the queue, or a missed request.
    "approvals.decide",
    "approvals.allow_retry",
    "approvals.open_url",
    // Needs a client with missed calls: tests/integration/approvals.rs.
    "clients.unmute",
    // Need a server with lists: tests/integration/by_hand.rs.
    "prompts.get",
    "resources.read",
    // Need a server that runs, or that demands a sign-in.
    "servers.pin",
    "servers.sync",
    "servers.restart",
    "servers.record",
    "servers.accept_definitions",
    "servers.sign_in",
    "servers.sign_out",
    // Needs an archive: tests/integration/storage/backup.rs.
    "backup.restore",
    // Need a browser: tests/integration/signing_in.rs.
    "browsers.sign_out",
    "browsers.sign_out_all",
    // Needs a bundle: tests/integration/bundles.rs.
    "bundles.add",
    // Needs a store that can be changed: tests/integration/secret_stores.rs.
    "secrets.use_store",
    // Need files of clients: tests/integration/client_files.rs.
    "config.apply",
    "config.undo",
    "config.set_restores",
    "config.test",
    "config.try_tool",
    "config.import",
    // Needs a client that asks: `the_pairing_of_a_client_is_recorded`.
    "pairing.answer",
];

#[tokio::test]
async fn each_verb_leaves_the_entries_of_its_row() {
    let names: Vec<_> = AUDITED.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        names,
        api::NAMES,
        "each verb needs a row in api/audited.rs: the kinds of its entries, or why it leaves no entry"
    );

    let hub = test_hub().await;
    let identity = hub
        .add(
            r#"{"name":"b","command":"true"}"#,
            SecretValues::default(),
            true,
        )
        .await
        .identity;
    let policy = json!({ "server": "a", "effect": "deny" });
    let hook = json!({
        "name": "h", "events": ["tool_executed"], "mode": "observe",
        "target": { "kind": "command", "program": "true" },
    });
    let steps = [
        ("clients.add", json!({ "name": "desk" })),
        (
            "profiles.put",
            json!({ "profile": { "name": "p", "servers": {} } }),
        ),
        (
            "profiles.assign",
            json!({ "client": "desk", "profile": "p" }),
        ),
        ("policy.set", json!({ "client": "desk", "effect": "deny" })),
        (
            "clients.set_user",
            json!({ "name": "desk", "user": "anna" }),
        ),
        (
            "clients.limit",
            json!({ "name": "desk", "calls_per_minute": 60 }),
        ),
        ("clients.rotate", json!({ "name": "desk" })),
        ("clients.revoke", json!({ "name": "desk" })),
        ("profiles.remove", json!({ "name": "p" })),
        ("backup.reset", json!({ "parts": ["rules"] })),
        ("backup.cancel", json!({})),
        ("drawbridge.pause", json!({})),
        ("drawbridge.resume", json!({})),
        (
            "servers.add",
            json!({ "spec": { "name": "a", "command": "true" }, "secrets": { "env": { "K": "v" } } }),
        ),
        ("servers.enable", json!({ "id": "a", "enabled": false })),
        (
            "servers.update",
            json!({ "id": "a", "spec": { "name": "a", "command": "false" } }),
        ),
        ("servers.accept", json!({ "id": "b", "identity": identity })),
        ("policy.set", policy.clone()),
        ("policy.remove", json!({ "server": "a" })),
        ("policy.set_default", json!({ "effect": "deny" })),
        ("policy.save", json!({ "rule": policy })),
        ("policy.disable_rule", json!({})),
        ("policy.enable_rule", json!({})),
        ("policy.delete_rule", json!({})),
        ("policy.import", json!({ "text": r#"{"rules":[]}"# })),
        (
            "policy.apply_preset",
            json!({ "preset": { "kind": "ask_all" } }),
        ),
        (
            "hooks.add",
            json!({ "hook": hook, "secret_values": { "KEY": "v" } }),
        ),
        ("hooks.edit", json!({ "name": "h", "hook": hook })),
        ("hooks.disable", json!({ "name": "h" })),
        ("hooks.enable", json!({ "name": "h" })),
        ("hooks.reorder", json!({ "name": "h", "position": 0 })),
        (
            "hooks.try",
            json!({ "hook": hook, "event": "tool_executed" }),
        ),
        ("hooks.remove", json!({ "name": "h" })),
        ("servers.move_literals", json!({ "id": "b" })),
        ("servers.remove", json!({ "id": "b" })),
        (
            "servers.verify_spec",
            json!({ "spec": { "name": "c", "command": "true" } }),
        ),
        ("secrets.set", json!({ "name": "n", "value": "v" })),
        ("secrets.rename", json!({ "name": "n", "new_name": "m" })),
        ("secrets.remove", json!({ "name": "m" })),
        ("settings.change", json!({ "audit_retention_days": 7 })),
        ("folders.add", json!({ "path": std::env::temp_dir() })),
        ("folders.remove", json!({ "path": std::env::temp_dir() })),
        (
            "sampling.change",
            json!({ "url": "https://models.example/v1", "key": "k" }),
        ),
        ("tools.call", json!({ "name": "unknown", "arguments": {} })),
    ];
    for (name, audited) in AUDITED {
        let is_run = steps.iter().any(|(step, _)| step == name);
        let has_entries = match audited {
            Audited::Entries(kinds) => !kinds.is_empty(),
            Audited::Nothing(reason) => {
                assert!(!reason.is_empty(), "{name}: no reason for leaving no entry");
                false
            }
        };
        let is_expected = has_entries && !RUN_BY_OTHER_TESTS.contains(name);
        assert_eq!(is_run, is_expected, "{name}");
    }
    for (name, mut params) in steps {
        if name.starts_with("policy.") && name.ends_with("_rule") {
            let policy = hub.run(ListPolicy {}).await.expect("the policy");
            params = json!({ "id": policy.rules[0].id });
        }
        let before = hub.last_seq().await;
        let answer = api::dispatch(&hub.hub, name, params.to_string().as_bytes()).await;
        // These two verbs fail, because no server answers or has the tool, but leave their entries.
        if !["servers.verify_spec", "tools.call"].contains(&name) {
            answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let kinds = hub.kinds_since(before).await;
        let row = AUDITED.iter().find(|(verb, _)| *verb == name);
        let Some((_, Audited::Entries(expected))) = row else {
            panic!("{name} has no row with entries")
        };
        assert!(
            !kinds.is_empty() && kinds.iter().all(|kind| expected.contains(kind)),
            "{name}: {kinds:?}"
        );
    }
}
