//! The labels of states. The screens, the tray and the command line show the same label for the
//! same state. The screens get the labels from `ui/src/ipc/bindings.ts`, which is generated from
//! this module.

use super::{
    acceptance::AcceptanceState,
    call::{DecidedBy, Decision, Outcome},
    content::FlagKind,
    policy::{Effect, RequestKind, ResultEffect},
    server::ServerState,
};

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident: $label:literal,)* })*) => {$(
        impl $name {
            /// All variants, in the order in which their labels are declared.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            $(#[$doc])*
            pub fn label(self) -> &'static str {
                match self {
                    $(Self::$variant => $label,)*
                }
            }
        }
    )*};
}

labels! {
    /// Returns the label of the state.
    ServerState {
        Idle: "Idle",
        Initializing: "Starting",
        Active: "Active",
        Error: "Error",
        Closed: "Closed",
        Disabled: "Disabled",
        NeedsAcceptance: "Needs acceptance",
        NeedsSecret: "Needs a secret",
        NeedsSignIn: "Needs sign-in",
    }

    /// Returns the label of the state.
    AcceptanceState {
        Accepted: "Accepted",
        New: "New",
        Changed: "Changed",
    }

    /// Returns the label of the decision.
    Decision {
        Allowed: "Allowed",
        Denied: "Denied",
        TimedOut: "Timed out",
        NoScreen: "No screen",
        Paused: "Paused",
        QueueFull: "Queue full",
        Muted: "Muted",
        Abandoned: "Abandoned",
    }

    /// Returns the label of the kind.
    RequestKind {
        Tools: "Tools",
        Prompts: "Prompts",
        Resources: "Resources",
        Sampling: "Sampling",
        Elicitation: "Elicitation",
        Roots: "Roots",
    }

    /// Returns the author as it follows the label of a decision: "Denied by a rule".
    DecidedBy {
        Person: "by you",
        Rule: "by a rule",
        Default: "by default",
        Hub: "by Drawbridge",
    }

    /// Returns the label of the outcome.
    Outcome {
        NotSent: "Not sent",
        Running: "Running",
        Ok: "OK",
        ServerError: "Server error",
        ClientError: "Client error",
        Unreachable: "Unreachable",
        Unknown: "Unknown",
        TimedOut: "Timed out",
        Cancelled: "Cancelled",
        Withheld: "Withheld",
    }

    /// Returns the label of the effect.
    Effect {
        Ask: "Ask",
        Allow: "Allow",
        Deny: "Deny",
    }

    /// Returns the label of the effect.
    ResultEffect {
        Mask: "Mask",
        Hold: "Hold",
    }

    /// Returns the label of the reason, which follows "contains".
    FlagKind {
        Instructions: "instructions to a model",
        Concealment: "a request to hide something from the user",
        RoleTag: "a tag of a conversation's roles",
        PrivateFile: "a request for private files",
        ToolCall: "an order to call tools",
        Exfiltration: "a request to send data away",
        HiddenCharacters: "hidden characters",
        LookAlike: "a name that looks like another server's tool",
        Unchecked: "more text than Drawbridge checks",
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, fmt::Debug};

    use super::*;

    fn assert_distinct<T: Copy + Debug>(all: &[T], label: fn(T) -> &'static str) {
        let labels: HashSet<_> = all.iter().map(|variant| label(*variant)).collect();
        assert_eq!(
            labels.len(),
            all.len(),
            "two of {all:?} have the same label"
        );
        assert!(
            labels.iter().all(|label| !label.trim().is_empty()),
            "one of {all:?} has an empty label"
        );
    }

    #[test]
    fn each_state_has_a_label_of_its_own() {
        assert_distinct(ServerState::ALL, ServerState::label);
        assert_distinct(AcceptanceState::ALL, AcceptanceState::label);
        assert_distinct(Decision::ALL, Decision::label);
        assert_distinct(RequestKind::ALL, RequestKind::label);
        assert_distinct(DecidedBy::ALL, DecidedBy::label);
        assert_distinct(Outcome::ALL, Outcome::label);
        assert_distinct(Effect::ALL, Effect::label);
        assert_distinct(ResultEffect::ALL, ResultEffect::label);
        assert_distinct(FlagKind::ALL, FlagKind::label);
    }
}
