//! The texts that people read in the tray, in notifications, in window titles and in the desktop's
//! list of shortcuts, in English. The labels of states are the hub's (`ServerState::label` and
//! others), and the texts of the pages are in `ui/src/texts`.

use crate::overview::Trouble;

pub(crate) const PRODUCT_NAME: &str = "Drawbridge";
/// The title of the popup.
pub(crate) const CALL_WAITS: &str = "Drawbridge: a call waits for you";

/// The description of the global shortcut, for the desktop that binds it.
pub(crate) const SHORTCUT: &str = "Show the calls that wait for you in Drawbridge";

pub(crate) const OPEN: &str = "Open Drawbridge";
pub(crate) const QUIT: &str = "Quit Drawbridge";
/// The items that open a screen of the main window.
pub(crate) const CALLS: &str = "Calls";
pub(crate) const SETTINGS: &str = "Settings";
pub(crate) const COPY_ENDPOINT: &str = "Copy endpoint address";
pub(crate) const PAUSE_ALL_CALLS: &str = "Pause all calls";
/// The items below [`PAUSE_ALL_CALLS`].
pub(crate) const PAUSE_QUARTER_HOUR: &str = "For 15 minutes";
pub(crate) const PAUSE_HOUR: &str = "For an hour";
pub(crate) const PAUSE_UNTIL_RESUMED: &str = "Until you resume calls";
pub(crate) const RESUME_CALLS: &str = "Resume calls";
pub(crate) const ALL_CALLS_PAUSED: &str = "All calls are paused";
pub(crate) const NO_CALLS_WAIT: &str = "No calls wait for you";

pub(crate) const APPROVE_ONCE: &str = "Approve once";
pub(crate) const DENY: &str = "Deny";
/// The button of a notification that ends a client's mute.
pub(crate) const UNMUTE: &str = "Unmute";
/// The button of a notification that opens the screen with the notification's subject.
pub(crate) const SHOW: &str = "Show";
/// The menu item that opens the approvals.
pub(crate) const SHOW_CALL: &str = "Show…";

pub(crate) const HAS_EXTRA_PARAMS: &str = "The call has parameters besides its name and arguments";
pub(crate) const CHANGED_SINCE_ALLOWED: &str =
    "The tool or its server changed since you allowed it";
pub(crate) const CHANGED_SINCE_ACCEPTED: &str = "The tool changed since you accepted it";
pub(crate) const RESULT_WAITS: &str = "The call has run; its result waits for you";

pub(crate) const OPEN_TO_ANSWER: &str = "Open the Clients screen to answer";
pub(crate) const OPEN_TO_SEE_CALLS: &str = "Open to see the calls";
pub(crate) const OPEN_TO_SEE_RESULT: &str = "Open to see the result";
pub(crate) const OPEN_TO_SEE_ARGUMENTS: &str = "Open to see the arguments";

/// The title of the notification of a missed call.
pub(crate) const NOBODY_DECIDED: &str = "Nobody decided in time";
/// The last sentence about a missed call, or the only sentence if its names cannot be shown.
pub(crate) const ALLOW_RETRY: &str = "You can allow a retry within two minutes.";
pub(crate) const ALLOW_RETRIES: &str =
    "Nobody decided in time. You can allow a retry of each call within two minutes.";

pub(crate) const NO_TRAY_ICONS: &str = "Your desktop shows no tray icons";
pub(crate) const KEEPS_RUNNING: &str = "Drawbridge keeps running";

/// Says how to reopen the app without a tray. `shortcut` is the global shortcut, if it works.
pub(crate) fn reopen_hint(shortcut: Option<&str>) -> String {
    let pending = shortcut.map_or(String::new(), |shortcut| {
        format!(" {shortcut} shows the pending calls.")
    });
    format!(
        "Drawbridge also runs without a window. To see its screens, start Drawbridge again, or run drawbridge open in a terminal.{pending}"
    )
}

/// `time` is a time of day.
pub(crate) fn all_calls_paused_until(time: &str) -> String {
    format!("{ALL_CALLS_PAUSED} until {time}")
}

/// `sentence` names the client and its request.
pub(crate) fn missed_call(sentence: &str) -> String {
    format!("{sentence}. {ALLOW_RETRY}")
}

/// The title of the notification of a muted client.
pub(crate) fn client_muted(client: &str) -> String {
    format!("{client} is muted")
}

/// The menu item that ends the mute of a client. `until` is a time of day.
pub(crate) fn unmute(client: &str, until: Option<&str>) -> String {
    let until = until
        .map(|time| format!(" (muted until {time})"))
        .unwrap_or_default();
    format!("Unmute {client}{until}")
}

/// `until` is a time of day.
pub(crate) fn calls_refused_until(until: Option<&str>) -> String {
    let until = until
        .map(|time| format!(" until {time}"))
        .unwrap_or_default();
    format!(
        "Nobody decided three of the client's requests in a row. Its requests that need your \
         decision are refused{until}."
    )
}

pub(crate) fn calls_missed(count: usize) -> String {
    match count {
        1 => "1 call was missed".to_owned(),
        count => format!("{count} calls were missed"),
    }
}

pub(crate) const OPEN_TO_SEE_UPDATE: &str = "Open the settings to see what is new";

/// Names a newer release.
pub(crate) fn update_available(version: &str) -> String {
    format!("{PRODUCT_NAME} {version} is available")
}

pub(crate) const OPEN_TO_SEE_REASON: &str = "Open to see the reason";
pub(crate) const OPEN_TO_SEE_SERVERS: &str = "Open to see the servers";

pub(crate) fn server_failed(server: &str) -> String {
    format!("{server} failed")
}

pub(crate) fn servers_failed(count: usize) -> String {
    format!("{count} servers failed")
}

/// Names a server whose definitions wait for acceptance.
pub(crate) fn server_changed(server: &str) -> String {
    format!("{server} changed its definitions")
}

pub(crate) fn servers_changed(count: usize) -> String {
    format!("{count} servers changed their definitions")
}

/// Says how many definitions of a server wait for acceptance.
pub(crate) fn definitions_wait(count: usize) -> String {
    match count {
        1 => "1 new or changed definition waits for your acceptance.".to_owned(),
        count => format!("{count} new or changed definitions wait for your acceptance."),
    }
}

pub(crate) fn calls_wait(count: usize) -> String {
    match count {
        0 => NO_CALLS_WAIT.to_owned(),
        1 => "1 call waits for you".to_owned(),
        count => format!("{count} calls wait for you"),
    }
}

pub(crate) fn clients_ask(count: usize) -> String {
    match count {
        1 => "1 client asks to be paired".to_owned(),
        count => format!("{count} clients ask to be paired"),
    }
}

/// Names a client that asks to be paired.
pub(crate) fn client_asks(name: &str) -> String {
    format!("{name} asks to be paired")
}

pub(crate) fn trouble(trouble: &Trouble) -> String {
    match trouble {
        Trouble::NoAnswer { error } => format!("Drawbridge does not answer: {error}"),
        Trouble::NotListening { address } => format!("Not listening on {address}"),
        Trouble::CheckFailed { check } if check == "disk" => "The disk is almost full".to_owned(),
        Trouble::CheckFailed { check } => {
            format!("A check of Drawbridge failed: {check}. Run drawbridge health")
        }
        Trouble::Errors { servers: 1 } => "1 server has an error".to_owned(),
        Trouble::Errors { servers } => format!("{servers} servers have an error"),
        Trouble::NeedsAttention => "Some servers need attention".to_owned(),
    }
}

/// Names a waiting call in the menu.
pub(crate) fn call_label(client: &str, server: &str, tool: &str) -> String {
    format!("{client} → {server} · {tool}")
}

pub(crate) fn argument_length(characters: usize) -> String {
    format!("{characters} characters of arguments")
}

/// Names the menu item that shows the calls or servers for which the menu has no room.
pub(crate) fn show_more(count: usize) -> String {
    format!("{count} more…")
}

pub(crate) fn server_with_id(name: &str, id: &str) -> String {
    format!("{name} (ID {id})")
}

pub(crate) fn server_state(server: &str, label: &str) -> String {
    format!("{server}: {label}")
}

/// Asks about a held result.
pub(crate) fn ask_to_show_result(client: &str, server: &str, tool: &str) -> String {
    format!("Show the result of {tool} of {server} to {client}?")
}
