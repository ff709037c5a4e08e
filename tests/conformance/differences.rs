//! The deliberate differences between a server and the same server behind Drawbridge.

/// The kind of the server behind Drawbridge.
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
    /// `ID/NAME` of the check, or [`EVERY_CHECK`].
    pub(crate) check: &'static str,
    /// The statuses of the check through Drawbridge; empty if the check does not run. Ignored for
    /// [`EVERY_CHECK`].
    pub(crate) outcome: &'static str,
    /// The reason why the difference is correct.
    #[expect(dead_code, reason = "the reason is for readers of the table")]
    pub(crate) reason: &'static str,
}

impl Difference {
    /// Returns whether this difference describes this outcome of the check.
    pub(crate) fn matches(&self, scenario: &str, check: &str, outcome: &str) -> bool {
        self.scenario == scenario
            && (self.check == EVERY_CHECK || (self.check == check && self.outcome == outcome))
    }
}

/// Stands for every check of a scenario, with any outcome.
pub(crate) const EVERY_CHECK: &str = "*";

pub(crate) const ALL: &[Difference] = &[
    json_instead_of_stream("first"),
    json_instead_of_stream("2025-11-25"),
    json_instead_of_stream("2026-07-28"),
    stream_resumed_by_drawbridge("first", "server-sse-priming-event/ServerSendsPrimingEvent"),
    stream_resumed_by_drawbridge("first", "server-sse-retry-field/ServerSendsRetryField"),
    stream_resumed_by_drawbridge(
        "first",
        "server-sse-disconnect-resume/ServerDisconnectResume",
    ),
    stream_resumed_by_drawbridge(
        "2025-11-25",
        "server-sse-priming-event/ServerSendsPrimingEvent",
    ),
    stream_resumed_by_drawbridge("2025-11-25", "server-sse-retry-field/ServerSendsRetryField"),
    stream_resumed_by_drawbridge(
        "2025-11-25",
        "server-sse-disconnect-resume/ServerDisconnectResume",
    ),
    server_request(
        "input-required-result-basic-elicitation",
        "sep-2322-elicitation-incomplete/InputRequiredResultElicitationIncomplete",
        "FAILURE",
        "a legacy server identifies its requests by ids, not by the name that the suite expects",
    ),
    server_request(
        "input-required-result-basic-elicitation",
        "sep-2322-elicitation-complete/InputRequiredResultElicitationComplete",
        "",
        "the suite stops when it does not find the name that it expects",
    ),
    server_request(
        "input-required-result-multiple-input-requests",
        "sep-2322-multiple-inputs-incomplete/InputRequiredResultMultipleInputsIncomplete",
        "FAILURE",
        "a legacy server sends its requests one after the other, and Drawbridge passes them on in the same way",
    ),
    server_request(
        "input-required-result-multiple-input-requests",
        "sep-2322-multiple-inputs-complete/InputRequiredResultMultipleInputsComplete",
        "",
        "the suite stops when it receives a single request instead of several",
    ),
    server_request(
        "input-required-result-ignore-extra-params",
        "sep-2322-ignore-unexpected-params/IgnoreUnexpectedParams",
        "WARNING",
        "the suite answers a request that it has not received yet, so no call waits for this answer",
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

const SESSION_IS_SHARED: &str = "all clients share one session with a legacy server, so Drawbridge declares to the server \
                              everything that it can pass on, not the capabilities of this client";

const fn json_instead_of_stream(suite: &'static str) -> Difference {
    Difference {
        suite,
        server_kinds: ANY_SERVER,
        scenario: "server-sse-multiple-streams",
        check: "server-sse-streams-functional/ServerSSEStreamsFunctional",
        outcome: "INFO",
        reason: "if the server sends nothing before the response, Drawbridge sends the response as one JSON body, which \
                  every client must accept",
    }
}

const fn stream_resumed_by_drawbridge(suite: &'static str, check: &'static str) -> Difference {
    Difference {
        suite,
        server_kinds: ANY_SERVER,
        scenario: "server-sse-polling",
        check,
        outcome: "",
        reason: "Drawbridge itself resumes a broken stream of the server, and the client receives the response as one \
                  JSON body",
    }
}

/// Returns a difference between a legacy server, which sends requests of its own, and a modern
/// client, which can only answer `input_required`.
const fn server_request(
    scenario: &'static str,
    check: &'static str,
    outcome: &'static str,
    reason: &'static str,
) -> Difference {
    Difference {
        suite: "2026-07-28",
        server_kinds: &[ServerKind::OtherEra],
        scenario,
        check,
        outcome,
        reason,
    }
}

const fn tasks_unsupported(scenario: &'static str) -> Difference {
    Difference {
        suite: "2026-07-28",
        server_kinds: &[ServerKind::OtherEra],
        scenario,
        check: EVERY_CHECK,
        outcome: "",
        reason: "a legacy server does not support the tasks extension, which belongs to the modern era",
    }
}
