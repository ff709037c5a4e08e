//! The property of the table of methods: whatever the policy is, no request reaches a server or a
//! client without its decision and its record.

use std::thread;

use proptest::{prelude::*, test_runner::TestRunner};

use super::*;

/// Requests of a server to the client: the kind, the method, and the client's answer.
const TO_CLIENT: [(&str, &str, &str); 3] = [
    ("roots", "roots/list", r#"{"roots":[]}"#),
    (
        "elicitation",
        "elicitation/create",
        r#"{"action":"decline"}"#,
    ),
    (
        "sampling",
        "sampling/createMessage",
        r#"{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}"#,
    ),
];
const KINDS: [&str; 6] = [
    "tools",
    "prompts",
    "resources",
    "sampling",
    "elicitation",
    "roots",
];

#[derive(Debug, Clone)]
struct AnyRule {
    server: Option<&'static str>,
    client: Option<&'static str>,
    kind: Option<&'static str>,
    effect: &'static str,
}

#[derive(Debug, Clone)]
struct AnyPolicy {
    /// The default of each kind, in the order of [`KINDS`].
    defaults: Vec<&'static str>,
    rules: Vec<AnyRule>,
    /// Whether the person approves each pending approval. If not, the person denies each approval.
    approves: bool,
    /// Indices into the list that consists of [`REQUESTS`] and then [`TO_CLIENT`].
    requests: Vec<usize>,
}

fn any_effect() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["allow", "deny", "ask"])
}

fn any_policy() -> impl Strategy<Value = AnyPolicy> {
    let rule = (
        prop::sample::select(vec![None, Some("probe"), Some("other")]),
        prop::sample::select(vec![None, Some("desk"), Some("other")]),
        prop::option::of(prop::sample::select(KINDS.to_vec())),
        any_effect(),
    );
    let rule = rule.prop_map(|(server, client, kind, effect)| AnyRule {
        server,
        client,
        kind,
        effect,
    });
    (
        prop::collection::vec(any_effect(), KINDS.len()),
        prop::collection::vec(rule, 0..4),
        any::<bool>(),
        prop::collection::vec(0..REQUESTS.len() + TO_CLIENT.len(), 1..4),
    )
        .prop_map(|(defaults, rules, approves, requests)| AnyPolicy {
            defaults,
            rules,
            approves,
            requests,
        })
}

impl AnyPolicy {
    /// Returns the policy as a file for `policy.import`.
    fn to_file(&self) -> String {
        let defaults: serde_json::Map<_, _> = KINDS
            .iter()
            .zip(&self.defaults)
            .map(|(kind, effect)| ((*kind).to_owned(), json!(effect)))
            .collect();
        let rules: Vec<_> = self
            .rules
            .iter()
            .map(|rule| {
                json!({"server": rule.server, "client": rule.client, "kind": rule.kind, "effect": rule.effect})
            })
            .collect();
        json!({"defaults": defaults, "rules": rules}).to_string()
    }

    /// Returns whether a rule with this effect covers the requests of this kind between the probe
    /// and the client `desk`. A rule without a kind covers every kind if it denies, and otherwise
    /// only calls.
    fn has_rule(&self, kind: &str, effect: &str) -> bool {
        self.rules.iter().any(|rule| {
            let covers_kind = match rule.kind {
                Some(only) => only == kind,
                None => kind == "tools" || effect == "deny",
            };
            rule.effect == effect
                && rule.server != Some("other")
                && rule.client != Some("other")
                && covers_kind
        })
    }

    /// Returns whether the policy permits a request, as the docs describe.
    fn permits(&self, kind: &str, method: &str) -> bool {
        if self.has_rule(kind, "deny") {
            return false;
        }
        // A client that was permitted to start a task may follow the task.
        if method.starts_with("tasks/") || self.has_rule(kind, "allow") {
            return true;
        }
        let index = KINDS.iter().position(|known| *known == kind);
        let default = self.defaults[index.expect("a known kind")];
        if self.has_rule(kind, "ask") || default == "ask" {
            return self.approves;
        }
        default == "allow"
    }
}

/// Decides everything that waits for a person until the request has ended.
fn decide_until_finished<T>(hub: &Hub<'_>, approves: bool, request: &thread::JoinHandle<T>) {
    while !request.is_finished() {
        let pending = hub.run_verb("approvals.list", &json!({}));
        for approval in pending.as_array().expect("a list") {
            let verdict = if approves {
                json!({"kind": "approve_once", "arguments": null})
            } else {
                json!({"kind": "deny", "reason": ""})
            };
            let decision =
                json!({"id": approval["id"], "digest": approval["digest"], "verdict": verdict});
            let _ = hub.try_verb("approvals.decide", &decision);
        }
        thread::yield_now();
    }
}

/// Returns the newest records of a method, newest first.
fn records(hub: &Hub<'_>, method: &str) -> Vec<Value> {
    let calls = hub.run_verb("calls.list", &json!({"text": method, "limit": 1000}));
    let calls = calls.as_array().expect("a list").iter();
    calls
        .filter(|call| call["method"] == method)
        .cloned()
        .collect()
}

/// Returns whether a record is about a request that was allowed, and therefore sent.
fn was_sent(record: &Value) -> bool {
    record["decision"] == "allowed"
}

fn assert_policy_holds(home: &Home, hub: &Hub<'_>, client: &McpClient, policy: &AnyPolicy) {
    let import = json!({"text": policy.to_file(), "replace": true});
    hub.run_verb("policy.import", &import);
    for index in &policy.requests {
        let calling_client = client.second_handle();
        if let Some((kind, method, params)) = REQUESTS.get(*index) {
            let (before, recorded) = (count_received(home, method), records(hub, method).len());
            let request = thread::spawn(move || calling_client.request(method, params));
            decide_until_finished(hub, policy.approves, &request);
            let answer = request.join().expect("the request ends");
            let permitted = policy.permits(kind, method);
            assert_eq!(is_denied(&answer), !permitted, "{method}: {}", answer.raw);
            assert_eq!(
                count_received(home, method),
                before + usize::from(permitted),
                "{method}"
            );
            let records = records(hub, method);
            assert_eq!(records.len(), recorded + 1, "{method}");
            assert_eq!(was_sent(&records[0]), permitted, "{method}: {}", records[0]);
        } else {
            let (kind, method, answer) = TO_CLIENT[*index - REQUESTS.len()];
            let recorded = records(hub, method).len();
            let answer: Value = serde_json::from_str(answer).expect("JSON");
            let request = thread::spawn(move || ask_client(&calling_client, method, &answer));
            decide_until_finished(hub, policy.approves, &request);
            let messages = request.join().expect("the request ends");
            // The server sends its request only while it handles a call, which has to be permitted.
            let is_asked = policy.permits("tools", "tools/call");
            let permitted = is_asked && policy.permits(kind, method);
            assert_eq!(
                messages.iter().any(|message| message["method"] == method),
                permitted,
                "{method}: {messages:?}"
            );
            let records = records(hub, method);
            assert_eq!(records.len(), recorded + usize::from(is_asked), "{method}");
            if is_asked {
                assert_eq!(was_sent(&records[0]), permitted, "{method}: {}", records[0]);
            }
        }
    }
}

#[test]
fn no_request_is_sent_without_its_decision_and_its_record() {
    let home = Home::new();
    let (hub, client) = serve(&home);
    let config = ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
        .run(&any_policy(), |policy| {
            assert_policy_holds(&home, &hub, &client, &policy);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    home.cli(&["audit", "verify"]).expect_success();
}
