//! Where Drawbridge before a server is right to be other than that server.

/// What stands behind Drawbridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    Http,
    Stdio,
    /// Over HTTP, a server that does not speak the suite's era.
    OtherEra,
}

pub(crate) const ANY: &[Behind] = &[Behind::Http, Behind::Stdio, Behind::OtherEra];

/// One check that comes out otherwise.
pub(crate) struct Difference {
    /// The name of the suite.
    pub(crate) suite: &'static str,
    pub(crate) behind: &'static [Behind],
    pub(crate) scenario: &'static str,
    /// `ID/NAME` of the check.
    pub(crate) check: &'static str,
    /// How it comes out through Drawbridge: its statuses, or nothing where it is not made.
    pub(crate) through: &'static str,
    /// Why that is right.
    #[expect(dead_code, reason = "it is for people")]
    pub(crate) because: &'static str,
}

pub(crate) const ALL: &[Difference] = &[
    json_not_events("first"),
    json_not_events("2025-11-25"),
    json_not_events("2026-07-28"),
    not_taken_up("first", "server-sse-priming-event/ServerSendsPrimingEvent"),
    not_taken_up("first", "server-sse-retry-field/ServerSendsRetryField"),
    not_taken_up("first", "server-sse-disconnect-resume/ServerDisconnectResume"),
    not_taken_up("2025-11-25", "server-sse-priming-event/ServerSendsPrimingEvent"),
    not_taken_up("2025-11-25", "server-sse-retry-field/ServerSendsRetryField"),
    not_taken_up("2025-11-25", "server-sse-disconnect-resume/ServerDisconnectResume"),
];

const fn json_not_events(suite: &'static str) -> Difference {
    Difference {
        suite,
        behind: ANY,
        scenario: "server-sse-multiple-streams",
        check: "server-sse-streams-functional/ServerSSEStreamsFunctional",
        through: "INFO",
        because: "an answer that nothing comes before is one JSON body, which every client must take",
    }
}

const fn not_taken_up(suite: &'static str, check: &'static str) -> Difference {
    Difference {
        suite,
        behind: ANY,
        scenario: "server-sse-polling",
        check,
        through: "",
        because: "Drawbridge takes up a server's broken stream itself: its client waits on this machine, and gets \
                  the answer as one JSON body",
    }
}
