//! Pages of lists, and their time to live.

use super::*;

async fn read(pages: &'static [&'static str]) -> Result<FetchedList, SyncError> {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let ask = |_method, _params| {
        let page = pages[asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed)];
        async move { Ok(Ok(Json::new(page))) }
    };
    read_list(CapabilityKind::Tools, ask).await
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
            .map(|one| one.name.as_str())
            .collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
    assert_eq!(listed.ttl_ms, Some(5_000));
}

#[tokio::test]
async fn a_malformed_ttl_is_ignored() {
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
