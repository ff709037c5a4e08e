use super::*;

const MAX: u64 = (1 << 50) - 1;

#[test]
fn ids_in_order_are_distinct_and_sort_as_they_were_made() {
    let ids: Vec<_> = (0..10_000).map(|_| id_in_order()).collect();
    assert!(ids.iter().all(|id| id.len() == 10));
    assert!(ids.is_sorted_by(|earlier, later| earlier < later));
}

#[test]
fn an_id_and_its_number_are_each_others() {
    for number in [0, 1, 31, 32, 1_700_000_000_000_000 & MAX, MAX] {
        assert_eq!(number_of(&id_of(number)), Some(number));
    }
    assert_eq!(number_of("2222222223"), Some(1));
    for none in [
        "",
        "222222222",
        "22222222222",
        "222222222l",
        "222222222é",
        "../../../..",
    ] {
        assert_eq!(number_of(none), None, "{none}");
    }
}
