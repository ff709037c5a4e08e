use super::*;

const MAX: u64 = (1 << 50) - 1;

#[test]
fn ordered_ids_are_distinct_and_sort_by_creation() {
    let ids: Vec<_> = (0..10_000).map(|_| ordered_id()).collect();
    assert!(ids.iter().all(|id| id.len() == 10));
    assert!(ids.is_sorted_by(|earlier, later| earlier < later));
}

#[test]
fn an_id_decodes_to_its_number() {
    for number in [0, 1, 31, 32, 1_700_000_000_000_000 & MAX, MAX] {
        assert_eq!(decode_id(&encode_id(number)), Some(number));
    }
    assert_eq!(decode_id("2222222223"), Some(1));
    for invalid in [
        "",
        "222222222",
        "22222222222",
        "222222222l",
        "222222222é",
        "../../../..",
    ] {
        assert_eq!(decode_id(invalid), None, "{invalid}");
    }
}
