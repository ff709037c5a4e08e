//! The content of the tray, as plain data that can be compared and tested without a desktop.

use std::iter;

use drawbridge_model::{
    approval::ApprovalRequest,
    clock,
    ids::{ClientName, ServerId, Timestamp},
    pairing::PairingRequest,
    protocol::guarded::GuardedMethod,
};
use jiff::tz::TimeZone;

use crate::{
    input::{Choice, Screen},
    overview::{Overview, ServerLine},
    summary::{self, CallRef, MAX_LINE_CHARS, display_line, display_name, display_server},
    texts,
};

/// The maximum numbers of approvals and of servers in the menu. The windows show all approvals and
/// servers.
const MAX_APPROVALS: usize = 5;
const MAX_SERVERS: usize = 8;

const QUARTER_HOUR_S: u32 = 15 * 60;
const HOUR_S: u32 = 3600;

/// The state that the tray's icon shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrayState {
    Idle,
    /// A request, a result or a client waits for a person.
    Waiting,
    Trouble,
    /// All calls are blocked.
    Paused,
}

/// An item of the menu, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// Text that cannot be chosen.
    Line(String),
    Action(Choice, String),
    /// A submenu.
    Menu(String, Vec<Item>),
    Separator,
}

/// The tray: its icon, its tooltip, the text beside the icon, and its menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrayView {
    pub(crate) state: TrayState,
    pub(crate) tooltip: String,
    /// The number of pending approvals, for trays that can show text beside their icon.
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
        items.extend(
            overview
                .muted
                .iter()
                .map(|(client, until)| unmute_item(client, *until)),
        );
        items.extend([
            Item::Separator,
            action(Choice::Open, texts::OPEN),
            action(Choice::ShowScreen(Screen::Calls), texts::CALLS),
            action(Choice::ShowScreen(Screen::Settings), texts::SETTINGS),
        ]);
        if overview.url.is_some() {
            items.push(action(Choice::CopyEndpoint, texts::COPY_ENDPOINT));
        }
        items.extend([Item::Separator, pause_item(overview.paused)]);
        items.extend(server_items(overview));
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

/// Returns whether a request, a result or a client waits for a person.
fn is_waiting(overview: &Overview) -> bool {
    !overview.waiting.is_empty() || !overview.pairings.is_empty()
}

fn status_line(overview: &Overview) -> String {
    match (overview.paused, overview.waiting.len(), &overview.trouble) {
        (true, ..) => overview
            .resumes_at
            .and_then(format_time)
            .map_or(texts::ALL_CALLS_PAUSED.to_owned(), |time| {
                texts::all_calls_paused_until(&time)
            }),
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
        let pause = |seconds, text| action(Choice::Pause(seconds), text);
        Item::Menu(
            texts::PAUSE_ALL_CALLS.to_owned(),
            vec![
                pause(Some(QUARTER_HOUR_S), texts::PAUSE_QUARTER_HOUR),
                pause(Some(HOUR_S), texts::PAUSE_HOUR),
                pause(None, texts::PAUSE_UNTIL_RESUMED),
            ],
        )
    }
}

/// Returns the local time of day of a moment, with the date if the moment is not today. Returns
/// `None` if the moment is outside the range of the calendar.
pub(crate) fn format_time(at: Timestamp) -> Option<String> {
    let zone = TimeZone::system();
    let local = |at: Timestamp| {
        let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
        Some(at.to_zoned(zone.clone()))
    };
    let (time, now) = (local(at)?, local(clock::now())?);
    let format = if time.date() == now.date() {
        "%H:%M"
    } else {
        "%-d %b, %H:%M"
    };
    Some(time.strftime(format).to_string())
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

/// Returns the item of a client that asks to be paired. The item opens the window, which shows the
/// facts that a person needs for a decision.
fn pairing_item(request: &PairingRequest) -> Item {
    let label = texts::client_asks(&display_name(&request.name));
    Item::Action(Choice::Open, format!("{label}…"))
}

/// Returns the item that lets a muted client ask again.
fn unmute_item(client: &ClientName, until: Timestamp) -> Item {
    let label = texts::unmute(
        &display_name(client.as_str()),
        format_time(until).as_deref(),
    );
    Item::Action(Choice::Unmute(client.clone()), label)
}

/// Returns the submenu of a waiting request: its arguments or, if they do not fit into a line,
/// their length, then notes about the request, and its actions.
fn approval_submenu(request: &ApprovalRequest) -> Item {
    let [client, tool] = [request.client.as_str(), &request.tool].map(display_name);
    let server = display_server(&request.server_name, &request.server);
    let mut items: Vec<Item> = detail_lines(request).into_iter().map(Item::Line).collect();
    items.extend([
        action(Choice::ShowApprovals, texts::SHOW_CALL),
        action(Choice::Deny(CallRef::new(request)), texts::DENY),
    ]);
    if summary::is_shown_in_full(request) {
        items.push(action(
            Choice::Approve(CallRef::new(request)),
            texts::APPROVE_ONCE,
        ));
    }
    let label = if request.method == GuardedMethod::CallTool {
        texts::call_label(&client, &server, &tool)
    } else {
        summary::format_sentence(request, &client, &server, &tool)
    };
    Item::Menu(label, items)
}

fn detail_lines(request: &ApprovalRequest) -> Vec<String> {
    let arguments = summary::format_arguments(request, MAX_LINE_CHARS)
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

/// Returns a separator and an item for each of at most [`MAX_SERVERS`] servers, preferably those
/// that were used last. Each item opens its server's page. If there are more servers, one more item
/// opens the list of all servers. The items keep the order of that list, so that a call seldom
/// changes the menu while it is open.
fn server_items(overview: &Overview) -> impl Iterator<Item = Item> {
    let servers = &overview.servers;
    let separator = (!servers.is_empty()).then_some(Item::Separator);
    let lines = select_recent(servers, &overview.recent).map(|server| {
        Item::Action(
            Choice::ShowServer(server.id.clone()),
            texts::server_state(
                &display_server(&server.name, &server.id),
                server.state.label(),
            ),
        )
    });
    let more = servers.len().saturating_sub(MAX_SERVERS);
    let more = (more > 0)
        .then(|| Item::Action(Choice::ShowScreen(Screen::Servers), texts::show_more(more)));
    separator.into_iter().chain(lines).chain(more)
}

/// Selects at most [`MAX_SERVERS`] servers, preferably those of `recent`, and returns them in the
/// order of `servers`.
fn select_recent<'a>(
    servers: &'a [ServerLine],
    recent: &[ServerId],
) -> impl Iterator<Item = &'a ServerLine> {
    let rank = |server: &ServerLine| {
        let position = recent.iter().position(|id| *id == server.id);
        position.unwrap_or(usize::MAX)
    };
    let mut selected: Vec<(usize, &ServerLine)> = servers.iter().enumerate().collect();
    selected.sort_by_key(|(_, server)| rank(server));
    selected.truncate(MAX_SERVERS);
    selected.sort_by_key(|(position, _)| *position);
    selected.into_iter().map(|(_, server)| server)
}

#[cfg(test)]
mod tests;
