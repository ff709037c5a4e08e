use std::path::PathBuf;

use super::*;

struct Desk {
    rules: Rules,
    settings: Settings,
    server: Registered,
    _temp: tempfile::TempDir,
}

async fn desk() -> Desk {
    let temp = tempfile::tempdir().expect("a folder");
    let (store, _) = Store::open(&temp.path().join("test.db")).await.expect("a store");
    let settings = Settings::load(store.clone()).await.expect("settings");
    let rules = Rules::load(store, settings.clone(), Events::new()).await.expect("rules");
    let spec = serde_json::from_str(r#"{"command":"x"}"#).expect("a spec");
    Desk { rules, settings, server: Registered::new(ServerId::new("s"), spec, PathBuf::new()), _temp: temp }
}

impl Desk {
    fn effect(&self, client: &str, definition: &str) -> Effect {
        let client = ClientName::new(client);
        let session = SessionId::new("session");
        let facts =
            Facts { client: Some(&client), session: Some(&session), server: &self.server, tool: "t", definition };
        self.rules.decide(&facts).effect
    }

    async fn put(&self, effect: Effect, change: impl FnOnce(&mut RuleRow)) {
        let mut rule = RuleRow {
            scope: Scope::default(),
            session: None,
            effect,
            identity: None,
            definition: None,
            created_at: Timestamp(0),
            expires_at: None,
        };
        change(&mut rule);
        self.rules.put(rule).await.expect("put");
    }
}

#[tokio::test]
async fn without_a_rule_the_default_holds_and_it_is_to_ask() {
    let desk = desk().await;
    assert_eq!(desk.effect("c", "d"), Effect::Ask);
    let deny = |values| crate::settings::Values { default_policy: Effect::Deny, ..values };
    desk.settings.change(deny).await.expect("changed");
    assert_eq!(desk.effect("c", "d"), Effect::Deny);
}

#[tokio::test]
async fn deny_beats_allow_beats_ask_whatever_the_scopes() {
    let desk = desk().await;
    desk.put(Effect::Ask, |rule| rule.scope.tool = None).await;
    desk.put(Effect::Allow, |rule| rule.scope.server = Some(ServerId::new("s"))).await;
    assert_eq!(desk.effect("c", "d"), Effect::Allow);
    desk.put(Effect::Deny, |rule| rule.scope.client = Some(ClientName::new("c"))).await;
    assert_eq!(desk.effect("c", "d"), Effect::Deny);
    assert_eq!(desk.effect("other", "d"), Effect::Allow);
}

#[tokio::test]
async fn an_allow_holds_for_the_definition_and_the_server_it_was_given_for() {
    let mut desk = desk().await;
    let identity = desk.server.identity.clone();
    desk.put(Effect::Allow, |rule| {
        rule.scope = Scope { server: Some(ServerId::new("s")), tool: Some("t".into()), client: None };
        rule.identity = Some(identity);
        rule.definition = Some("d".into());
    })
    .await;
    assert_eq!(desk.effect("c", "d"), Effect::Allow);
    assert_eq!(desk.effect("c", "changed"), Effect::Ask);
    desk.server.identity = "another".into();
    assert_eq!(desk.effect("c", "d"), Effect::Ask);
}

#[tokio::test]
async fn a_rule_ends_with_its_time_or_its_session() {
    let desk = desk().await;
    desk.put(Effect::Allow, |rule| rule.expires_at = Some(clock::now())).await;
    assert_eq!(desk.effect("c", "d"), Effect::Ask);
    desk.put(Effect::Allow, |rule| rule.session = Some(SessionId::new("another"))).await;
    assert_eq!(desk.effect("c", "d"), Effect::Ask);
    desk.put(Effect::Allow, |rule| rule.session = Some(SessionId::new("session"))).await;
    assert_eq!(desk.effect("c", "d"), Effect::Allow);
}

#[tokio::test]
async fn an_allow_for_a_while_stands_beside_a_lasting_rule_and_never_beats_a_deny() {
    let desk = desk().await;
    let now = clock::now();
    let timed = |rule: &mut RuleRow| {
        rule.created_at = now;
        rule.expires_at = Some(Timestamp(now.0 + 60_000));
    };
    desk.put(Effect::Ask, |_| {}).await;
    desk.put(Effect::Allow, timed).await;
    assert_eq!((desk.effect("c", "d"), desk.rules.list().len()), (Effect::Allow, 2));
    desk.put(Effect::Deny, |_| {}).await;
    assert_eq!(desk.effect("c", "d"), Effect::Deny);
    let allow = RuleRow { effect: Effect::Allow, ..desk.rules.list()[0].clone() };
    assert!(matches!(desk.rules.grant(allow).await, Err(GrantError::Denied)));
    assert_eq!(desk.effect("c", "d"), Effect::Deny);
}
