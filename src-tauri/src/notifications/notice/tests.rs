use drawbridge_model::{
    approval::ApprovalRequest,
    ids::{ClientName, ServerId, Timestamp},
};

use super::{Actions, Button, Notice, Subject, parse_choice};
use crate::{
    alerts::{Alert, AlertKind},
    controller::tests::request,
    input::{Choice, Screen},
    missed::AskedCall,
    summary::CallRef,
};

fn about_call() -> Subject {
    Subject {
        call: Some(call_ref()),
        ..Subject::default()
    }
}

fn about_client(client: Option<ClientName>) -> Subject {
    Subject {
        client,
        ..Subject::default()
    }
}

fn about_server(server: Option<ServerId>) -> Subject {
    Subject {
        server,
        ..Subject::default()
    }
}

fn request_with(arguments: &str) -> ApprovalRequest {
    ApprovalRequest {
        arguments: arguments.into(),
        ..request("1")
    }
}

fn notice(request: ApprovalRequest) -> Notice {
    Notice::for_waiting(&[request]).expect("a call waits")
}

fn call_ref() -> CallRef {
    CallRef::new(&request("1"))
}

#[test]
fn a_call_that_fits_can_be_approved_in_its_notification() {
    let notice = notice(request_with(r#"{"path":"/tmp/a"}"#));
    assert_eq!(
        notice.title,
        "claude wants to call read_file of Files (ID files)"
    );
    assert_eq!(notice.body, r#"{"path":"/tmp/a"}"#);
    assert_eq!(notice.actions, Actions::ShowDenyOrApprove(call_ref()));
}

#[test]
fn a_server_whose_name_is_its_id_is_named_once() {
    let notice = notice(ApprovalRequest {
        server_name: "files".into(),
        ..request("1")
    });
    assert_eq!(notice.title, "claude wants to call read_file of files");
}

#[test]
fn longer_arguments_are_shown_and_very_long_arguments_are_not() {
    let longer = notice(request_with(&"x".repeat(200)));
    assert_eq!(
        (longer.body, longer.actions),
        ("x".repeat(200), Actions::ShowOrDeny(call_ref()))
    );
    let too_long = notice(request_with(&"x".repeat(201)));
    assert_eq!(
        (too_long.body.as_str(), too_long.actions),
        ("Open to see the arguments", Actions::ShowOrDeny(call_ref()))
    );
}

#[test]
fn arguments_that_could_be_markup_are_not_shown() {
    for text in ["<b>x</b>", "a > b", "&lt;"] {
        let notice = notice(request_with(text));
        assert_eq!(
            (notice.body.as_str(), notice.actions),
            ("Open to see the arguments", Actions::ShowOrDeny(call_ref()))
        );
    }
}

#[test]
fn a_call_that_is_shown_in_part_cannot_be_approved_in_its_notification() {
    let with_extra = notice(ApprovalRequest {
        extra: Some("{}".into()),
        ..request("1")
    });
    assert_eq!(with_extra.actions, Actions::ShowOrDeny(call_ref()));
    let held_result = notice(ApprovalRequest {
        result: Some("{}".into()),
        ..request("1")
    });
    assert_eq!(
        held_result.title,
        "Show the result of read_file of Files (ID files) to claude?"
    );
    assert_eq!(held_result.actions, Actions::ShowOrDeny(call_ref()));
}

#[test]
fn several_calls_are_counted() {
    let notice =
        Notice::for_waiting(&[request("1"), request("2"), request("3")]).expect("three calls wait");
    assert_eq!(
        (notice.title.as_str(), notice.actions),
        ("3 calls wait for you", Actions::Show)
    );
    assert_eq!(Notice::for_waiting(&[]), None);
}

fn missed_notice(missed: &[ApprovalRequest]) -> Option<Notice> {
    let missed: Vec<_> = missed.iter().map(AskedCall::new).collect();
    Notice::for_missed(&missed)
}

#[test]
fn a_missed_call_is_named() {
    let notice = missed_notice(&[request("1")]).expect("a call was missed");
    assert_eq!(notice.title, "Nobody decided in time");
    assert_eq!(
        notice.body,
        "claude wanted to call read_file of Files (ID files). You can allow a retry within two minutes."
    );
    assert_eq!(notice.actions, Actions::ShowMissed);
    let with_markup = missed_notice(&[ApprovalRequest {
        tool: "<b>x</b>".into(),
        ..request("1")
    }]);
    assert_eq!(
        with_markup.expect("a call was missed").body,
        "You can allow a retry within two minutes."
    );
}

#[test]
fn several_missed_calls_are_counted() {
    let notice = missed_notice(&[request("1"), request("2"), request("3")])
        .expect("three calls were missed");
    assert_eq!(
        (notice.title.as_str(), notice.actions),
        ("3 calls were missed", Actions::ShowMissed)
    );
    assert_eq!(missed_notice(&[]), None);
}

#[test]
fn a_muted_client_can_be_unmuted_in_its_notification() {
    let client = ClientName::new("claude");
    let notice = Notice::for_muted(&(client.clone(), Timestamp(0)));
    assert_eq!(notice.title, "claude is muted");
    assert!(
        notice.body.starts_with(
            "Nobody decided three of the client's requests in a row. Its requests that need your decision \
             are refused until 1 Jan, "
        ),
        "{}",
        notice.body
    );
    let set = Some(notice.actions.id());
    assert_eq!(
        parse_choice(
            set,
            "unmute",
            about_client(notice.actions.client().cloned())
        ),
        Choice::Unmute(client.clone())
    );
    for action in ["show", "tap"] {
        assert_eq!(
            parse_choice(set, action, about_client(Some(client.clone()))),
            Choice::ShowMissed
        );
    }
}

#[test]
fn a_click_applies_only_to_the_call_of_the_notification() {
    assert_eq!(
        parse_choice(None, "approve", about_call()),
        Choice::Approve(call_ref())
    );
    assert_eq!(
        parse_choice(None, "deny", about_call()),
        Choice::Deny(call_ref())
    );
    assert_eq!(
        parse_choice(None, "show", about_call()),
        Choice::ShowApprovals
    );
    assert_eq!(
        parse_choice(None, "tap", about_call()),
        Choice::ShowApprovals
    );
    assert_eq!(
        parse_choice(None, "approve", Subject::default()),
        Choice::ShowApprovals
    );
    for action in ["show", "tap"] {
        assert_eq!(
            parse_choice(Some(Actions::ShowMissed.id()), action, Subject::default()),
            Choice::ShowMissed
        );
    }
}

fn alert(server: &str, reason: &str, waiting: usize) -> Alert {
    Alert {
        kind: AlertKind::Failed,
        server: ServerId::new(server),
        name: server.into(),
        reason: reason.into(),
        waiting,
    }
}

#[test]
fn a_failed_server_is_named_with_its_reason_and_opens_its_page() {
    let files = alert("files", "exit code 7", 0);
    let notice = Notice::for_failed(&[&files]).expect("a server failed");
    assert_eq!(
        (notice.title.as_str(), notice.body.as_str()),
        ("files failed", "exit code 7")
    );
    let (set, server) = (notice.actions.id(), notice.actions.server().cloned());
    for action in ["show", "tap"] {
        assert_eq!(
            parse_choice(Some(set), action, about_server(server.clone())),
            Choice::ShowServer(ServerId::new("files"))
        );
    }
    let markup = alert("files", "<b>no</b>", 0);
    let notice = Notice::for_failed(&[&markup]).expect("a server failed");
    assert_eq!(notice.body, "Open to see the reason");
}

#[test]
fn several_servers_share_a_notification_that_opens_their_list() {
    let (files, shop) = (alert("files", "a", 2), alert("shop", "b", 1));
    let failed = Notice::for_failed(&[&files, &shop]).expect("two servers failed");
    assert_eq!(failed.title, "2 servers failed");
    let changed =
        Notice::for_unaccepted_definitions(&[&files, &shop]).expect("two servers changed");
    assert_eq!(changed.title, "2 servers changed their definitions");
    for notice in [failed, changed] {
        assert_eq!(
            parse_choice(Some(notice.actions.id()), "show", Subject::default()),
            Choice::ShowScreen(Screen::Servers)
        );
    }
    let changed = Notice::for_unaccepted_definitions(&[&files]).expect("a server changed");
    assert_eq!(
        (changed.title.as_str(), changed.body.as_str()),
        (
            "files changed its definitions",
            "2 new or changed definitions wait for your acceptance."
        )
    );
    assert_eq!(Notice::for_failed(&[]), None);
    assert_eq!(Notice::for_unaccepted_definitions(&[]), None);
}

#[test]
fn every_notification_has_its_buttons_registered() {
    let registered = |id| Button::SETS.iter().any(|(set, _)| *set == id);
    for actions in [
        Actions::Show,
        Actions::ShowMissed,
        Actions::ShowOrUnmute(ClientName::new("claude")),
        Actions::ShowServer(ServerId::new("files")),
        Actions::ShowServers,
        Actions::ShowSettings,
        Actions::OpenOrQuit,
        Actions::ShowOrDeny(call_ref()),
        Actions::ShowDenyOrApprove(call_ref()),
    ] {
        assert!(registered(actions.id()));
    }
    assert!(
        Button::SETS
            .iter()
            .all(|(_, buttons)| buttons[0] == Button::Show)
    );
}
