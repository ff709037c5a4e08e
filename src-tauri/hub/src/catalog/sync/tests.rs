//! The pages of lists with their limits, time to live and scope, and how often servers are synced
//! when their lists change.

use std::sync::Mutex;

use tokio::time::{Instant, sleep};

use super::*;

async fn read(pages: &'static [&'static str]) -> Result<FetchedList, SyncError> {
    let next_page = std::sync::atomic::AtomicUsize::new(0);
    let send_request = |_method, _params| {
        let page = pages[next_page.fetch_add(1, std::sync::atomic::Ordering::Relaxed)];
        async move { Ok(RpcResponse::Result(Json::new(page))) }
    };
    read_list(CapabilityKind::Tools, MAX_CATALOG_BYTES, send_request).await
}

#[tokio::test]
async fn a_list_beyond_the_limit_in_bytes_is_cut_and_its_other_pages_are_not_read() {
    let pages = std::sync::atomic::AtomicUsize::new(0);
    let send_request = |_method, _params| {
        let page = pages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let tools: Vec<_> = (0..10)
            .map(|tool| {
                let description = "x".repeat(200);
                serde_json::json!({"name": format!("{page}-{tool}"), "description": description})
            })
            .collect();
        let page = serde_json::json!({"tools": tools, "nextCursor": page.to_string()});
        async move { Ok(RpcResponse::Result(Json::new(page.to_string()))) }
    };
    let listed = read_list(CapabilityKind::Tools, 5_000, send_request).await;
    let listed = listed.expect("a list");
    let bytes: usize = listed
        .definitions
        .iter()
        .map(|tool| tool.raw.get().len())
        .sum();
    assert!((4_700..=5_000).contains(&bytes), "{bytes} bytes are kept");
    assert_eq!(pages.load(std::sync::atomic::Ordering::Relaxed), 3);
    let rest = &listed.excluded.entries[0];
    assert_eq!(rest.name, "rest of tools/list");
    assert!(rest.reason.contains("32 MiB"), "{}", rest.reason);
}

#[tokio::test]
async fn a_page_with_too_many_entries_is_rejected() {
    for (count, is_valid) in [(MAX_ENTRIES, true), (MAX_ENTRIES + 1, false)] {
        let tools: Vec<_> = (0..count)
            .map(|tool| serde_json::json!({"name": tool.to_string()}))
            .collect();
        let page = serde_json::json!({ "tools": tools }).to_string();
        let send_request = |_method, _params| {
            let page = page.clone();
            async move { Ok(RpcResponse::Result(Json::new(page))) }
        };
        let listed = read_list(CapabilityKind::Tools, MAX_CATALOG_BYTES, send_request).await;
        assert_eq!(listed.is_ok(), is_valid, "{count} entries");
    }
}

#[tokio::test]
async fn the_shortest_ttl_of_the_pages_counts() {
    let listed = read(&[
        r#"{"tools":[{"name":"a"}],"ttlMs":60000,"nextCursor":"2"}"#,
        r#"{"tools":[{"name":"b"}],"ttlMs":5000,"nextCursor":"3"}"#,
        r#"{"tools":[{"name":"c"}]}"#,
    ])
    .await
    .expect("a list");
    assert_eq!(
        listed
            .definitions
            .iter()
            .map(|definition| definition.name.as_str())
            .collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    assert_eq!(listed.ttl_ms, Some(5_000));
}

#[tokio::test]
async fn a_list_is_private_if_a_page_has_another_scope_than_public() {
    for (last_page, is_private) in [
        (r#"{"tools":[],"cacheScope":"public"}"#, false),
        (r#"{"tools":[]}"#, false),
        (r#"{"tools":[],"cacheScope":"private"}"#, true),
        (r#"{"tools":[],"cacheScope":"tenant"}"#, true),
        (r#"{"tools":[],"cacheScope":null}"#, true),
    ] {
        let first_page = r#"{"tools":[],"cacheScope":"public","nextCursor":"2"}"#;
        let pages: &'static [&'static str] = Box::leak(Box::new([first_page, last_page]));
        let listed = read(pages).await.expect("a list");
        assert_eq!(listed.is_private, is_private, "{last_page}");
    }
}

#[tokio::test]
async fn a_missing_or_malformed_ttl_is_ignored() {
    for page in [
        r#"{"tools":[]}"#,
        r#"{"tools":[],"ttlMs":-1}"#,
        r#"{"tools":[],"ttlMs":"5"}"#,
        r#"{"tools":[],"ttlMs":1e3}"#,
    ] {
        let pages: &'static [&'static str] = Box::leak(Box::new([page]));
        assert_eq!(read(pages).await.expect("a list").ttl_ms, None, "{page}");
    }
}

/// Starts the task that syncs changed servers, with `observe` in place of a sync. Returns the set
/// of changes, and the results of `observe`.
fn watch_syncs<T: Send + 'static>(
    observe: impl Fn() -> T + Send + 'static,
) -> (ListChanges, Arc<Mutex<Vec<T>>>) {
    let (changes, observed) = (ListChanges::default(), Arc::<Mutex<Vec<T>>>::default());
    let observations = observed.clone();
    tokio::spawn(for_each_changed(changes.clone(), move |_| {
        observations.lock().expect("lock").push(observe());
    }));
    (changes, observed)
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_changes_at_once_cause_one_sync() {
    let (changes, times) = watch_syncs(Instant::now);
    for _ in 0..10_000 {
        changes.insert(ServerId::new("s"));
    }
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(times.lock().expect("lock").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_changes_causes_one_sync_a_second_and_one_after_its_end() {
    let (changes, times) = watch_syncs(Instant::now);
    for _ in 0..10_000 {
        changes.insert(ServerId::new("s"));
        sleep(Duration::from_millis(1)).await;
    }
    let end = Instant::now();
    sleep(Duration::from_secs(3_600)).await;
    let times = times.lock().expect("lock");
    assert!(
        times
            .windows(2)
            .all(|pair| pair[1] - pair[0] >= Duration::from_secs(1)),
        "{times:?}"
    );
    let after = times.iter().filter(|time| **time >= end).count();
    assert!(
        (9..=11).contains(&times.len()) && after == 1,
        "{after} of {} after the end",
        times.len()
    );
}
