use drawbridge_model::{
    approval::{ApprovalRequest, SuspendedAllow},
    content::{ContentFlag, FlagKind},
    ids::{ClientName, RuleId, ServerId},
};

use super::{display_name, format_arguments, is_shown_in_full};
use crate::controller::tests::request;

fn request_with(arguments: &str) -> ApprovalRequest {
    ApprovalRequest {
        arguments: arguments.into(),
        ..request("1")
    }
}

#[test]
fn names_cannot_hide_or_reorder_the_shown_text() {
    assert_eq!(
        display_name("a\u{202e}b\nc\u{200b}d"),
        "a\u{fffd}b\u{fffd}c\u{fffd}d"
    );
    assert_eq!(
        display_name(&"x".repeat(50)),
        format!("{}…", "x".repeat(40))
    );
}

#[test]
fn arguments_are_one_line_with_hidden_characters_made_visible() {
    assert_eq!(
        format_arguments(&request_with(r#"{"path":"/tmp/a"}"#), 120).as_deref(),
        Some(r#"{"path":"/tmp/a"}"#)
    );
    assert_eq!(
        format_arguments(&request_with("{\n}"), 120).as_deref(),
        Some("{⟨U+000A⟩}")
    );
    assert_eq!(
        format_arguments(&request_with("\u{202e}\u{3164}\u{a0}\u{2800}"), 120).as_deref(),
        Some("⟨U+202E⟩⟨U+3164⟩⟨U+00A0⟩⟨U+2800⟩")
    );
}

#[test]
fn arguments_that_do_not_fit_are_omitted_instead_of_truncated() {
    assert!(format_arguments(&request_with(&"x".repeat(120)), 120).is_some());
    assert_eq!(format_arguments(&request_with(&"x".repeat(121)), 120), None);
    assert_eq!(
        format_arguments(&request_with(&"\n".repeat(100)), 120),
        None,
        "the visible form of hidden characters is longer"
    );
}

#[test]
fn a_short_call_is_shown_in_full() {
    assert!(is_shown_in_full(&request_with(
        r#"{"path":"/tmp/a_b & <c>","text":"Grüße, Привет, 日本"}"#
    )));
    assert!(is_shown_in_full(&request_with(&"x".repeat(120))));
}

#[test]
fn a_call_with_a_hidden_part_is_not_shown_in_full() {
    assert!(
        !is_shown_in_full(&request_with(&"x".repeat(121))),
        "too long"
    );
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            extra: Some("{}".into()),
            ..request("1")
        }),
        "further parameters are sent along"
    );
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            result: Some("{}".into()),
            ..request("1")
        }),
        "a result waits"
    );
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            flags: vec![ContentFlag {
                kind: FlagKind::Instructions,
                place: "/description".into(),
                excerpt: "ignore".into(),
            }],
            ..request("1")
        }),
        "the definition is suspicious"
    );
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            tool: "x".repeat(41),
            ..request("1")
        }),
        "the tool's name is truncated"
    );
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            server: ServerId::new("x".repeat(41)),
            ..request("1")
        }),
        "the server's id is truncated"
    );
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            server_name: "a\u{200b}".into(),
            ..request("1")
        }),
        "the server's name has a hidden character"
    );
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            client: ClientName::new("a\u{202e}"),
            ..request("1")
        }),
        "the client's name reorders the text"
    );
}

#[test]
fn a_call_whose_tool_has_changed_is_not_shown_in_full() {
    let suspended_allow = SuspendedAllow {
        rule: RuleId::new("r"),
        rule_text: "allow".into(),
        is_server_changed: false,
        definitions: None,
    };
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            suspended: Some(suspended_allow),
            ..request("1")
        }),
        "an earlier allow no longer applies"
    );
    assert!(
        !is_shown_in_full(&ApprovalRequest {
            changed: Some(["{}".into(), "{}".into()]),
            ..request("1")
        }),
        "the offered definition differs from the accepted definition"
    );
}

#[test]
fn text_that_desktops_draw_differently_is_not_shown_in_full() {
    for text in [
        "a\u{202e}b",
        "a\u{200b}b",
        "\n",
        "\t",
        "a\u{a0}b",
        "a\u{3164}b",
        "a  b",
        "e\u{301}",
        "\u{5d0}",
        "\u{1f600}",
    ] {
        assert!(!is_shown_in_full(&request_with(text)), "{text:?}");
    }
}
