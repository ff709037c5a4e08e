use std::path::PathBuf;

use drawbridge_jsonrpc::json;
use drawbridge_model::{capability::CapabilityKind, ids::ServerId, spec::RegisteredServer};

use super::*;
use crate::catalog::Definition;

fn tool(hints: &str, ttl: u32) -> CatalogEntry {
    let spec = serde_json::from_str(&format!(r#"{{"command":"x","cache_results_ms":{ttl}}}"#))
        .expect("a spec");
    let definition = format!(r#"{{"name":"t","annotations":{hints}}}"#);
    CatalogEntry {
        exposed_name: "s__t".into(),
        server: Arc::new(RegisteredServer::new(
            ServerId::new("s"),
            spec,
            PathBuf::new(),
        )),
        definition: Arc::new(
            Definition::parse(CapabilityKind::Tools, definition).expect("a definition"),
        ),
    }
}

const PURE: &str = r#"{"readOnlyHint":true,"idempotentHint":true}"#;

fn key(client: &str, arguments: &str) -> CacheKey {
    let key = CacheKey::for_call(
        &ClientName::new(client),
        &tool(PURE, 1_000),
        &json::raw(arguments.into()),
        None,
    );
    key.expect("a key")
}

#[tokio::test(start_paused = true)]
async fn a_fresh_result_is_reused_for_the_same_client_and_arguments() {
    let results = ResultCache::default();
    results.put(
        key("a", r#"{"x":1,"y":[2]}"#),
        &Json::new(r#"{"content":[]}"#),
    );
    let same = key("a", r#"{ "y": [2], "x": 1 }"#);
    assert_eq!(
        results.get(&same).expect("the result is cached").get(),
        r#"{"content":[]}"#
    );
    assert!(
        results.get(&key("b", r#"{"x":1,"y":[2]}"#)).is_none(),
        "another client does not get the result"
    );
    assert!(results.get(&key("a", r#"{"x":2,"y":[2]}"#)).is_none());
    tokio::time::advance(Duration::from_millis(1_001)).await;
    assert!(results.get(&same).is_none(), "the result has expired");
}

#[test]
fn only_the_results_of_the_client_are_removed() {
    let results = ResultCache::default();
    let (first, other) = (key("a", "{}"), key("b", "{}"));
    for key in [&first, &other] {
        results.put(key.clone(), &Json::new(r#"{"content":[]}"#));
    }
    results.remove_client(&ClientName::new("a"));
    assert!(results.get(&first).is_none());
    assert!(results.get(&other).is_some());
}

#[test]
fn arguments_that_a_server_may_distinguish_share_no_result() {
    for (first, second) in [
        (
            r#"{"account":18446744073709551617}"#,
            r#"{"account":18446744073709551999}"#,
        ),
        (r#"{"n":0.10000000000000000001}"#, r#"{"n":0.1}"#),
    ] {
        assert_ne!(key("a", first).digest, key("a", second).digest, "{first}");
    }
    let twice = json::raw(r#"{"f":{"id":1,"id":2}}"#.into());
    let key = CacheKey::for_call(&ClientName::new("a"), &tool(PURE, 1), &twice, None);
    assert!(
        key.is_none(),
        "a JSON key that occurs twice can mean either value"
    );
}

#[test]
fn only_resources_and_read_only_idempotent_tools_are_cached_if_a_ttl_is_set_and_no_further_params_are_sent()
 {
    let (client, arguments) = (ClientName::new("a"), json::raw("{}".into()));
    let key = |hints, ttl, extra: Option<&RawValue>| {
        CacheKey::for_call(&client, &tool(hints, ttl), &arguments, extra)
    };
    assert!(key(PURE, 1, None).is_some());
    assert!(key(PURE, 0, None).is_none());
    assert!(key(r#"{"readOnlyHint":true}"#, 1, None).is_none());
    assert!(key(r#"{"idempotentHint":true}"#, 1, None).is_none());
    let retry = json::raw(r#"{"inputResponses":{}}"#.into());
    assert!(
        key(PURE, 1, Some(&retry)).is_none(),
        "a retry with answers is not cached"
    );
    let resource =
        |params: &str| CacheKey::for_resource(&client, &tool("{}", 1), &json::raw(params.into()));
    assert!(
        resource(r#"{"uri":"x"}"#).is_some()
            && resource(r#"{"uri":"x","requestState":"y"}"#).is_none()
    );
}

#[tokio::test(start_paused = true)]
async fn failures_and_interim_results_are_not_cached_and_a_server_may_shorten_the_ttl() {
    let results = ResultCache::default();
    for result in [
        r#"{"isError":true}"#,
        r#"{"resultType":"input_required"}"#,
        r#"{"task":{"taskId":"1"}}"#,
        r#"{"ttlMs":0}"#,
        r#"{"ttlMs":0.0}"#,
        r#"{"ttlMs":-1}"#,
        r#"{"ttlMs":null}"#,
    ] {
        results.put(key("a", "{}"), &Json::new(result));
        assert!(results.get(&key("a", "{}")).is_none(), "{result}");
    }
    results.put(key("a", "{}"), &Json::new(r#"{"ttlMs":1e2}"#));
    assert!(results.get(&key("a", "{}")).is_some());
    tokio::time::advance(Duration::from_millis(101)).await;
    assert!(results.get(&key("a", "{}")).is_none());
}

#[test]
fn the_oldest_results_are_evicted() {
    let results = ResultCache::default();
    let large = Json::new(format!(
        r#"{{"content":"{}"}}"#,
        "x".repeat(3 * 1024 * 1024)
    ));
    (0..20).for_each(|n| results.put(key("a", &format!("[{n}]")), &large));
    let (bytes, counts) = {
        let cached = results.lock();
        (cached.bytes, (cached.order.len(), cached.by_key.len()))
    };
    assert!(
        bytes <= MAX_BYTES && counts == (10, 10),
        "{bytes} {counts:?}"
    );
    assert!(results.get(&key("a", "[0]")).is_none() && results.get(&key("a", "[19]")).is_some());
}

#[test]
fn only_the_results_of_the_server_are_removed() {
    let results = ResultCache::default();
    results.put(key("a", "{}"), &Json::new("{}"));
    results.remove_server(&ServerId::new("other"));
    assert!(results.get(&key("a", "{}")).is_some());
    results.remove_server(&ServerId::new("s"));
    assert!(results.get(&key("a", "{}")).is_none());
    assert_eq!(results.lock().bytes, 0);
}
