//! The content of the tray, as plain data that can be compared and tested without a desktop.

use std::iter;

use drawbridge_model::{
    approval::ApprovalRequest, pairing::PairingRequest, protocol::guarded::GuardedMethod,
};

use crate::{
    input::Choice,
    overview::{Overview, ServerLine},
    summary::{self, CallRef, MAX_LINE_CHARS, display_line, display_name, display_server},
    texts,
};

/// The most approvals and servers in the menu. The windows show all of them.
const MAX_APPROVALS: usize = 5;
const MAX_SERVERS: usize = 8;

/// The state that the tray's icon shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrayState {
    Idle,
    /// A call or a client waits for a person.
    Waiting,
    Trouble,
    /// All calls are blocked.
    Paused,
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
        let is_trouble_in_status = !is_waiting(overview) && !overview.paused;
        if let (false, Some(trouble)) = (is_trouble_in_status, &overview.trouble) {
            items.push(Item::Line(display_line(&texts::trouble(trouble))));
        }
        items.extend(approval_items(&overview.waiting));
        items.extend(overview.pairings.iter().map(pairing_item));
        items.extend([
            Item::Separator,
            action(Choice::Open, texts::OPEN),
            pause_item(overview.paused),
        ]);
        items.extend(server_items(&overview.servers));
        items.extend([Item::Separator, action(Choice::Quit, texts::QUIT)]);
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
    match (overview.paused, is_waiting(overview), &overview.trouble) {
        (true, ..) => TrayState::Paused,
        (false, true, _) => TrayState::Waiting,
        (false, false, Some(_)) => TrayState::Trouble,
        (false, false, None) => TrayState::Idle,
    }
}

/// Returns whether a call or a client waits for a person.
fn is_waiting(overview: &Overview) -> bool {
    !overview.waiting.is_empty() || !overview.pairings.is_empty()
}

fn status_line(overview: &Overview) -> String {
    match (overview.paused, overview.waiting.len(), &overview.trouble) {
        (true, ..) => texts::ALL_CALLS_PAUSED.to_owned(),
        (false, 0, _) if !overview.pairings.is_empty() => {
            texts::clients_ask(overview.pairings.len())
        }
        (false, 0, Some(trouble)) => display_line(&texts::trouble(trouble)),
        (false, waiting, _) => texts::calls_wait(waiting),
    }
}

fn action(choice: Choice, text: &str) -> Item {
    Item::Action(choice, text.to_owned())
}

fn pause_item(paused: bool) -> Item {
    if paused {
        action(Choice::Resume, texts::RESUME_CALLS)
    } else {
        action(Choice::Pause, texts::PAUSE_ALL_CALLS)
    }
}

fn approval_items(waiting: &[ApprovalRequest]) -> impl Iterator<Item = Item> {
    let more = waiting.len().saturating_sub(MAX_APPROVALS);
    let more = (more > 0).then(|| Item::Action(Choice::ShowApprovals, texts::show_more(more)));
    waiting
        .iter()
        .take(MAX_APPROVALS)
        .map(approval_submenu)
        .chain(more)
}

/// Returns the item of a client that asks to be paired. It opens the window, which shows what a
/// person has to know for a decision.
fn pairing_item(request: &PairingRequest) -> Item {
    let label = texts::client_asks(&display_name(&request.name));
    Item::Action(Choice::Open, format!("{label}…"))
}

/// Returns the submenu of a waiting call: its arguments, if they fit into a line, and its actions.
fn approval_submenu(request: &ApprovalRequest) -> Item {
    let [client, tool] = [request.client.as_str(), &request.tool].map(display_name);
    let server = display_server(&request.server_name, &request.server);
    let mut items: Vec<Item> = detail_lines(request).into_iter().map(Item::Line).collect();
    items.extend([
        action(Choice::ShowApprovals, texts::SHOW_CALL),
        action(Choice::Deny(CallRef::new(request)), texts::DENY),
    ]);
    if summary::is_complete(request) {
        items.push(action(
            Choice::Approve(CallRef::new(request)),
            texts::APPROVE_ONCE,
        ));
    }
    let label = if request.method == GuardedMethod::CallTool {
        texts::call_label(&client, &server, &tool)
    } else {
        summary::sentence(request, &client, &server, &tool)
    };
    Item::Menu(label, items)
}

fn detail_lines(request: &ApprovalRequest) -> Vec<String> {
    let arguments = summary::arguments_line(request, MAX_LINE_CHARS)
        .unwrap_or_else(|| texts::argument_length(request.arguments.chars().count()));
    let notes = [
        (request.extra.is_some(), texts::HAS_EXTRA_PARAMS),
        (request.suspended.is_some(), texts::CHANGED_SINCE_ALLOWED),
        (request.changed.is_some(), texts::CHANGED_SINCE_ACCEPTED),
        (request.result.is_some(), texts::RESULT_WAITS),
    ];
    let notes = notes
        .into_iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, note)| note.to_owned());
    iter::once(arguments).chain(notes).collect()
}

fn server_items(servers: &[ServerLine]) -> impl Iterator<Item = Item> {
    let first = (!servers.is_empty()).then_some(Item::Separator);
    let lines = servers.iter().take(MAX_SERVERS).map(|server| {
        Item::Line(texts::server_state(
            &display_server(&server.name, &server.id),
            server.state.label(),
        ))
    });
    let more = servers.len().saturating_sub(MAX_SERVERS);
    first
        .into_iter()
        .chain(lines)
        .chain((more > 0).then(|| Item::Line(texts::more_servers(more))))
}

#[cfg(test)]
mod tests;
