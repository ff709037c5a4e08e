use std::path::PathBuf;

use drawbridge_model::{
    ids::UserName,
    policy::{Condition, Lifetime, Literal, Predicate, RuleSpec},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

struct Fixture {
    rules: Rules,
    access: Arc<Access>,
    settings: Settings,
    server: RegisteredServer,
    store: Store,
    _temp: tempfile::TempDir,
}

async fn fixture() -> Fixture {
    let temp = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&temp.path().join("test.db"))
        .await
        .expect("a store");
    let settings = Settings::load(store.clone()).await.expect("settings");
    let access = Access::load(store.clone(), Events::new(), None).await;
    let access = Arc::new(access.expect("the clients"));
    let rules = Rules::load(
        store.clone(),
        settings.clone(),
        Events::new(),
        access.clone(),
    )
    .await
    .expect("rules");
    Fixture {
        access,
        rules,
        settings,
        server: server(),
        store,
        _temp: temp,
    }
}

fn server() -> RegisteredServer {
    let spec = serde_json::from_str(r#"{"command":"x"}"#).expect("a spec");
    RegisteredServer::new(ServerId::new("s"), spec, PathBuf::new())
}

fn rule(effect: Effect, change: impl FnOnce(&mut Rule)) -> Rule {
    let mut rule = Rule {
        id: RuleId::new(drawbridge_model::random::id()),
        spec: RuleSpec {
            effect: Some(effect),
            ..RuleSpec::default()
        },
        identity: None,
        definition_digest: None,
        created_at: Timestamp(0),
        used: 0,
    };
    change(&mut rule);
    rule
}

/// Returns the match input of a call by any client, with any arguments.
fn match_input<'a>(
    server: &'a RegisteredServer,
    definition_digest: &'a str,
    annotations: &'a Annotations,
) -> MatchInput<'a> {
    MatchInput {
        kind: RequestKind::Tools,
        client: None,
        session: None,
        project: None,
        server,
        tool: "t",
        definition_digest,
        annotations,
        arguments: None,
    }
}

const READ_ONLY: Annotations = Annotations {
    read_only: Some(true),
    destructive: None,
    idempotent: None,
    open_world: None,
};

impl Fixture {
    fn ruling(&self, client: &str, definition_digest: &str, arguments: &str) -> Ruling {
        let client = ClientName::new(client);
        let session = SessionId::new("session");
        let arguments = drawbridge_jsonrpc::json::raw(arguments.into());
        let input = MatchInput {
            kind: RequestKind::Tools,
            client: Some(&client),
            session: Some(&session),
            project: None,
            server: &self.server,
            tool: "t",
            definition_digest,
            annotations: &READ_ONLY,
            arguments: Some(&arguments),
        };
        self.rules.decide(&input)
    }

    fn effect(&self, client: &str, definition_digest: &str) -> Effect {
        self.ruling(client, definition_digest, "{}").effect
    }

    async fn save_rule(&self, effect: Effect, change: impl FnOnce(&mut Rule)) -> RuleId {
        let rule = rule(effect, change);
        self.rules
            .save_rule(rule.clone())
            .await
            .expect("save a rule");
        rule.id
    }
}

#[tokio::test]
async fn if_no_rule_matches_the_default_applies() {
    let fixture = fixture().await;
    assert_eq!(fixture.effect("c", "d"), Effect::Ask);
    fixture
        .rules
        .set_default(RequestKind::Tools, Effect::Deny)
        .await
        .expect("changed");
    assert_eq!(fixture.effect("c", "d"), Effect::Deny);
}

#[tokio::test]
async fn deny_beats_allow_beats_ask_in_any_scope() {
    let fixture = fixture().await;
    fixture
        .save_rule(Effect::Ask, |rule| rule.spec.scope.tool = None)
        .await;
    fixture
        .save_rule(Effect::Allow, |rule| {
            rule.spec.scope.server = Some(ServerId::new("s"))
        })
        .await;
    assert_eq!(fixture.effect("c", "d"), Effect::Allow);
    let id = fixture
        .save_rule(Effect::Deny, |rule| {
            rule.spec.scope.client = Some(ClientName::new("c"))
        })
        .await;
    assert_eq!(fixture.effect("c", "d"), Effect::Deny);
    assert_eq!(
        fixture.ruling("c", "d", "{}").rule,
        Some(id),
        "the ruling names the rule"
    );
    assert_eq!(fixture.effect("other", "d"), Effect::Allow);
}

#[tokio::test]
async fn a_rule_of_a_user_covers_the_clients_that_belong_to_the_user_now() {
    let fixture = fixture().await;
    for (client, user) in [("a", "ada"), ("b", "bob")] {
        let (client, user) = (ClientName::new(client), UserName::new(user));
        let added = fixture.access.add(&client, None, Some(user), None).await;
        added.expect("added");
    }
    let of_ada = |rule: &mut Rule| rule.spec.scope.user = Some(UserName::new("ada"));
    fixture.save_rule(Effect::Allow, |_| ()).await;
    let id = fixture.save_rule(Effect::Deny, of_ada).await;
    let ruling = fixture.ruling("a", "d", "{}");
    assert_eq!((ruling.effect, ruling.rule), (Effect::Deny, Some(id)));
    assert_eq!(ruling.reason, "rule: deny everything for clients of ada");
    assert_eq!(fixture.effect("b", "d"), Effect::Allow);
    assert_eq!(fixture.effect("unknown", "d"), Effect::Allow);
    let (moved, ada) = (ClientName::new("b"), UserName::new("ada"));
    assert!(fixture.access.set_user(&moved, &ada).await.expect("moved"));
    assert_eq!(fixture.effect("b", "d"), Effect::Deny, "at once");
}

#[tokio::test]
async fn an_allow_applies_only_to_its_definition_and_server() {
    let mut fixture = fixture().await;
    let identity = fixture.server.identity.clone();
    let id = fixture
        .save_rule(Effect::Allow, |rule| {
            rule.spec.scope = Scope {
                server: Some(ServerId::new("s")),
                tool: Some("t".into()),
                ..Scope::default()
            };
            rule.identity = Some(identity);
            rule.definition_digest = Some("d".into());
        })
        .await;
    assert_eq!(fixture.effect("c", "d"), Effect::Allow);
    assert_eq!(fixture.effect("c", "changed"), Effect::Ask);
    let (annotations, server) = (Annotations::default(), fixture.server.clone());
    let input = match_input(&server, "changed", &annotations);
    assert_eq!(
        fixture
            .rules
            .find_suspended_allow(&input)
            .map(|rule| rule.id.clone()),
        Some(id),
        "an approval request can name the suspended rule"
    );
    fixture.server.identity = "another".into();
    assert_eq!(fixture.effect("c", "d"), Effect::Ask);
}

#[tokio::test]
async fn a_rule_applies_only_before_its_deadline_and_only_in_its_session() {
    let fixture = fixture().await;
    fixture
        .save_rule(Effect::Allow, |rule| {
            rule.spec.lifetime = Lifetime::Until { at: clock::now() }
        })
        .await;
    assert_eq!(fixture.effect("c", "d"), Effect::Ask);
    let lifetime_of = |session| Lifetime::Session {
        session: SessionId::new(session),
    };
    fixture
        .save_rule(Effect::Allow, |rule| {
            rule.spec.lifetime = lifetime_of("another")
        })
        .await;
    assert_eq!(fixture.effect("c", "d"), Effect::Ask);
    fixture
        .save_rule(Effect::Allow, |rule| {
            rule.spec.lifetime = lifetime_of("session")
        })
        .await;
    assert_eq!(fixture.effect("c", "d"), Effect::Allow);
}

#[tokio::test]
async fn setting_the_clock_back_before_a_restart_does_not_prolong_a_rule() {
    let fixture = fixture().await;
    let now = clock::now().0;
    for created_at in [now, now + 60_000] {
        fixture
            .save_rule(Effect::Allow, |rule| {
                rule.created_at = Timestamp(created_at);
                rule.spec.lifetime = Lifetime::Until {
                    at: Timestamp(created_at + 3_600_000),
                };
            })
            .await;
    }
    let (store, settings) = (fixture.store.clone(), fixture.settings.clone());
    Rules::load(store, settings, Events::new(), fixture.access.clone())
        .await
        .expect("rules");
    let stored = fixture.store.rules().await.expect("read");
    let created: Vec<_> = stored.iter().map(|rule| rule.created_at.0).collect();
    assert_eq!(
        created,
        [now],
        "a rule created after the current time is deleted"
    );
}

#[tokio::test]
async fn a_rule_for_a_number_of_calls_is_used_up_by_calls_only() {
    let fixture = fixture().await;
    let id = fixture
        .save_rule(Effect::Allow, |rule| {
            rule.spec.lifetime = Lifetime::Calls { count: 2 }
        })
        .await;
    let remaining = || {
        fixture
            .rules
            .list()
            .iter()
            .find(|rule| rule.id == id)
            .and_then(|rule| rule.remaining())
    };
    let (annotations, server) = (Annotations::default(), server());
    let input = match_input(&server, "d", &annotations);
    assert_eq!(
        (fixture.rules.evaluate(&input).effect, remaining()),
        (Effect::Allow, Some(2))
    );
    assert_eq!(
        (fixture.effect("c", "d"), remaining()),
        (Effect::Allow, Some(1))
    );
    // A new rule reloads the rules. The counts stay.
    fixture.save_rule(Effect::Ask, |_| {}).await;
    assert_eq!(
        (fixture.effect("c", "d"), remaining()),
        (Effect::Allow, None),
        "a rule without remaining calls is not listed"
    );
    assert_eq!(fixture.effect("c", "d"), Effect::Ask);
}

#[tokio::test]
async fn the_count_of_an_edited_rule_starts_again() {
    let fixture = fixture().await;
    let limit_to = |count| move |rule: &mut Rule| rule.spec.lifetime = Lifetime::Calls { count };
    let id = fixture.save_rule(Effect::Allow, limit_to(1)).await;
    assert_eq!(fixture.effect("c", "d"), Effect::Allow);
    assert_eq!(fixture.effect("c", "d"), Effect::Ask);
    fixture
        .save_rule(Effect::Allow, |rule| {
            rule.id = id;
            limit_to(2)(rule);
        })
        .await;
    for effect in [Effect::Allow, Effect::Allow, Effect::Ask] {
        assert_eq!(fixture.effect("c", "d"), effect);
    }
}

#[tokio::test]
async fn an_unlimited_allow_is_preferred_to_a_limited_allow() {
    let fixture = fixture().await;
    fixture
        .save_rule(Effect::Allow, |rule| {
            rule.spec.lifetime = Lifetime::Calls { count: 1 }
        })
        .await;
    fixture
        .save_rule(Effect::Allow, |rule| {
            rule.spec.scope.client = Some(ClientName::new("c"))
        })
        .await;
    assert!(!fixture.ruling("c", "d", "{}").is_counted);
    assert!(fixture.ruling("other", "d", "{}").is_counted);
    assert_eq!(fixture.effect("other", "d"), Effect::Ask);
}

#[tokio::test]
async fn a_temporary_allow_replaces_no_rule_and_never_beats_a_deny() {
    let fixture = fixture().await;
    let now = clock::now();
    let timed = |rule: &mut Rule| {
        rule.created_at = now;
        rule.spec.lifetime = Lifetime::Until {
            at: Timestamp(now.0 + 60_000),
        };
    };
    fixture.save_rule(Effect::Ask, |_| {}).await;
    fixture.save_rule(Effect::Allow, timed).await;
    assert_eq!(
        (fixture.effect("c", "d"), fixture.rules.list().len()),
        (Effect::Allow, 2)
    );
    fixture.save_rule(Effect::Deny, |_| {}).await;
    assert_eq!(fixture.effect("c", "d"), Effect::Deny);
    assert_eq!(
        fixture.rules.list().len(),
        2,
        "a scope has only one rule without conditions or expiry"
    );
}

#[tokio::test]
async fn a_read_only_rule_covers_only_tools_that_are_marked_read_only() {
    let fixture = fixture().await;
    fixture
        .save_rule(Effect::Allow, |rule| rule.spec.read_only = true)
        .await;
    assert_eq!(fixture.effect("c", "d"), Effect::Allow);
    let server = server();
    let annotations_with = |read_only| Annotations {
        read_only,
        ..Annotations::default()
    };
    for (annotations, effect) in [
        (annotations_with(None), Effect::Ask),
        (annotations_with(Some(false)), Effect::Ask),
    ] {
        let input = match_input(&server, "d", &annotations);
        assert_eq!(fixture.rules.evaluate(&input).effect, effect);
    }
}

#[tokio::test]
async fn the_strictest_result_rule_applies_and_does_not_decide_the_call() {
    let fixture = fixture().await;
    let result_rule =
        |effect| move |rule: &mut Rule| (rule.spec.effect, rule.spec.result) = (None, Some(effect));
    fixture
        .save_rule(Effect::Ask, result_rule(ResultEffect::Mask))
        .await;
    let server = server();
    let annotations = Annotations::default();
    let input = match_input(&server, "d", &annotations);
    assert_eq!(
        fixture
            .rules
            .result_effect(&input)
            .map(|(effect, _)| effect),
        Some(ResultEffect::Mask)
    );
    fixture
        .save_rule(Effect::Ask, result_rule(ResultEffect::Hold))
        .await;
    assert_eq!(
        fixture
            .rules
            .result_effect(&input)
            .map(|(effect, _)| effect),
        Some(ResultEffect::Hold)
    );
    assert_eq!(
        fixture.ruling("c", "d", "{}").decided_by,
        DecidedBy::Default
    );
}

#[tokio::test]
async fn a_disabled_rule_matches_nothing_until_it_is_enabled() {
    let fixture = fixture().await;
    let id = fixture.save_rule(Effect::Deny, |_| ()).await;
    let by_rule = |fixture: &Fixture| fixture.ruling("c", "t", "{}").decided_by == DecidedBy::Rule;
    assert!(by_rule(&fixture));
    for (enabled, expected) in [(false, false), (true, true)] {
        let changed = fixture.rules.set_enabled(&id, enabled).await;
        changed.expect("the rule is changed");
        assert_eq!(by_rule(&fixture), expected, "enabled: {enabled}");
        let listed = fixture.rules.list();
        assert_eq!(
            listed[0].spec.disabled, !enabled,
            "the rule stays in the list"
        );
    }
}

#[tokio::test]
async fn saved_rules_survive_a_restart() {
    let fixture = fixture().await;
    let spec = RuleSpec {
        scope: Scope {
            server: Some(ServerId::new("s")),
            tool: Some("t".into()),
            client: Some(ClientName::new("c")),
            user: Some(UserName::new("ada")),
            kind: Some(RequestKind::Tools),
        },
        read_only: true,
        conditions: vec![
            Condition {
                pointer: "/n".into(),
                is: Predicate::Equals(Literal("1.50".into())),
            },
            Condition {
                pointer: "/m".into(),
                is: Predicate::Between {
                    min: Some(Literal("1e400".into())),
                    max: None,
                },
            },
        ],
        effect: Some(Effect::Allow),
        result: Some(ResultEffect::Mask),
        lifetime: Lifetime::Calls { count: 5 },
        note: "why not".into(),
        disabled: true,
    };
    let id = fixture
        .save_rule(Effect::Allow, |rule| rule.spec = spec.clone())
        .await;
    let reloaded = Rules::load(
        fixture.store.clone(),
        fixture.settings.clone(),
        Events::new(),
        fixture.access.clone(),
    )
    .await
    .expect("rules");
    let read: Vec<_> = reloaded
        .list()
        .iter()
        .map(|rule| (rule.id.clone(), rule.spec.clone()))
        .collect();
    assert_eq!(read, [(id, spec)], "numbers stay as they were written");
}

#[tokio::test]
async fn an_invalid_condition_is_rejected_and_denies_if_it_is_stored() {
    let fixture = fixture().await;
    let broken = |rule: &mut Rule| {
        rule.spec.conditions = vec![Condition {
            pointer: "/a".into(),
            is: Predicate::Matches("(".into()),
        }];
    };
    let error = fixture
        .rules
        .save_rule(rule(Effect::Allow, broken))
        .await
        .expect_err("the rule is rejected");
    assert!(
        error.to_string().contains("condition 1 (on '/a')"),
        "{error}"
    );
    fixture
        .store
        .journal()
        .save_rule(NewRule {
            rule: rule(Effect::Allow, broken),
            replaced: Vec::new(),
        })
        .await
        .expect("write the rule without the check");
    let reloaded = Rules::load(
        fixture.store.clone(),
        fixture.settings.clone(),
        Events::new(),
        fixture.access.clone(),
    )
    .await
    .expect("rules");
    let fixture = Fixture {
        rules: reloaded,
        ..fixture
    };
    assert_eq!(
        fixture.effect("c", "d"),
        Effect::Deny,
        "an invalid rule denies the call"
    );
}

// The last test compares the engine with a naive reference.

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0..4_i32).prop_map(|n| json!(n)),
        prop::sample::select(vec!["a", "b", "ab", ""]).prop_map(|text| json!(text)),
        Just(json!(null)),
    ];
    prop_oneof![3 => leaf.clone(), 1 => prop::collection::vec(leaf, 0..3).prop_map(|list| json!(list))]
}

fn arguments() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(vec!["x", "y"]), value(), 0..3)
        .prop_map(|members| json!(members))
}

fn condition() -> impl Strategy<Value = Condition> {
    let literal = || value().prop_map(|value| Literal(value.to_string()));
    let bound = || prop::option::of((0..4_i32).prop_map(|n| Literal(n.to_string())));
    let is = prop_oneof![
        literal().prop_map(Predicate::Equals),
        prop::collection::vec(literal(), 1..3).prop_map(Predicate::OneOf),
        (bound(), bound()).prop_map(|(first, second)| match (first, second) {
            (Some(first), Some(second)) if first.0 > second.0 => Predicate::Between {
                min: Some(second),
                max: Some(first)
            },
            (min, max) => Predicate::Between { min, max },
        }),
        prop::sample::select(vec!["a", "a.*", "a|b", ""])
            .prop_map(|regex| Predicate::Matches(regex.into())),
    ];
    (prop::sample::select(vec!["/x", "/y", "/x/0"]), is).prop_map(|(pointer, is)| Condition {
        pointer: pointer.into(),
        is,
    })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let effect = prop::sample::select(vec![Effect::Allow, Effect::Deny, Effect::Ask]);
    let optional =
        |names: [&'static str; 2]| prop::option::of(prop::sample::select(names.to_vec()));
    let scope = (
        optional(["s", "other"]),
        optional(["t", "u"]),
        optional(["c", "d"]),
        optional(["ada", "bob"]),
    );
    (
        effect,
        scope,
        prop::collection::vec(condition(), 0..3),
        optional(["d", "older"]),
        any::<bool>(),
    )
        .prop_map(
            |(effect, (server, tool, client, user), conditions, definition_digest, read_only)| {
                rule(effect, |rule| {
                    rule.spec.scope = Scope {
                        server: server.map(ServerId::new),
                        tool: server.and(tool).map(str::to_owned),
                        client: client.map(ClientName::new),
                        user: user.map(UserName::new),
                        kind: None,
                    };
                    rule.spec.conditions = conditions;
                    rule.spec.read_only = read_only;
                    rule.definition_digest = definition_digest.map(str::to_owned);
                })
            },
        )
}

/// Decides a call of tool `t` of server `s` by client `c` of user `ada` in the simplest way.
fn reference_effect(
    rules: &[Rule],
    default: Effect,
    arguments: &Value,
    is_read_only: bool,
) -> Effect {
    let fits = |rule: &&Rule| {
        let spec = &rule.spec;
        let scope = &spec.scope;
        let is_allow = spec.effect == Some(Effect::Allow);
        scope
            .server
            .as_ref()
            .is_none_or(|server| server.as_str() == "s")
            && scope.tool.as_ref().is_none_or(|tool| tool == "t")
            && scope
                .client
                .as_ref()
                .is_none_or(|client| client.as_str() == "c")
            && scope
                .user
                .as_ref()
                .is_none_or(|user| user.as_str() == "ada")
            && (!spec.read_only || is_read_only)
            && !(is_allow
                && rule
                    .definition_digest
                    .as_ref()
                    .is_some_and(|digest| digest != "d"))
            && spec
                .conditions
                .iter()
                .all(|condition| reference_condition(condition, arguments, is_allow))
    };
    let effects: Vec<_> = rules
        .iter()
        .filter(fits)
        .filter_map(|rule| rule.spec.effect)
        .collect();
    [Effect::Deny, Effect::Allow, Effect::Ask]
        .into_iter()
        .find(|effect| effects.contains(effect))
        .unwrap_or(default)
}

fn reference_condition(condition: &Condition, arguments: &Value, is_allow: bool) -> bool {
    let Some(value) = arguments.pointer(&condition.pointer) else {
        return false;
    };
    let read = |literal: &Literal| serde_json::from_str::<Value>(&literal.0).expect("JSON");
    let holds = |value: &Value| match &condition.is {
        Predicate::Equals(expected) => reference_equals(&read(expected), value, is_allow),
        Predicate::OneOf(expected) => expected
            .iter()
            .any(|expected| reference_equals(&read(expected), value, is_allow)),
        Predicate::Between { min, max } => reference_number(value, is_allow).is_some_and(|n| {
            let bound = |bound: &Option<Literal>| {
                bound
                    .as_ref()
                    .map(|bound| read(bound).as_i64().expect("a number"))
            };
            bound(min).is_none_or(|min| min <= n) && bound(max).is_none_or(|max| n <= max)
        }),
        Predicate::Matches(regex) => value.as_str().is_some_and(|text| match regex.as_str() {
            "a" => text == "a",
            "a.*" => text.starts_with('a'),
            "a|b" => text == "a" || text == "b",
            _ => text.is_empty(),
        }),
        Predicate::PathWithin(_) | Predicate::Host(_) => {
            unreachable!("the strategy makes no such predicate")
        }
    };
    match (&condition.is, value) {
        (Predicate::Equals(_), value) => holds(value),
        (_, Value::Array(items)) if is_allow => !items.is_empty() && items.iter().all(holds),
        (_, Value::Array(items)) => items.iter().any(holds),
        (_, value) => holds(value),
    }
}

/// For a deny or an ask, a value also equals any number to which some server may convert it.
fn reference_equals(expected: &Value, value: &Value, is_allow: bool) -> bool {
    let equals_converted = || match (expected, value) {
        (Value::Array(expected), Value::Array(items)) => {
            expected.len() == items.len()
                && expected
                    .iter()
                    .zip(items)
                    .all(|(expected, item)| reference_equals(expected, item, is_allow))
        }
        _ => expected.is_number() && expected.as_i64() == reference_number(value, is_allow),
    };
    expected == value || (!is_allow && equals_converted())
}

/// Returns the value as a number. For a deny or an ask, an empty text and null are 0, because some
/// servers convert them as JavaScript does.
fn reference_number(value: &Value, is_allow: bool) -> Option<i64> {
    let is_nothing = value.is_null() || *value == json!("");
    if is_nothing && !is_allow {
        Some(0)
    } else {
        value.as_i64()
    }
}

/// Returns the engine's decision with the rules stored in this order.
fn engine_effect(
    rules: &[Rule],
    default: Effect,
    arguments: &Value,
    annotations: &Annotations,
) -> Effect {
    let set = RuleSet::new(rules.to_vec(), DefaultEffects::default(), None);
    let (client, server, arguments) = (
        ClientName::new("c"),
        server(),
        drawbridge_jsonrpc::json::raw(arguments.to_string()),
    );
    let input = MatchInput {
        kind: RequestKind::Tools,
        client: Some(&client),
        session: None,
        project: None,
        server: &server,
        tool: "t",
        definition_digest: "d",
        annotations,
        arguments: Some(&arguments),
    };
    let context = MatchContext {
        input: &input,
        user: Some(UserName::new("ada")),
        now: Timestamp(0),
    };
    set.ruling(&context, CompiledRule::count_call)
        .map_or(default, |(effect, _)| effect)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_agrees_with_the_reference_in_any_order_of_rules(
        rules in prop::collection::vec(any_rule(), 0..7),
        shuffled in any::<prop::sample::Index>(),
        default in prop::sample::select(vec![Effect::Allow, Effect::Deny, Effect::Ask]),
        arguments in arguments(),
        read_only: bool,
    ) {
        let annotations = Annotations { read_only: Some(read_only), ..Annotations::default() };
        let decided = engine_effect(&rules, default, &arguments, &annotations);
        prop_assert_eq!(decided, reference_effect(&rules, default, &arguments, read_only));
        let mut other = rules.clone();
        other.reverse();
        if !other.is_empty() {
            let at = shuffled.index(other.len());
            other.rotate_left(at);
        }
        prop_assert_eq!(decided, engine_effect(&other, default, &arguments, &annotations));
    }
}
