use super::*;

#[test]
fn ids_in_order_are_distinct_and_sort_as_they_were_made() {
    let ids: Vec<_> = (0..10_000).map(|_| id_in_order()).collect();
    assert!(ids.iter().all(|id| id.len() == 10));
    assert!(ids.is_sorted_by(|earlier, later| earlier < later));
}
