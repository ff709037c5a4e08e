//! The content of a notification, as plain data. At most one notification is open. Each
//! notification is about one of the subjects in [`NoticeKind`].

use drawbridge_model::{
    approval::ApprovalRequest,
    ids::{ClientName, ServerId, Timestamp},
    pairing::PairingRequest,
};

use crate::{
    alerts::Alert,
    input::{Choice, Screen},
    missed::AskedCall,
    summary::{self, CallRef},
    texts,
    tray::menu::format_time,
};

/// The maximum number of characters of arguments in a notification.
const MAX_BODY_CHARS: usize = 200;

/// The subject of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeKind {
    Approvals,
    Pairings,
    /// A client that was muted because the person missed its calls.
    MutedClient,
    MissedCalls,
    /// Servers that failed and are not started again soon.
    FailedServers,
    /// New or changed definitions that wait for acceptance.
    UnacceptedDefinitions,
    /// A newer release of the app.
    Update,
    /// How to reopen the app on a desktop without a tray.
    ReopenHint,
}

impl NoticeKind {
    /// All kinds, the most urgent first. Only the most urgent notification is shown.
    pub(crate) const BY_URGENCY: [Self; 8] = [
        Self::Approvals,
        Self::Pairings,
        Self::MutedClient,
        Self::MissedCalls,
        Self::FailedServers,
        Self::UnacceptedDefinitions,
        Self::Update,
        Self::ReopenHint,
    ];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) actions: Actions,
}

/// The buttons of a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Actions {
    Show,
    /// Shows the missed calls in the main window.
    ShowMissed,
    /// Shows the Approvals screen, which names the muted clients, or ends the mute.
    ShowOrUnmute(ClientName),
    /// Shows the page of a server in the main window.
    ShowServer(ServerId),
    /// Shows the Servers screen in the main window.
    ShowServers,
    /// Shows the Settings screen in the main window.
    ShowSettings,
    /// Opens the main window, or quits the app.
    OpenOrQuit,
    ShowOrDeny(CallRef),
    /// Used only if the notification shows the whole call.
    ShowDenyOrApprove(CallRef),
}

/// A button. On a click, the desktop reports the button's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Button {
    Show,
    Deny,
    Approve,
    Unmute,
    Quit,
}

impl Notice {
    /// Returns the notification for the waiting calls, or `None` if no call waits.
    pub(crate) fn for_waiting(waiting: &[ApprovalRequest]) -> Option<Self> {
        match waiting {
            [] => None,
            [request] => Some(Self::for_call(request)),
            _ => Some(Self {
                title: texts::calls_wait(waiting.len()),
                body: texts::OPEN_TO_SEE_CALLS.to_owned(),
                actions: Actions::Show,
            }),
        }
    }

    /// Returns the notification for the clients that ask to be paired, or `None` if no client asks.
    /// A person answers in the window, which shows the program behind the name.
    pub(crate) fn for_pairings(pairings: &[PairingRequest]) -> Option<Self> {
        let title = match pairings {
            [] => return None,
            [request] => texts::client_asks(&summary::display_name(&request.name)),
            _ => texts::clients_ask(pairings.len()),
        };
        Some(Self {
            title,
            body: texts::OPEN_TO_ANSWER.to_owned(),
            actions: Actions::Show,
        })
    }

    /// Returns the notification for a muted client. The mute ends at the given moment.
    pub(crate) fn for_muted((client, until): &(ClientName, Timestamp)) -> Self {
        Self {
            title: texts::client_muted(&summary::display_name(client.as_str())),
            body: texts::calls_refused_until(format_time(*until).as_deref()),
            actions: Actions::ShowOrUnmute(client.clone()),
        }
    }

    /// Returns the notification of a newer release.
    pub(crate) fn for_update(version: &str) -> Self {
        Self {
            title: texts::update_available(version),
            body: texts::OPEN_TO_SEE_UPDATE.to_owned(),
            actions: Actions::ShowSettings,
        }
    }

    /// Returns the notification that says how to reopen the app on a desktop without a tray.
    pub(crate) fn for_reopen_hint(title: &str, shortcut: Option<&str>) -> Self {
        Self {
            title: title.to_owned(),
            body: texts::reopen_hint(shortcut),
            actions: Actions::OpenOrQuit,
        }
    }

    /// Returns the notification for the missed calls, or `None` if there are none.
    pub(crate) fn for_missed(missed: &[AskedCall]) -> Option<Self> {
        let (title, body) = match missed {
            [] => return None,
            [call] => {
                let body = if has_no_markup(&call.sentence) {
                    texts::missed_call(&call.sentence)
                } else {
                    texts::ALLOW_RETRY.to_owned()
                };
                (texts::NOBODY_DECIDED.to_owned(), body)
            }
            _ => (
                texts::calls_missed(missed.len()),
                texts::ALLOW_RETRIES.to_owned(),
            ),
        };
        Some(Self {
            title,
            body,
            actions: Actions::ShowMissed,
        })
    }

    /// Returns the notification for servers that failed, or `None` if there are none.
    pub(crate) fn for_failed(alerts: &[&Alert]) -> Option<Self> {
        let [alert] = alerts else {
            return Self::for_servers(texts::servers_failed, alerts);
        };
        let reason = summary::display_line(&alert.reason);
        Some(Self {
            title: texts::server_failed(&alert.name),
            body: if !reason.is_empty() && has_no_markup(&reason) {
                reason
            } else {
                texts::OPEN_TO_SEE_REASON.to_owned()
            },
            actions: Actions::ShowServer(alert.server.clone()),
        })
    }

    /// Returns the notification for servers whose definitions wait for acceptance, or `None` if
    /// there are none.
    pub(crate) fn for_unaccepted_definitions(alerts: &[&Alert]) -> Option<Self> {
        let [alert] = alerts else {
            return Self::for_servers(texts::servers_changed, alerts);
        };
        Some(Self {
            title: texts::server_changed(&alert.name),
            body: texts::definitions_wait(alert.waiting),
            actions: Actions::ShowServer(alert.server.clone()),
        })
    }

    fn for_servers(title: fn(usize) -> String, alerts: &[&Alert]) -> Option<Self> {
        (!alerts.is_empty()).then(|| Self {
            title: title(alerts.len()),
            body: texts::OPEN_TO_SEE_SERVERS.to_owned(),
            actions: Actions::ShowServers,
        })
    }

    fn for_call(request: &ApprovalRequest) -> Self {
        let [client, tool] = [request.client.as_str(), &request.tool].map(summary::display_name);
        let server = summary::display_server(&request.server_name, &request.server);
        let call = CallRef::new(request);
        if request.result.is_some() {
            return Self {
                title: texts::ask_to_show_result(&client, &server, &tool),
                body: texts::OPEN_TO_SEE_RESULT.to_owned(),
                actions: Actions::ShowOrDeny(call),
            };
        }
        let arguments =
            summary::format_arguments(request, MAX_BODY_CHARS).filter(|line| has_no_markup(line));
        let is_whole = arguments.is_some() && summary::is_shown_in_full(request);
        Self {
            title: summary::format_sentence(request, &client, &server, &tool),
            body: arguments.unwrap_or_else(|| texts::OPEN_TO_SEE_ARGUMENTS.to_owned()),
            actions: if is_whole {
                Actions::ShowDenyOrApprove(call)
            } else {
                Actions::ShowOrDeny(call)
            },
        }
    }
}

/// Returns whether the text has no markup characters. Some desktops interpret the body as markup
/// and would hide its tags.
fn has_no_markup(line: &str) -> bool {
    !line.contains(['<', '>', '&'])
}

/// The names of the sets of buttons that [`parse_choice`] tells apart.
const SHOW_MISSED: &str = "show-missed";
const SHOW_UNMUTE: &str = "show-unmute";
const SHOW_SERVER: &str = "show-server";
const SHOW_SERVERS: &str = "show-servers";
const SHOW_SETTINGS: &str = "show-settings";
const OPEN_OR_QUIT: &str = "open-quit";

impl Actions {
    /// Returns the name of this set of buttons.
    pub(crate) const fn id(&self) -> &'static str {
        match self {
            Self::Show => "show",
            Self::ShowMissed => SHOW_MISSED,
            Self::ShowOrUnmute(_) => SHOW_UNMUTE,
            Self::ShowServer(_) => SHOW_SERVER,
            Self::ShowServers => SHOW_SERVERS,
            Self::ShowSettings => SHOW_SETTINGS,
            Self::OpenOrQuit => OPEN_OR_QUIT,
            Self::ShowOrDeny(_) => "show-deny",
            Self::ShowDenyOrApprove(_) => "show-deny-approve",
        }
    }

    pub(crate) const fn call(&self) -> Option<&CallRef> {
        match self {
            Self::Show
            | Self::ShowMissed
            | Self::ShowOrUnmute(_)
            | Self::ShowServer(_)
            | Self::ShowServers
            | Self::ShowSettings
            | Self::OpenOrQuit => None,
            Self::ShowOrDeny(call) | Self::ShowDenyOrApprove(call) => Some(call),
        }
    }

    pub(crate) const fn client(&self) -> Option<&ClientName> {
        if let Self::ShowOrUnmute(client) = self {
            Some(client)
        } else {
            None
        }
    }

    pub(crate) const fn server(&self) -> Option<&ServerId> {
        if let Self::ShowServer(server) = self {
            Some(server)
        } else {
            None
        }
    }
}

impl Button {
    /// The sets of buttons, by [`Actions::id`]. "Show" is the first, because a desktop that offers
    /// only one button uses the first action.
    pub(crate) const SETS: [(&'static str, &'static [Self]); 9] = [
        ("show", &[Self::Show]),
        (SHOW_MISSED, &[Self::Show]),
        (SHOW_UNMUTE, &[Self::Show, Self::Unmute]),
        (SHOW_SERVER, &[Self::Show]),
        (SHOW_SERVERS, &[Self::Show]),
        (SHOW_SETTINGS, &[Self::Show]),
        (OPEN_OR_QUIT, &[Self::Show, Self::Quit]),
        ("show-deny", &[Self::Show, Self::Deny]),
        (
            "show-deny-approve",
            &[Self::Show, Self::Deny, Self::Approve],
        ),
    ];

    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Show => "show",
            Self::Deny => "deny",
            Self::Approve => "approve",
            Self::Unmute => "unmute",
            Self::Quit => "quit",
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Show => texts::SHOW,
            Self::Deny => texts::DENY,
            Self::Approve => texts::APPROVE_ONCE,
            Self::Unmute => texts::UNMUTE,
            Self::Quit => texts::QUIT,
        }
    }
}

/// The call, client or server that a notification is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) call: Option<CallRef>,
    pub(crate) client: Option<ClientName>,
    pub(crate) server: Option<ServerId>,
}

/// Returns the choice for a click on a button of a set, or on the notification itself (`tap`).
/// Without a subject, the click can only show a screen or quit the app.
pub(crate) fn parse_choice(set: Option<&str>, action: &str, subject: Subject) -> Choice {
    let Subject {
        call,
        client,
        server,
    } = subject;
    match (action, call) {
        _ if set == Some(SHOW_SERVER) => {
            server.map_or(Choice::ShowScreen(Screen::Servers), Choice::ShowServer)
        }
        _ if set == Some(SHOW_SETTINGS) => Choice::ShowScreen(Screen::Settings),
        _ if set == Some(SHOW_SERVERS) => Choice::ShowScreen(Screen::Servers),
        _ if set == Some(SHOW_MISSED) => Choice::ShowMissed,
        _ if set == Some(SHOW_UNMUTE) => match client {
            Some(client) if action == "unmute" => Choice::Unmute(client),
            _ => Choice::ShowMissed,
        },
        ("quit", _) if set == Some(OPEN_OR_QUIT) => Choice::Quit,
        _ if set == Some(OPEN_OR_QUIT) => Choice::Open,
        ("deny", Some(call)) => Choice::Deny(call),
        ("approve", Some(call)) => Choice::Approve(call),
        _ => Choice::ShowApprovals,
    }
}

#[cfg(test)]
mod tests;
