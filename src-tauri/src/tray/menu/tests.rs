use std::time::Duration;

use drawbridge_model::{
    approval::ApprovalRequest,
    clock,
    ids::{ClientName, ServerId},
    server::ServerState,
};

use super::{Item, TrayState, TrayView};
use crate::{
    controller::tests::{pairing, request},
    input::{Choice, Screen},
    overview::{Overview, ServerLine, Trouble, tests::server_line},
    summary::CallRef,
    texts,
};

fn servers(count: usize) -> Vec<ServerLine> {
    (0..count)
        .map(|i| format!("server-{i}"))
        .map(|id| server_line(&id, &id, ServerState::Idle))
        .collect()
}

fn line(text: &str) -> Item {
    Item::Line(text.to_owned())
}

fn action(choice: Choice, text: &str) -> Item {
    Item::Action(choice, text.to_owned())
}

fn server_item(id: &str, text: &str) -> Item {
    action(Choice::ShowServer(ServerId::new(id)), text)
}

fn pause_menu() -> Item {
    Item::Menu(
        "Pause all calls".into(),
        vec![
            action(Choice::Pause(Some(900)), "For 15 minutes"),
            action(Choice::Pause(Some(3600)), "For an hour"),
            action(Choice::Pause(None), "Until you resume calls"),
        ],
    )
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
            action(Choice::ShowScreen(Screen::Calls), "Calls"),
            action(Choice::ShowScreen(Screen::Settings), "Settings"),
            Item::Separator,
            pause_menu(),
            Item::Separator,
            action(Choice::Quit, "Quit Drawbridge"),
        ]
    );
}

#[test]
fn a_muted_client_can_be_unmuted_in_the_menu() {
    let client = ClientName::new("cursor");
    let until = clock::now();
    let view = TrayView::new(&Overview {
        muted: vec![(client.clone(), until)],
        ..Overview::default()
    });
    let time = super::format_time(until).expect("a time of day");
    let item = action(
        Choice::Unmute(client),
        &format!("Unmute cursor (muted until {time})"),
    );
    assert!(view.items.contains(&item), "{:?}", view.items);
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
        if let Item::Menu(label, items) = item
            && label != texts::PAUSE_ALL_CALLS
        {
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
            action(Choice::ShowScreen(Screen::Calls), "Calls"),
            action(Choice::ShowScreen(Screen::Settings), "Settings"),
            Item::Separator,
            pause_menu(),
            Item::Separator,
            server_item("server-0", "server-0: Idle"),
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
fn hidden_characters_are_shown_and_prevent_approval() {
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
    assert!(!view.items.contains(&pause_menu()));
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
    let server = |state| server_line("files", "Files", state);
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
        let item = server_item("files", text);
        assert!(view.items.contains(&item), "{text}: {view:?}");
    }
}

#[test]
fn long_lists_are_cut_and_count_the_rest() {
    let waiting = (0..7).map(|id| request(&id.to_string())).collect();
    let view = TrayView::new(&Overview {
        waiting,
        servers: servers(10),
        ..Overview::default()
    });
    assert_eq!(
        view.items
            .iter()
            .filter(|item| matches!(item, Item::Menu(label, _) if *label != texts::PAUSE_ALL_CALLS))
            .count(),
        5
    );
    assert!(
        view.items
            .contains(&action(Choice::ShowApprovals, "2 more…"))
    );
    let more_servers = action(Choice::ShowScreen(Screen::Servers), "2 more…");
    assert!(view.items.contains(&more_servers));
}

#[test]
fn the_servers_used_last_are_listed_in_the_order_of_all_servers() {
    let view = TrayView::new(&Overview {
        servers: servers(10),
        recent: vec![ServerId::new("server-9"), ServerId::new("server-0")],
        ..Overview::default()
    });
    let listed: Vec<&str> = view
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Action(Choice::ShowServer(id), _) => Some(id.as_str()),
            Item::Action(..) | Item::Line(_) | Item::Menu(..) | Item::Separator => None,
        })
        .collect();
    let expected = [0, 1, 2, 3, 4, 5, 6, 9].map(|i| format!("server-{i}"));
    assert_eq!(listed, expected);
}

#[test]
fn a_pause_with_an_end_names_the_end_in_the_first_line() {
    let later = clock::time_after(Duration::from_secs(900));
    let view = TrayView::new(&Overview {
        paused: true,
        resumes_at: Some(later),
        ..Overview::default()
    });
    assert!(
        view.tooltip.starts_with("All calls are paused until ") && view.tooltip.contains(':'),
        "{}",
        view.tooltip
    );
}

#[test]
fn the_address_is_offered_if_the_hub_listens() {
    let copy = action(Choice::CopyEndpoint, "Copy endpoint address");
    let offers = |url: Option<&str>| {
        let overview = Overview {
            url: url.map(str::to_owned),
            ..Overview::default()
        };
        TrayView::new(&overview).items.contains(&copy)
    };
    assert!(offers(Some("http://127.0.0.1:8765/mcp")));
    assert!(!offers(None));
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
