//! The deliberate differences between a server and the same server behind Drawbridge.

/// The server behind Drawbridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    Http,
    Stdio,
    /// A server over HTTP that does not support the suite's era.
    OtherEra,
}

pub(crate) const ANY: &[Behind] = &[Behind::Http, Behind::Stdio, Behind::OtherEra];

/// A check with a different result.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The name of the suite.
    pub(crate) suite: &'static str,
    pub(crate) behind: &'static [Behind],
    pub(crate) scenario: &'static str,
    /// `ID/NAME` of the check, or [`EVERY`].
    pub(crate) check: &'static str,
    /// The statuses of the check through Drawbridge; empty if the check does not run.
    pub(crate) through: &'static str,
    /// The reason why the difference is correct.
    #[expect(dead_code, reason = "the reason is for readers of the table")]
    pub(crate) because: &'static str,
}

impl Difference {
    /// Returns whether this difference describes this outcome of the check.
    pub(crate) fn says(&self, scenario: &str, check: &str, outcome: &str) -> bool {
        self.scenario == scenario
            && (self.check == EVERY || (self.check == check && self.through == outcome))
    }
}

/// Stands for every check of a scenario, with any outcome.
pub(crate) const EVERY: &str = "*";

pub(crate) const ALL: &[Difference] = &[
    json_not_events("first"),
    json_not_events("2025-11-25"),
    json_not_events("2026-07-28"),
    not_taken_up("first", "server-sse-priming-event/ServerSendsPrimingEvent"),
    not_taken_up("first", "server-sse-retry-field/ServerSendsRetryField"),
    not_taken_up(
        "first",
        "server-sse-disconnect-resume/ServerDisconnectResume",
    ),
    not_taken_up(
        "2025-11-25",
        "server-sse-priming-event/ServerSendsPrimingEvent",
    ),
    not_taken_up("2025-11-25", "server-sse-retry-field/ServerSendsRetryField"),
    not_taken_up(
        "2025-11-25",
        "server-sse-disconnect-resume/ServerDisconnectResume",
    ),
    asked_by_a_session(
        "input-required-result-basic-elicitation",
        "sep-2322-elicitation-incomplete/InputRequiredResultElicitationIncomplete",
        "FAILURE",
        "what a server of the legacy era asks has an id, but not the name that the suite wants to see",
    ),
    asked_by_a_session(
        "input-required-result-basic-elicitation",
        "sep-2322-elicitation-complete/InputRequiredResultElicitationComplete",
        "",
        "the suite does not go on after the name that it wanted to see",
    ),
    asked_by_a_session(
        "input-required-result-multiple-input-requests",
        "sep-2322-multiple-inputs-incomplete/InputRequiredResultMultipleInputsIncomplete",
        "FAILURE",
        "a server of the legacy era asks one thing after the other, and so does Drawbridge",
    ),
    asked_by_a_session(
        "input-required-result-multiple-input-requests",
        "sep-2322-multiple-inputs-complete/InputRequiredResultMultipleInputsComplete",
        "",
        "the suite does not go on where it is asked one thing only",
    ),
    asked_by_a_session(
        "input-required-result-ignore-extra-params",
        "sep-2322-ignore-unexpected-params/IgnoreUnexpectedParams",
        "WARNING",
        "the suite answers what it was not asked yet, and no call waits at the server for that answer",
    ),
    asked_by_a_session(
        "input-required-result-capability-check",
        "sep-2322-respect-client-capabilities/RespectClientCapabilities",
        "FAILURE",
        OF_ALL_CLIENTS,
    ),
    asked_by_a_session(
        "server-stateless",
        "sep-2575-server-rejects-undeclared-capability/ServerRejectsUndeclaredCapability",
        "FAILURE",
        OF_ALL_CLIENTS,
    ),
    asked_by_a_session(
        "server-stateless",
        "sep-2575-missing-capability-http-400/MissingCapabilityHttp400",
        "FAILURE",
        OF_ALL_CLIENTS,
    ),
    no_tasks("tasks-capability-negotiation"),
    no_tasks("tasks-dispatch-and-envelope"),
    no_tasks("tasks-lifecycle"),
    no_tasks("tasks-mrtr-composition"),
    no_tasks("tasks-mrtr-input"),
    no_tasks("tasks-request-headers"),
    no_tasks("tasks-request-state-removal"),
    no_tasks("tasks-wire-fields"),
];

const OF_ALL_CLIENTS: &str = "the session with a server of the legacy era is that of all clients: the server learns \
                              what Drawbridge can pass on, not what this client can";

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

/// Returns a difference for a legacy server, which sends requests of its own, behind a modern
/// client, which can only answer `input_required`.
const fn asked_by_a_session(
    scenario: &'static str,
    check: &'static str,
    through: &'static str,
    because: &'static str,
) -> Difference {
    Difference {
        suite: "2026-07-28",
        behind: &[Behind::OtherEra],
        scenario,
        check,
        through,
        because,
    }
}

const fn no_tasks(scenario: &'static str) -> Difference {
    Difference {
        suite: "2026-07-28",
        behind: &[Behind::OtherEra],
        scenario,
        check: EVERY,
        through: "",
        because: "the tasks extension is of the modern era",
    }
}
