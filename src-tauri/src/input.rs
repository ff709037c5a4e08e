//! The inputs of the controller, from the tray, the windows, notifications and the system.

use drawbridge_model::ids::{ClientName, ServerId};

use crate::{open_target::OpenTarget, overview::Overview, summary::CallRef};

/// An input of the controller besides the hub's events.
#[derive(Debug)]
pub(crate) enum Input {
    /// A choice in the tray or in a notification.
    Chosen(Choice),
    /// The global shortcut was pressed.
    ShortcutPressed,
    /// The app was started a second time, or the person clicked its icon in the Dock of macOS.
    Reopened,
    /// A second start, or the system, asks the app to open a link or a bundle.
    Open(OpenTarget),
    /// The person closes the main window.
    CloseRequested,
    /// The main window asks the person whether to close it.
    CloseQuestionShown,
    /// The person closes the main window and keeps the app running, although there is no tray.
    KeepRunningChosen,
    /// A newer release of the app, with this version, was found.
    UpdateFound(String),
    /// The desktop shows no tray icons.
    TrayMissing,
    /// The person has read how to reopen the app without a tray.
    ReopenHintRead,
    /// Whether the popup has the keyboard focus from now on.
    PopupFocused(bool),
    /// The height of the popup's content from now on, in logical pixels.
    PopupMeasured(f64),
    /// Whether the main window has the keyboard focus from now on.
    MainFocused(bool),
    /// Whether the main window shows the Approvals screen from now on.
    ApprovalsShown(bool),
    /// The overview that the controller requested when its counter of changes was at `generation`.
    Refreshed { generation: u64, overview: Overview },
    /// The system or the main window asks the app to quit.
    Quit,
}

/// A screen of the main window that the tray or a notification opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    Calls,
    Servers,
    Settings,
}

impl Screen {
    pub(crate) const ALL: [Self; 3] = [Self::Calls, Self::Servers, Self::Settings];

    /// Returns the screen's name in the URL of the main window.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Servers => "servers",
            Self::Settings => "settings",
        }
    }
}

/// A choice of the person in the tray menu or in a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Show the main window.
    Open,
    /// Show a screen in the main window.
    ShowScreen(Screen),
    /// Show the page of a server in the main window.
    ShowServer(ServerId),
    /// Copy the address that clients connect to.
    CopyEndpoint,
    /// Show the popup, or the main window if no call waits and only clients ask to be paired.
    ShowApprovals,
    /// Show the missed calls in the main window.
    ShowMissed,
    /// Approve this call once.
    Approve(CallRef),
    Deny(CallRef),
    /// Let this muted client ask again.
    Unmute(ClientName),
    /// Pause all calls for this many seconds, or until a person resumes them.
    Pause(Option<u32>),
    Resume,
    Quit,
}
