use drawbridge_hub::model::approval::ApprovalRequest;

use super::{Actions, Button, Notice, choice};
use crate::{controller::tests::request, glance::Seen, tray::menu::Choice};

fn with(arguments: &str) -> ApprovalRequest {
    ApprovalRequest {
        arguments: arguments.into(),
        ..request("1")
    }
}

fn notice(request: ApprovalRequest) -> Notice {
    Notice::of(&[request]).expect("one waits")
}

fn seen() -> Seen {
    Seen::of(&request("1"))
}

#[test]
fn a_call_that_fits_can_be_approved_in_its_notification() {
    let notice = notice(with(r#"{"path":"/tmp/a"}"#));
    assert_eq!(notice.title, "claude wants to call read_file of Files");
    assert_eq!(notice.body, r#"{"path":"/tmp/a"}"#);
    assert_eq!(notice.actions, Actions::ShowDenyOrApprove(seen()));
}

#[test]
fn longer_arguments_are_shown_and_very_long_ones_are_not() {
    let longer = notice(with(&"x".repeat(200)));
    assert_eq!(
        (longer.body, longer.actions),
        ("x".repeat(200), Actions::ShowOrDeny(seen()))
    );
    let too_long = notice(with(&"x".repeat(201)));
    assert_eq!(
        (too_long.body.as_str(), too_long.actions),
        ("Open to see the arguments", Actions::ShowOrDeny(seen()))
    );
}

#[test]
fn what_a_desktop_may_take_for_markup_is_not_shown_as_arguments() {
    for text in ["<b>x</b>", "a > b", "&lt;"] {
        let notice = notice(with(text));
        assert_eq!(
            (notice.body.as_str(), notice.actions),
            ("Open to see the arguments", Actions::ShowOrDeny(seen()))
        );
    }
}

#[test]
fn what_is_not_whole_cannot_be_approved() {
    let along = notice(ApprovalRequest {
        extra: Some("{}".into()),
        ..request("1")
    });
    assert_eq!(along.actions, Actions::ShowOrDeny(seen()));
    let held = notice(ApprovalRequest {
        result: Some("{}".into()),
        ..request("1")
    });
    assert_eq!(held.title, "read_file of Files has answered claude");
    assert_eq!(held.actions, Actions::ShowOrDeny(seen()));
}

#[test]
fn several_calls_are_counted() {
    let notice = Notice::of(&[request("1"), request("2"), request("3")]).expect("three wait");
    assert_eq!(
        (notice.title.as_str(), notice.actions),
        ("3 calls wait for you", Actions::Show)
    );
    assert_eq!(Notice::of(&[]), None);
}

#[test]
fn a_click_holds_for_the_call_of_the_notification_only() {
    assert_eq!(choice("approve", Some(seen())), Choice::Approve(seen()));
    assert_eq!(choice("deny", Some(seen())), Choice::Deny(seen()));
    assert_eq!(choice("show", Some(seen())), Choice::ShowApprovals);
    assert_eq!(choice("tap", Some(seen())), Choice::ShowApprovals);
    assert_eq!(choice("approve", None), Choice::ShowApprovals);
}

#[test]
fn every_notification_has_its_buttons_registered() {
    let registered = |id| Button::SETS.iter().any(|(set, _)| *set == id);
    for actions in [
        Actions::Show,
        Actions::ShowOrDeny(seen()),
        Actions::ShowDenyOrApprove(seen()),
    ] {
        assert!(registered(actions.id()));
    }
    assert!(
        Button::SETS
            .iter()
            .all(|(_, buttons)| buttons[0] == Button::Show)
    );
}
