//! The content of the tray, as plain data that can be compared and tested without a desktop.

use drawbridge_hub::model::{approval::ApprovalRequest, server::ServerState};

use crate::{
    overview::{Overview, ServerLine},
    summary::{self, CallRef, MAX_LINE_CHARS, display_name},
};

/// The most approvals and servers in the menu. The windows show all of them.
const MAX_APPROVALS: usize = 5;
const MAX_SERVERS: usize = 8;

const PAUSED: &str = "All calls are paused";

/// The state that the tray's icon shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrayState {
    Idle,
    /// A call waits for a person.
    Waiting,
    Trouble,
    /// All calls are blocked.
    Paused,
}

/// A choice of the person in the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Open,
    ShowApprovals,
    /// Approve this call once.
    Approve(CallRef),
    Deny(CallRef),
    Pause,
    Resume,
    Quit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// Text that cannot be chosen.
    Line(String),
    Action(Choice, String),
    Menu(String, Vec<Item>),
    Separator,
}

/// The tray: its icon, the text beside it, and its menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrayView {
    pub(crate) state: TrayState,
    pub(crate) tooltip: String,
    /// The number of waiting calls, for trays that can show text beside their icon.
    pub(crate) title: Option<String>,
    pub(crate) items: Vec<Item>,
}

impl TrayView {
    pub(crate) fn new(overview: &Overview) -> Self {
        let status = status_line(overview);
        let mut items = vec![Item::Line(status.clone())];
        if let (false, Some(trouble)) = (
            overview.waiting.is_empty() && !overview.paused,
            &overview.trouble,
        ) {
            items.push(Item::Line(display_name(trouble)));
        }
        items.extend(approval_items(&overview.waiting));
        items.extend([
            Item::Separator,
            action(Choice::Open, "Open Drawbridge"),
            pause_item(overview.paused),
        ]);
        items.extend(server_items(&overview.servers));
        items.extend([Item::Separator, action(Choice::Quit, "Quit Drawbridge")]);
        let waiting = overview.waiting.len();
        Self {
            state: tray_state(overview),
            tooltip: status,
            title: (waiting > 0).then(|| waiting.to_string()),
            items,
        }
    }
}

fn tray_state(overview: &Overview) -> TrayState {
    match (
        overview.paused,
        overview.waiting.is_empty(),
        &overview.trouble,
    ) {
        (true, ..) => TrayState::Paused,
        (false, false, _) => TrayState::Waiting,
        (false, true, Some(_)) => TrayState::Trouble,
        (false, true, None) => TrayState::Idle,
    }
}

fn status_line(overview: &Overview) -> String {
    match (overview.paused, overview.waiting.len(), &overview.trouble) {
        (true, ..) => PAUSED.to_owned(),
        (false, 0, None) => "Drawbridge: idle".to_owned(),
        (false, 0, Some(trouble)) => format!("Drawbridge: {}", display_name(trouble)),
        (false, 1, _) => "1 call waits for you".to_owned(),
        (false, waiting, _) => format!("{waiting} calls wait for you"),
    }
}

fn action(choice: Choice, text: &str) -> Item {
    Item::Action(choice, text.to_owned())
}

fn pause_item(paused: bool) -> Item {
    if paused {
        action(Choice::Resume, "Resume calls")
    } else {
        action(Choice::Pause, "Pause all calls")
    }
}

fn approval_items(waiting: &[ApprovalRequest]) -> impl Iterator<Item = Item> {
    let more = waiting.len().saturating_sub(MAX_APPROVALS);
    let more = (more > 0).then(|| Item::Action(Choice::ShowApprovals, format!("{more} more…")));
    waiting
        .iter()
        .take(MAX_APPROVALS)
        .map(approval_submenu)
        .chain(more)
}

/// Returns the submenu of a waiting call: its arguments, if they fit into a line, and its actions.
fn approval_submenu(request: &ApprovalRequest) -> Item {
    let [client, server, tool] =
        [request.client.as_str(), &request.server_name, &request.tool].map(display_name);
    let mut items: Vec<Item> = detail_lines(request).into_iter().map(Item::Line).collect();
    items.extend([
        action(Choice::ShowApprovals, "Show…"),
        action(Choice::Deny(CallRef::new(request)), "Deny"),
    ]);
    if summary::is_complete(request) {
        items.push(action(
            Choice::Approve(CallRef::new(request)),
            "Approve once",
        ));
    }
    Item::Menu(format!("{client} → {server} · {tool}"), items)
}

fn detail_lines(request: &ApprovalRequest) -> Vec<String> {
    let too_long = || {
        format!(
            "{} characters of arguments",
            request.arguments.chars().count()
        )
    };
    let mut lines = vec![summary::arguments_line(request, MAX_LINE_CHARS).unwrap_or_else(too_long)];
    let has = [
        (request.extra.is_some(), "more is sent along"),
        (
            request.suspended.is_some(),
            "the tool or its server has changed since you allowed it",
        ),
        (
            request.changed.is_some(),
            "the tool has changed since you accepted it",
        ),
        (request.result.is_some(), "it has run, and its result waits"),
    ];
    lines.extend(
        has.into_iter()
            .filter(|(has, _)| *has)
            .map(|(_, words)| words.to_owned()),
    );
    lines
}

fn server_items(servers: &[ServerLine]) -> impl Iterator<Item = Item> {
    let first = (!servers.is_empty()).then_some(Item::Separator);
    let shown = servers.iter().take(MAX_SERVERS).map(|server| {
        Item::Line(format!(
            "{}: {}",
            display_name(&server.name),
            state_label(server.state)
        ))
    });
    let more = servers.len().saturating_sub(MAX_SERVERS);
    first
        .into_iter()
        .chain(shown)
        .chain((more > 0).then(|| Item::Line(format!("{more} more"))))
}

fn state_label(state: ServerState) -> &'static str {
    match state {
        ServerState::Idle => "idle",
        ServerState::Initializing => "starting",
        ServerState::Active => "connected",
        ServerState::Error => "in error",
        ServerState::Closed => "stopped",
        ServerState::Disabled => "off",
        ServerState::NeedsAcceptance => "waits for you to accept it",
        ServerState::NeedsSecret => "needs a secret",
        ServerState::NeedsSignIn => "waits for you to sign in",
    }
}

#[cfg(test)]
mod tests;
