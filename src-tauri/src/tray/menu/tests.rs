use drawbridge_model::{approval::ApprovalRequest, ids::ServerId, server::ServerState};

use super::{Item, TrayState, TrayView};
use crate::{
    controller::tests::{pairing, request},
    input::Choice,
    overview::{Overview, ServerLine, Trouble},
    summary::CallRef,
};

fn servers(count: usize) -> Vec<ServerLine> {
    (0..count)
        .map(|i| ServerLine {
            id: ServerId::new(format!("server-{i}")),
            name: format!("server-{i}"),
            state: ServerState::Idle,
        })
        .collect()
}

fn line(text: &str) -> Item {
    Item::Line(text.to_owned())
}

fn action(choice: Choice, text: &str) -> Item {
    Item::Action(choice, text.to_owned())
}

#[test]
fn an_idle_tray_offers_to_open_and_to_quit() {
    let view = TrayView::new(&Overview::default());
    assert_eq!(view.state, TrayState::Idle);
    assert_eq!(view.tooltip, "No calls wait for you");
    assert_eq!(view.title, None);
    assert_eq!(
        view.items,
        [
            line("No calls wait for you"),
            Item::Separator,
            action(Choice::Open, "Open Drawbridge"),
            action(Choice::Pause, "Pause all calls"),
            Item::Separator,
            action(Choice::Quit, "Quit Drawbridge"),
        ]
    );
}

fn call_ref() -> CallRef {
    CallRef::new(&request("1"))
}

/// Returns the submenu of a waiting call.
fn submenu(request: ApprovalRequest) -> Vec<Item> {
    let view = TrayView::new(&Overview {
        waiting: vec![request],
        ..Overview::default()
    });
    let submenus = view.items.into_iter().filter_map(|item| {
        if let Item::Menu(_, items) = item {
            Some(items)
        } else {
            None
        }
    });
    submenus.flatten().collect()
}

fn can_be_approved(request: ApprovalRequest) -> bool {
    submenu(request)
        .iter()
        .any(|item| matches!(item, Item::Action(Choice::Approve(_), _)))
}

#[test]
fn a_waiting_call_is_listed_first_and_can_be_decided() {
    let trouble = Some(Trouble::Errors { servers: 1 });
    let waiting = vec![request("1")];
    let view = TrayView::new(&Overview {
        waiting,
        servers: servers(1),
        trouble,
        ..Overview::default()
    });
    assert_eq!(view.state, TrayState::Waiting);
    assert_eq!(view.title.as_deref(), Some("1"));
    assert_eq!(
        view.items,
        [
            line("1 call waits for you"),
            line("1 server has an error"),
            Item::Menu(
                "claude → Files (ID files) · read_file".into(),
                vec![
                    line("{}"),
                    action(Choice::ShowApprovals, "Show…"),
                    action(Choice::Deny(call_ref()), "Deny"),
                    action(Choice::Approve(call_ref()), "Approve once"),
                ]
            ),
            Item::Separator,
            action(Choice::Open, "Open Drawbridge"),
            action(Choice::Pause, "Pause all calls"),
            Item::Separator,
            line("server-0: Idle"),
            Item::Separator,
            action(Choice::Quit, "Quit Drawbridge"),
        ]
    );
}

#[test]
fn a_call_that_does_not_fit_is_shown_or_denied_but_not_approved() {
    let long = submenu(ApprovalRequest {
        arguments: "x".repeat(121),
        ..request("1")
    });
    assert_eq!(
        long,
        [
            line("121 characters of arguments"),
            action(Choice::ShowApprovals, "Show…"),
            action(Choice::Deny(call_ref()), "Deny"),
        ]
    );
}

#[test]
fn a_part_besides_the_arguments_is_mentioned_and_prevents_approval() {
    let with_extra = ApprovalRequest {
        extra: Some("{}".into()),
        ..request("1")
    };
    assert_eq!(
        submenu(with_extra.clone())[..2],
        [
            line("{}"),
            line("The call has parameters besides its name and arguments")
        ]
    );
    assert!(!can_be_approved(with_extra));
    let held_result = ApprovalRequest {
        result: Some("{}".into()),
        ..request("1")
    };
    assert_eq!(
        submenu(held_result.clone())[..2],
        [
            line("{}"),
            line("The call has run; its result waits for you")
        ]
    );
    assert!(!can_be_approved(held_result));
}

#[test]
fn hidden_characters_are_shown_and_not_approved() {
    let hiding = ApprovalRequest {
        arguments: "{\"a\":\"\u{202e}\"}".into(),
        ..request("1")
    };
    assert_eq!(submenu(hiding.clone())[0], line("{\"a\":\"⟨U+202E⟩\"}"));
    assert!(!can_be_approved(hiding));
}

#[test]
fn paused_calls_are_shown_before_everything_else() {
    let trouble = Some(Trouble::Errors { servers: 1 });
    let view = TrayView::new(&Overview {
        paused: true,
        trouble,
        ..Overview::default()
    });
    assert_eq!(view.state, TrayState::Paused);
    assert_eq!(view.tooltip, "All calls are paused");
    assert_eq!(
        view.items[..2],
        [line("All calls are paused"), line("1 server has an error")]
    );
    assert!(view.items.contains(&action(Choice::Resume, "Resume calls")));
    assert!(
        !view
            .items
            .contains(&action(Choice::Pause, "Pause all calls"))
    );
}

#[test]
fn trouble_is_named_in_the_first_line() {
    let view = TrayView::new(&Overview {
        trouble: Some(Trouble::NotListening {
            address: "[::1]:8765".into(),
        }),
        ..Overview::default()
    });
    assert_eq!(view.state, TrayState::Trouble);
    assert_eq!(view.items[0], line("Not listening on [::1]:8765"));
}

#[test]
fn a_server_has_the_label_of_its_state() {
    let server = |state| ServerLine {
        id: ServerId::new("files"),
        name: "Files".into(),
        state,
    };
    let view = TrayView::new(&Overview {
        servers: vec![
            server(ServerState::Active),
            server(ServerState::Closed),
            server(ServerState::NeedsSignIn),
        ],
        ..Overview::default()
    });
    for text in [
        "Files (ID files): Active",
        "Files (ID files): Closed",
        "Files (ID files): Needs sign-in",
    ] {
        assert!(view.items.contains(&line(text)), "{text}: {view:?}");
    }
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let waiting = (0..7).map(|id| request(&id.to_string())).collect();
    let view = TrayView::new(&Overview {
        waiting,
        servers: servers(10),
        ..Overview::default()
    });
    assert_eq!(
        view.items
            .iter()
            .filter(|item| matches!(item, Item::Menu(..)))
            .count(),
        5
    );
    assert!(
        view.items
            .contains(&action(Choice::ShowApprovals, "2 more…"))
    );
    assert!(view.items.contains(&line("2 more")));
}

#[test]
fn a_client_that_asks_to_be_paired_opens_the_window() {
    let view = TrayView::new(&Overview {
        pairings: vec![pairing("notes")],
        trouble: Some(Trouble::Errors { servers: 1 }),
        ..Overview::default()
    });
    assert_eq!(view.state, TrayState::Waiting);
    assert_eq!(view.title, None, "no call waits");
    assert_eq!(
        view.items[..3],
        [
            line("1 client asks to be paired"),
            line("1 server has an error"),
            action(Choice::Open, "notes asks to be paired…"),
        ]
    );
}
