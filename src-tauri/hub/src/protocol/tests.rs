use super::*;

fn params(version: &str) -> Box<RawValue> {
    json::to_raw(&json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}))
}

#[test]
fn a_client_gets_its_own_revision_where_it_is_known_and_else_the_newest() {
    for revision in REVISIONS {
        assert_eq!(initialize(Some(&params(revision))).expect("answer").protocol_version, revision);
    }
    assert_eq!(initialize(Some(&params("2031-01-01"))).expect("answer").protocol_version, NEWEST);
}

#[test]
fn an_initialize_without_params_is_refused() {
    assert_eq!(initialize(None).err().map(|e| e.code), Some(code::INVALID_PARAMS));
}

#[test]
fn a_server_of_an_unknown_revision_is_refused_in_words() {
    let result = json::to_raw(&json!({"protocolVersion": "1999-01-01", "capabilities": {}}));
    assert!(server_hello(&result).expect_err("refused").contains("1999-01-01"));
}
