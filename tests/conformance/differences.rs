//! The deliberate differences between a server and the same server behind Drawbridge.

/// The server behind Drawbridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerKind {
    Http,
    Stdio,
    /// A server over HTTP that does not support the suite's era.
    OtherEra,
}

pub(crate) const ANY_SERVER: &[ServerKind] =
    &[ServerKind::Http, ServerKind::Stdio, ServerKind::OtherEra];

/// A check with a different result.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The name of the suite.
    pub(crate) suite: &'static str,
    pub(crate) server_kinds: &'static [ServerKind],
    pub(crate) scenario: &'static str,
    /// `ID/NAME` of the check, or [`EVERY`].
    pub(crate) check: &'static str,
    /// The statuses of the check through Drawbridge; empty if the check does not run.
    pub(crate) through: &'static str,
    /// The reason why the difference is correct.
    #[expect(dead_code, reason = "the reason is for readers of the table")]
    pub(crate) reason: &'static str,
}

impl Difference {
    /// Returns whether this difference describes this outcome of the check.
    pub(crate) fn matches(&self, scenario: &str, check: &str, outcome: &str) -> bool {
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
    stream_not_resumed("first", "server-sse-priming-event/ServerSendsPrimingEvent"),
    stream_not_resumed("first", "server-sse-retry-field/ServerSendsRetryField"),
    stream_not_resumed(
        "first",
        "server-sse-disconnect-resume/ServerDisconnectResume",
    ),
    stream_not_resumed(
        "2025-11-25",
        "server-sse-priming-event/ServerSendsPrimingEvent",
    ),
    stream_not_resumed("2025-11-25", "server-sse-retry-field/ServerSendsRetryField"),
    stream_not_resumed(
        "2025-11-25",
        "server-sse-disconnect-resume/ServerDisconnectResume",
    ),
    server_request(
        "input-required-result-basic-elicitation",
        "sep-2322-elicitation-incomplete/InputRequiredResultElicitationIncomplete",
        "FAILURE",
        "what a server of the legacy era asks has an id, but not the name that the suite wants to see",
    ),
    server_request(
        "input-required-result-basic-elicitation",
        "sep-2322-elicitation-complete/InputRequiredResultElicitationComplete",
        "",
        "the suite does not go on after the name that it wanted to see",
    ),
    server_request(
        "input-required-result-multiple-input-requests",
        "sep-2322-multiple-inputs-incomplete/InputRequiredResultMultipleInputsIncomplete",
        "FAILURE",
        "a server of the legacy era asks one thing after the other, and so does Drawbridge",
    ),
    server_request(
        "input-required-result-multiple-input-requests",
        "sep-2322-multiple-inputs-complete/InputRequiredResultMultipleInputsComplete",
        "",
        "the suite does not go on where it is asked one thing only",
    ),
    server_request(
        "input-required-result-ignore-extra-params",
        "sep-2322-ignore-unexpected-params/IgnoreUnexpectedParams",
        "WARNING",
        "the suite answers what it was not asked yet, and no call waits at the server for that answer",
    ),
    server_request(
        "input-required-result-capability-check",
        "sep-2322-respect-client-capabilities/RespectClientCapabilities",
        "FAILURE",
        SESSION_IS_SHARED,
    ),
    server_request(
        "server-stateless",
        "sep-2575-server-rejects-undeclared-capability/ServerRejectsUndeclaredCapability",
        "FAILURE",
        SESSION_IS_SHARED,
    ),
    server_request(
        "server-stateless",
        "sep-2575-missing-capability-http-400/MissingCapabilityHttp400",
        "FAILURE",
        SESSION_IS_SHARED,
    ),
    tasks_unsupported("tasks-capability-negotiation"),
    tasks_unsupported("tasks-dispatch-and-envelope"),
    tasks_unsupported("tasks-lifecycle"),
    tasks_unsupported("tasks-mrtr-composition"),
    tasks_unsupported("tasks-mrtr-input"),
    tasks_unsupported("tasks-request-headers"),
    tasks_unsupported("tasks-request-state-removal"),
    tasks_unsupported("tasks-wire-fields"),
];

const SESSION_IS_SHARED: &str = "the session with a server of the legacy era is that of all clients: the server learns \
                              what Drawbridge can pass on, not what this client can";

const fn json_not_events(suite: &'static str) -> Difference {
    Difference {
        suite,
        server_kinds: ANY_SERVER,
        scenario: "server-sse-multiple-streams",
        check: "server-sse-streams-functional/ServerSSEStreamsFunctional",
        through: "INFO",
        reason: "an answer that nothing comes before is one JSON body, which every client must take",
    }
}

const fn stream_not_resumed(suite: &'static str, check: &'static str) -> Difference {
    Difference {
        suite,
        server_kinds: ANY_SERVER,
        scenario: "server-sse-polling",
        check,
        through: "",
        reason: "Drawbridge takes up a server's broken stream itself: its client waits on this machine, and gets \
                  the answer as one JSON body",
    }
}

/// Returns a difference for a legacy server, which sends requests of its own, behind a modern
/// client, which can only answer `input_required`.
const fn server_request(
    scenario: &'static str,
    check: &'static str,
    through: &'static str,
    because: &'static str,
) -> Difference {
    Difference {
        suite: "2026-07-28",
        server_kinds: &[ServerKind::OtherEra],
        scenario,
        check,
        through,
        reason: because,
    }
}

const fn tasks_unsupported(scenario: &'static str) -> Difference {
    Difference {
        suite: "2026-07-28",
        server_kinds: &[ServerKind::OtherEra],
        scenario,
        check: EVERY,
        through: "",
        reason: "the tasks extension is of the modern era",
    }
}
