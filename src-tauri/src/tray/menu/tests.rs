use drawbridge_hub::model::server::ServerState;

use super::{Choice, Item, TrayState, TrayView, plain};
use crate::{
    controller::tests::request,
    overview::{Overview, ServerLine},
};

fn servers(count: usize) -> Vec<ServerLine> {
    (0..count).map(|i| ServerLine { name: format!("server {i}"), state: ServerState::Idle }).collect()
}

fn line(text: &str) -> Item {
    Item::Line(text.to_owned())
}

fn action(choice: Choice, text: &str) -> Item {
    Item::Action(choice, text.to_owned())
}

#[test]
fn an_idle_tray_offers_to_open_and_to_quit() {
    let view = TrayView::of(&Overview::default());
    assert_eq!(view.state, TrayState::Idle);
    assert_eq!(view.tooltip, "Drawbridge: idle");
    assert_eq!(view.title, None);
    assert_eq!(
        view.items,
        [
            line("Drawbridge: idle"),
            Item::Separator,
            action(Choice::Open, "Open Drawbridge"),
            Item::Separator,
            action(Choice::Quit, "Quit Drawbridge"),
        ]
    );
}

#[test]
fn a_call_that_waits_is_told_first_and_can_be_opened() {
    let trouble = Some("1 server is in error".to_owned());
    let view = TrayView::of(&Overview { waiting: vec![request("1")], servers: servers(1), trouble });
    assert_eq!(view.state, TrayState::Waiting);
    assert_eq!(view.title.as_deref(), Some("1"));
    assert_eq!(
        view.items,
        [
            line("1 call waits for you"),
            line("1 server is in error"),
            action(Choice::ShowApprovals, "claude → Files · read_file…"),
            Item::Separator,
            action(Choice::Open, "Open Drawbridge"),
            Item::Separator,
            line("server 0: idle"),
            Item::Separator,
            action(Choice::Quit, "Quit Drawbridge"),
        ]
    );
}

#[test]
fn trouble_is_named_in_the_first_line() {
    let view = TrayView::of(&Overview { trouble: Some("not listening on [::1]:8765".into()), ..Overview::default() });
    assert_eq!(view.state, TrayState::Trouble);
    assert_eq!(view.items[0], line("Drawbridge: not listening on [::1]:8765"));
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let waiting = (0..7).map(|id| request(&id.to_string())).collect();
    let view = TrayView::of(&Overview { waiting, servers: servers(10), trouble: None });
    assert_eq!(view.items.iter().filter(|item| matches!(item, Item::Action(Choice::ShowApprovals, _))).count(), 6);
    assert!(view.items.contains(&action(Choice::ShowApprovals, "2 more…")));
    assert!(view.items.contains(&line("2 more")));
}

#[test]
fn names_cannot_hide_or_reorder_what_is_shown() {
    assert_eq!(plain("a\u{202e}b\nc\u{200b}d"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
    assert_eq!(plain(&"x".repeat(50)), format!("{}…", "x".repeat(40)));
}
