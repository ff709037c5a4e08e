use super::*;

#[test]
fn an_id_is_derived_from_a_display_name() {
    let id = |name| server_id_from_name(name).map(|id| id.as_str().to_owned());
    assert_eq!(id("My Files!"), Some("my-files".into()));
    assert_eq!(id("a__b_"), Some("a_b".into()));
    assert_eq!(id("  "), None);
    assert_eq!(id(&"x".repeat(99)), Some("x".repeat(40)));
}

#[test]
fn a_path_and_a_name_with_a_double_underscore_are_not_valid_ids() {
    assert!(!is_server_id("../etc"));
    assert!(!is_server_id("a__b"));
    assert!(is_server_id("file-system_2"));
}

#[test]
fn a_plain_name_consists_of_the_server_and_the_tool() {
    assert_eq!(exposed_name("fs", &ServerId::new("fs"), "read"), "fs__read");
}

#[test]
fn a_long_or_invalid_name_is_truncated_and_hashed() {
    let server = ServerId::new("fs");
    let long = "t".repeat(100);
    let names = [
        exposed_name("fs", &server, &long),
        exposed_name("fs", &server, &(long.clone() + "2")),
        exposed_name("fs", &server, "a.b"),
        exposed_name("fs", &server, "a/b"),
        exposed_name("fs", &server, ""),
    ];
    for (index, name) in names.iter().enumerate() {
        assert!(
            name.len() <= MAX_TOOL_NAME && name.chars().all(is_name_char),
            "{name}"
        );
        assert!(!names[..index].contains(name), "{name} twice");
    }
}

#[test]
fn names_of_built_in_tools_and_lookalikes_are_reserved() {
    for name in [
        "tool_search",
        "Tool-Search",
        "toolsearch",
        "TOOL_CALL",
        "store_memory",
        "list-categories",
    ] {
        assert!(is_reserved(name), "{name}");
    }
    for name in ["search", "tool_searches", "fs__tool_search", "memory"] {
        assert!(!is_reserved(name), "{name}");
    }
}

#[test]
fn a_prefix_is_short_plain_and_splits_a_name_in_one_way_only() {
    for prefix in ["", "fs", "my-files_2"] {
        assert!(is_valid_prefix(prefix), "{prefix}");
    }
    for prefix in ["a__b", "_a", "a_", "a b", "ä", &"x".repeat(33)] {
        assert!(!is_valid_prefix(prefix), "{prefix}");
    }
}
