//! What a notification says, as plain data. At most one is open: one call with its arguments,
//! or how many wait.

use drawbridge_hub::model::approval::ApprovalRequest;

use crate::{
    glance::{self, Seen},
    tray::menu::Choice,
};

/// Characters of arguments in a notification.
const BODY: usize = 200;

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
    ShowOrDeny(Seen),
    /// Only where the whole call stands in the notification.
    ShowDenyOrApprove(Seen),
}

/// A button, by the id that the desktop says it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Button {
    Show,
    Deny,
    Approve,
}

impl Notice {
    /// None where nothing waits.
    pub(crate) fn of(waiting: &[ApprovalRequest]) -> Option<Self> {
        match waiting {
            [] => None,
            [request] => Some(Self::of_one(request)),
            _ => Some(Self {
                title: format!("{} calls wait for you", waiting.len()),
                body: "Open to see them".to_owned(),
                actions: Actions::Show,
            }),
        }
    }

    fn of_one(request: &ApprovalRequest) -> Self {
        let [client, server, tool] =
            [request.client.as_str(), &request.server_name, &request.tool].map(glance::name);
        let seen = Seen::of(request);
        if request.result.is_some() {
            let title = format!("{tool} of {server} has answered {client}");
            let body = "Open to see the result that waits".to_owned();
            return Self {
                title,
                body,
                actions: Actions::ShowOrDeny(seen),
            };
        }
        let arguments = glance::arguments(request, BODY).filter(|line| is_drawn_as_written(line));
        let is_whole = arguments.is_some() && glance::is_whole(request);
        Self {
            title: format!("{client} wants to call {tool} of {server}"),
            body: arguments.unwrap_or_else(|| "Open to see the arguments".to_owned()),
            actions: if is_whole {
                Actions::ShowDenyOrApprove(seen)
            } else {
                Actions::ShowOrDeny(seen)
            },
        }
    }
}

/// Some desktops read the body as markup: there a tag shows nothing, and what it stands around looks different.
fn is_drawn_as_written(line: &str) -> bool {
    !line.contains(['<', '>', '&'])
}

impl Actions {
    /// A name of this set of buttons.
    pub(crate) const fn id(&self) -> &'static str {
        match self {
            Self::Show => "show",
            Self::ShowOrDeny(_) => "show-deny",
            Self::ShowDenyOrApprove(_) => "show-deny-approve",
        }
    }

    pub(crate) const fn call(&self) -> Option<&Seen> {
        match self {
            Self::Show => None,
            Self::ShowOrDeny(seen) | Self::ShowDenyOrApprove(seen) => Some(seen),
        }
    }
}

impl Button {
    /// The sets of buttons, by [`Actions::id`]. "Show" is first: where a desktop has one button for all of them, that
    /// is what it does.
    pub(crate) const SETS: [(&'static str, &'static [Self]); 3] = [
        ("show", &[Self::Show]),
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
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Show => "Show",
            Self::Deny => "Deny",
            Self::Approve => "Approve once",
        }
    }
}

/// What a click chooses: on a button, or (`tap`) on the notification itself. A desktop that names no call cannot
/// decide one.
pub(crate) fn choice(action: &str, call: Option<Seen>) -> Choice {
    match (action, call) {
        ("deny", Some(call)) => Choice::Deny(call),
        ("approve", Some(call)) => Choice::Approve(call),
        _ => Choice::ShowApprovals,
    }
}

#[cfg(test)]
mod tests;
