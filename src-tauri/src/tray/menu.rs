//! What the tray shows, as plain data that can be compared and tested without a desktop.

use drawbridge_hub::model::{approval::ApprovalRequest, server::ServerState};

use crate::overview::{Overview, ServerLine};

/// Approvals and servers in the menu; the windows show them all.
const APPROVALS: usize = 5;
const SERVERS: usize = 8;
/// Characters of a name that others chose.
const NAME: usize = 40;

/// The state at a glance: which icon stands in the tray.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrayState {
    Idle,
    /// A call waits for a person.
    Waiting,
    Trouble,
}

/// What a person can choose in the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Open,
    ShowApprovals,
    Quit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// Text that cannot be chosen.
    Line(String),
    Action(Choice, String),
    Separator,
}

/// The tray: its icon, the words beside it, its menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrayView {
    pub(crate) state: TrayState,
    pub(crate) tooltip: String,
    /// How many calls wait, where a tray can show text beside its icon.
    pub(crate) title: Option<String>,
    pub(crate) items: Vec<Item>,
}

impl TrayView {
    pub(crate) fn of(overview: &Overview) -> Self {
        let status = status(overview);
        let mut items = vec![Item::Line(status.clone())];
        if let (false, Some(trouble)) = (overview.waiting.is_empty(), &overview.trouble) {
            items.push(Item::Line(plain(trouble)));
        }
        items.extend(approvals(&overview.waiting));
        items.extend([Item::Separator, Item::Action(Choice::Open, "Open Drawbridge".to_owned())]);
        items.extend(servers(&overview.servers));
        items.extend([Item::Separator, Item::Action(Choice::Quit, "Quit Drawbridge".to_owned())]);
        let waiting = overview.waiting.len();
        Self { state: state(overview), tooltip: status, title: (waiting > 0).then(|| waiting.to_string()), items }
    }
}

fn state(overview: &Overview) -> TrayState {
    match (overview.waiting.is_empty(), &overview.trouble) {
        (false, _) => TrayState::Waiting,
        (true, Some(_)) => TrayState::Trouble,
        (true, None) => TrayState::Idle,
    }
}

fn status(overview: &Overview) -> String {
    match (overview.waiting.len(), &overview.trouble) {
        (0, None) => "Drawbridge: idle".to_owned(),
        (0, Some(trouble)) => format!("Drawbridge: {}", plain(trouble)),
        (1, _) => "1 call waits for you".to_owned(),
        (waiting, _) => format!("{waiting} calls wait for you"),
    }
}

fn approvals(waiting: &[ApprovalRequest]) -> impl Iterator<Item = Item> {
    let action = |text| Item::Action(Choice::ShowApprovals, text);
    let shown = waiting.iter().take(APPROVALS).map(move |request| {
        let (client, server) = (plain(request.client.as_str()), plain(&request.server_name));
        action(format!("{client} → {server} · {}…", plain(&request.tool)))
    });
    let more = waiting.len().saturating_sub(APPROVALS);
    shown.chain((more > 0).then(|| action(format!("{more} more…"))))
}

fn servers(servers: &[ServerLine]) -> impl Iterator<Item = Item> {
    let first = (!servers.is_empty()).then_some(Item::Separator);
    let shown = servers
        .iter()
        .take(SERVERS)
        .map(|server| Item::Line(format!("{}: {}", plain(&server.name), words(server.state))));
    let more = servers.len().saturating_sub(SERVERS);
    first.into_iter().chain(shown).chain((more > 0).then(|| Item::Line(format!("{more} more"))))
}

fn words(state: ServerState) -> &'static str {
    match state {
        ServerState::Idle => "idle",
        ServerState::Initializing => "starting",
        ServerState::Active => "connected",
        ServerState::Error => "in error",
        ServerState::Closed => "stopped",
        ServerState::Disabled => "off",
        ServerState::NeedsApproval => "waits for you to accept it",
        ServerState::NeedsSecret => "needs a secret",
        ServerState::NeedsSignIn => "waits for you to sign in",
    }
}

/// A name that a client or a server chose, cut, with what would hide or reorder text made visible.
fn plain(text: &str) -> String {
    let mut plain: String = text.chars().take(NAME).map(|c| if hides(c) { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(NAME).is_some() {
        plain.push('…');
    }
    plain
}

/// Control characters, zero-width characters and bidi controls (Unicode `Cc`, and the `Cf` that matter).
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
