use super::*;

#[test]
fn an_id_is_made_from_what_a_person_writes() {
    let id = |name| server_id(name).map(|id| id.as_str().to_owned());
    assert_eq!(id("My Files!"), Some("my-files".into()));
    assert_eq!(id("a__b_"), Some("a_b".into()));
    assert_eq!(id("  "), None);
    assert_eq!(id(&"x".repeat(99)), Some("x".repeat(40)));
}

#[test]
fn a_path_is_no_id() {
    assert!(!is_server_id("../etc"));
    assert!(!is_server_id("a__b"));
    assert!(is_server_id("file-system_2"));
}

#[test]
fn a_plain_name_is_server_and_tool() {
    assert_eq!(exposed_name(&ServerId::new("fs"), "read"), "fs__read");
}

#[test]
fn a_long_or_strange_name_is_cut_and_hashed_and_stays_distinct() {
    let server = ServerId::new("fs");
    let long = "t".repeat(100);
    let names = [
        exposed_name(&server, &long),
        exposed_name(&server, &(long.clone() + "2")),
        exposed_name(&server, "a.b"),
        exposed_name(&server, "a/b"),
        exposed_name(&server, ""),
    ];
    for (index, name) in names.iter().enumerate() {
        assert!(name.len() <= MAX_TOOL_NAME && name.chars().all(is_name_char), "{name}");
        assert!(!names[..index].contains(name), "{name} twice");
    }
}
