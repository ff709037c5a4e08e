use drawbridge_model::memory::DEFAULT_CATEGORY;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

async fn open_store() -> (Store, TempDir) {
    let folder = TempDir::new().expect("a folder");
    let (store, _) = Store::open(&folder.path().join("drawbridge.db"))
        .await
        .expect("a store");
    (store, folder)
}

fn text(content: &str, category: Option<&str>, tags: &[&str]) -> MemoryText {
    let tags: Vec<_> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    MemoryText::new(content, category, &tags).expect("valid")
}

async fn add(store: &Store, user: &str, text: &MemoryText) -> MemoryEntry {
    match store.add_memory(&UserName::new(user), None, text).await {
        Ok(StoredMemory::New(entry) | StoredMemory::Known(entry)) => entry,
        other => panic!("not stored: {other:?}"),
    }
}

async fn page(store: &Store, filter: &MemoryFilter, cursor: Option<MemoryCursor>) -> MemoryPage {
    store.memory_page(filter, cursor, 2).await.expect("a page")
}

async fn search(store: &Store, query: &str) -> Vec<String> {
    let filter = MemoryFilter {
        query: SearchQuery::new(query),
        ..MemoryFilter::default()
    };
    let found = store.memory_page(&filter, None, 10).await;
    found
        .unwrap_or_else(|e| panic!("{query}: {e}"))
        .entries
        .into_iter()
        .map(|entry| entry.content)
        .collect()
}

#[tokio::test]
async fn the_best_match_comes_first_in_any_language() {
    let (store, _folder) = open_store().await;
    for content in [
        "The user prefers tabs over spaces",
        "The favourite colour is blue",
        "用户喜欢绿茶",
        "Straße und Café in Zürich",
    ] {
        add(&store, "a", &text(content, None, &[])).await;
    }
    let found = search(&store, "What is the user's favourite colour?").await;
    assert_eq!(
        found.first().map(String::as_str),
        Some("The favourite colour is blue")
    );
    assert_eq!(search(&store, "喜欢").await, ["用户喜欢绿茶"]);
    assert_eq!(
        search(&store, "zurich cafe").await,
        ["Straße und Café in Zürich"]
    );
    assert_eq!(
        search(&store, "prefer").await,
        ["The user prefers tabs over spaces"]
    );
    assert_eq!(
        search(&store, "欢喜").await,
        Vec::<String>::new(),
        "the order counts"
    );
}

#[tokio::test]
async fn words_that_a_query_repeats_leave_room_for_its_other_words() {
    let (store, _folder) = open_store().await;
    add(&store, "a", &text("treasure", None, &[])).await;
    let query = format!("{}treasure", "Where is where Is ".repeat(20));
    assert_eq!(search(&store, &query).await, ["treasure"]);
}

#[tokio::test]
async fn a_changed_or_deleted_entry_is_found_only_by_its_new_words() {
    let (store, _folder) = open_store().await;
    let entry = add(&store, "a", &text("apples", Some("fruit"), &["red"])).await;
    assert_eq!(
        search(&store, "fruit").await,
        ["apples"],
        "labels are searched too"
    );
    let changed = store
        .update_memory(entry.id, &text("pears", None, &[]))
        .await;
    assert_eq!(
        changed.expect("changed").expect("exists").category,
        DEFAULT_CATEGORY
    );
    assert_eq!(
        search(&store, "apples fruit red").await,
        Vec::<String>::new()
    );
    assert_eq!(search(&store, "pears").await, ["pears"]);
    assert_eq!(
        store.delete_memory(&[entry.id, 99]).await.expect("deleted"),
        1
    );
    assert_eq!(search(&store, "pears").await, Vec::<String>::new());
    let next = add(&store, "a", &text("plums", None, &[])).await;
    assert!(next.id > entry.id, "an id is not used again");
}

#[tokio::test]
async fn the_same_content_is_stored_once_for_each_user_and_category() {
    let (store, _folder) = open_store().await;
    let first = add(&store, "a", &text("x", None, &["old"])).await;
    let again = add(&store, "a", &text("x", None, &["new"])).await;
    assert_eq!((again.id, again.tags), (first.id, vec!["new".to_owned()]));
    let others = [
        add(&store, "b", &text("x", None, &[])).await,
        add(&store, "a", &text("x", Some("other"), &[])).await,
    ];
    assert!(others.iter().all(|other| other.id != first.id));
}

#[tokio::test]
async fn filters_apply_together() {
    let (store, _folder) = open_store().await;
    add(&store, "a", &text("one", Some("c"), &["t", "u"])).await;
    add(&store, "a", &text("two", Some("c"), &["t"])).await;
    add(&store, "b", &text("three", Some("c"), &["t", "u"])).await;
    let filter = MemoryFilter {
        user: Some(UserName::new("a")),
        category: Some("c".into()),
        tags: vec!["t".into(), "u".into()],
        ..MemoryFilter::default()
    };
    let found = page(&store, &filter, None).await.entries;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].content, "one");
    let later = MemoryFilter {
        since: Some(Timestamp(found[0].updated_at.0 + 1_000_000)),
        ..MemoryFilter::default()
    };
    assert!(page(&store, &later, None).await.entries.is_empty());
    let categories = store.memory_categories(None).await.expect("categories");
    let counts: Vec<_> = categories
        .iter()
        .map(|category| (category.user.as_str(), category.entries))
        .collect();
    assert_eq!(counts, [("a", 2), ("b", 1)]);
}

#[test]
fn no_query_breaks_the_syntax_of_the_search() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (store, _folder) = runtime.block_on(open_store());
    runtime.block_on(add(&store, "a", &text("x", None, &[])));
    for query in [
        "\"",
        "a AND",
        "NEAR(a b",
        "content:x",
        "*",
        "^x",
        "-x",
        "x\0y",
        "(",
        "{x}: y",
    ] {
        runtime.block_on(search(&store, query));
    }
    proptest!(
        ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() },
        |(query: String)| {
            let matches = SearchQuery::new(&query).is_some();
            prop_assert_eq!(matches, query.chars().any(char::is_alphanumeric));
            if matches {
                runtime.block_on(search(&store, &query));
            }
        }
    );
}

#[tokio::test]
async fn pages_stay_in_place_while_entries_are_stored() {
    let (store, _folder) = open_store().await;
    for content in ["1", "2", "3", "4"] {
        add(&store, "a", &text(content, None, &[])).await;
    }
    let filter = MemoryFilter::default();
    let first = page(&store, &filter, None).await;
    add(&store, "a", &text("5", None, &[])).await;
    let second = page(&store, &filter, first.next).await;
    let contents: Vec<_> = [first.entries, second.entries]
        .concat()
        .into_iter()
        .map(|entry| entry.content)
        .collect();
    assert_eq!(contents, ["4", "3", "2", "1"]);
    assert_eq!(second.next, None);
}
