//! A model of the hub, without I/O and without time: it predicts the end of each call, the answers
//! to other requests, and the texts of the server `guide` that clients see.

use std::collections::BTreeMap;

use proptest::{
    prelude::{Just, Strategy, any},
    sample::select,
    strategy::{BoxedStrategy, Union},
};
use proptest_state_machine::ReferenceStateMachine;

pub(crate) const CLIENTS: usize = 2;
/// The number of unanswered approvals of a client in a row after which its further calls are
/// refused for a while.
const MAX_MISSED_IN_A_ROW: usize = 3;
/// The number of texts of the server `guide`.
pub(crate) const GUIDE_TEXTS: usize = 3;
/// The number of further calls that an approval "for some more calls" covers.
pub(crate) const APPROVED_CALLS: u32 = 2;

/// A step of the test.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A client sends a call with one of a few arguments.
    Call {
        client: usize,
        arguments: usize,
    },
    /// A person decides a pending call.
    Decide {
        call: usize,
        verdict: Verdict,
    },
    /// A person decides with a digest other than that of the pending call.
    DecideWrongDigest {
        call: usize,
    },
    /// Two people send opposite decisions at once.
    DecideOppositely {
        call: usize,
    },
    /// The client of a pending call disconnects.
    Disconnect {
        call: usize,
    },
    /// Nobody decides until the timeout.
    TimeOut,
    /// A person approves a missed call for a retry.
    AllowRetry {
        call: usize,
    },
    /// A rule that denies the tool is added or removed.
    Forbid {
        forbidden: bool,
    },
    Pause,
    Resume,
    /// The server changes the tool's description, or changes it back.
    ChangeDefinition,
    /// The server's spec starts something else, or the original again.
    ChangeServer,
    /// The hub is killed with `kill -9`, and another hub is started.
    Kill,
    /// A client sends a request that is no call of a tool.
    Request {
        client: usize,
        request: Request,
    },
    /// A rule that denies a kind of requests is added or removed.
    ForbidKind {
        kind: Kind,
        forbidden: bool,
    },
    /// A client starts a task with a call that a rule allows.
    StartTask {
        client: usize,
    },
    /// A client fetches the result of its task. If the result is held, a person decides.
    FetchTask {
        client: usize,
        is_released: bool,
    },
    /// A rule that holds the results of the tasks is added or removed.
    Hold {
        held: bool,
    },
    /// The server `guide` gives another text as its instructions and in its tool.
    ChangeGuide {
        text: usize,
    },
    /// A person accepts the current text of the server `guide`.
    AcceptGuide,
    /// A rule without conditions that denies the server `guide` is added or removed.
    ForbidGuide {
        forbidden: bool,
    },
    /// A new session of a client reads the instructions and the tools.
    ReadGuide {
        client: usize,
    },
}

/// A request that is no call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    Prompt,
    PromptCompletion,
    Resource,
    Subscription,
}

/// A kind of requests other than calls of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Prompts,
    Resources,
}

impl Request {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Prompt | Self::PromptCompletion => Kind::Prompts,
            Self::Resource | Self::Subscription => Kind::Resources,
        }
    }
}

/// The response that a request other than a call must get, or a call that starts a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedResponse {
    /// A result of the server.
    Answered,
    /// A person has to release the result first.
    Held,
    /// The request is refused with this text.
    Refused(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Once,
    /// Approved with edited arguments.
    Edited,
    SomeCalls,
    Session,
    Always,
    Deny,
}

/// The end of a call, as its client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ran,
    /// The call ran with the person's arguments.
    RanEdited,
    /// The call was refused with this text.
    Refused(&'static str),
    /// One of two opposite decisions won: the call either ran or was denied.
    RanOrDenied,
    /// The client or the hub is gone.
    Gone,
}

/// The versions to which an approval is bound, besides the client: the original or the changed
/// definition, and the original or the changed server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) is_definition_changed: bool,
    pub(crate) is_server_changed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ModelCall {
    pub(crate) client: usize,
    pub(crate) arguments: usize,
    binding: Binding,
}

#[derive(Debug, Clone)]
struct MissedCall {
    call: usize,
    model_call: ModelCall,
    is_approved: bool,
}

#[derive(Debug, Clone)]
struct Allow {
    client: usize,
    binding: Binding,
    verdict: Verdict,
    /// The number of calls that an allow for some calls still covers.
    remaining: u32,
}

/// The instructions and the tool's text of the server `guide`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guide {
    pub(crate) current: usize,
    /// A text that was accepted once stays accepted, even while the server says something else.
    is_accepted: [bool; GUIDE_TEXTS],
    is_forbidden: bool,
}

impl Default for Guide {
    fn default() -> Self {
        Self {
            current: 0,
            is_accepted: [true, false, false],
            is_forbidden: false,
        }
    }
}

impl Guide {
    /// Returns whether the current text is accepted, so that clients may see it in the list of
    /// tools.
    pub(crate) fn is_accepted(self) -> bool {
        self.is_accepted[self.current]
    }

    /// Returns whether clients get the current text as instructions.
    pub(crate) fn gives_instructions(self) -> bool {
        self.is_accepted() && !self.is_forbidden
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    /// The number of calls so far, and the number of the next call.
    calls: usize,
    pub(crate) pending: BTreeMap<usize, ModelCall>,
    pub(crate) ended: BTreeMap<usize, (ModelCall, Outcome)>,
    missed: Vec<MissedCall>,
    allows: Vec<Allow>,
    /// Whether a rule denies the tool.
    pub(crate) is_forbidden: bool,
    is_paused: bool,
    /// The current definition of the tool, and the current spec of the server.
    pub(crate) current: Binding,
    /// The number of unanswered approvals of each client in a row.
    unanswered: [usize; CLIENTS],
    are_prompts_forbidden: bool,
    are_resources_forbidden: bool,
    /// Whether a rule holds the results of the tasks.
    is_held: bool,
    /// The binding of the call that started the task of each client.
    tasks: [Option<Binding>; CLIENTS],
    pub(crate) guide: Guide,
    /// Whether the run has already waited for the timeout. The run waits only once, because waiting
    /// is slow.
    has_waited: bool,
}

impl World {
    fn call(&mut self, client: usize, arguments: usize) {
        let (call, model_call) = (
            self.calls,
            ModelCall {
                client,
                arguments,
                binding: self.current,
            },
        );
        self.calls += 1;
        let outcome = if self.is_paused {
            Outcome::Refused("All calls are paused")
        } else if self.is_forbidden {
            Outcome::Refused("The policy denied this call")
        } else if self.is_allowed(client) || self.is_retry(&model_call) {
            Outcome::Ran
        } else if self.unanswered[client] >= MAX_MISSED_IN_A_ROW {
            Outcome::Refused("Muted")
        } else {
            self.pending.insert(call, model_call);
            return;
        };
        self.ended.insert(call, (model_call, outcome));
    }

    /// Returns whether an allow covers a call of the client. A counted allow is used up only if no
    /// other allow covers the call.
    fn is_allowed(&mut self, client: usize) -> bool {
        let current = self.current;
        let matches = |allow: &Allow| allow.client == client && allow.binding == current;
        if self
            .allows
            .iter()
            .any(|allow| matches(allow) && allow.verdict != Verdict::SomeCalls)
        {
            return true;
        }
        let counted = self
            .allows
            .iter_mut()
            .find(|allow| matches(allow) && allow.remaining > 0);
        counted.map(|allow| allow.remaining -= 1).is_some()
    }

    /// Returns whether the call is the retry of a missed call that was approved. A missed call with
    /// the same digest is used up even if it was not approved.
    fn is_retry(&mut self, model_call: &ModelCall) -> bool {
        let is_same = |missed: &MissedCall| {
            (
                missed.model_call.client,
                missed.model_call.arguments,
                missed.model_call.binding,
            ) == (model_call.client, model_call.arguments, model_call.binding)
        };
        let position = self.missed.iter().position(is_same);
        position.is_some_and(|index| self.missed.remove(index).is_approved)
    }

    fn decide(&mut self, call: usize, verdict: Verdict) {
        // A call that a new rule denies cannot be approved, and stays pending.
        if verdict != Verdict::Deny && self.is_forbidden {
            return;
        }
        let outcome = match verdict {
            Verdict::Deny => Outcome::Refused("The user denied this call"),
            Verdict::Edited => Outcome::RanEdited,
            Verdict::Once | Verdict::SomeCalls | Verdict::Session | Verdict::Always => Outcome::Ran,
        };
        let ended = self.end_call(call, outcome);
        self.unanswered = Default::default();
        let Some(ModelCall {
            client,
            binding: bound,
            ..
        }) = ended
        else {
            return;
        };
        if let Verdict::SomeCalls | Verdict::Session | Verdict::Always = verdict {
            // Only an unconditional permanent rule replaces an earlier rule of the same scope.
            if verdict == Verdict::Always {
                self.allows
                    .retain(|allow| (allow.client, allow.verdict) != (client, verdict));
            }
            self.allows.push(Allow {
                client,
                binding: bound,
                verdict,
                remaining: if verdict == Verdict::SomeCalls {
                    APPROVED_CALLS
                } else {
                    0
                },
            });
        }
    }

    /// Ends a pending call with this outcome. An approved call is refused instead if its definition
    /// or its server has changed since it arrived.
    fn end_call(&mut self, call: usize, outcome: Outcome) -> Option<ModelCall> {
        let model_call = self.pending.remove(&call)?;
        let has_changed = model_call.binding != self.current;
        let outcome = match outcome {
            Outcome::Ran | Outcome::RanEdited if has_changed => {
                Outcome::Refused("has changed since the request was permitted")
            }
            // Whichever decision wins, the call is refused. Every refusal contains the empty text.
            Outcome::RanOrDenied if has_changed => Outcome::Refused(""),
            Outcome::Ran
            | Outcome::RanEdited
            | Outcome::RanOrDenied
            | Outcome::Refused(_)
            | Outcome::Gone => outcome,
        };
        self.ended.insert(call, (model_call.clone(), outcome));
        Some(model_call)
    }

    fn end_all(&mut self, outcome: Outcome) {
        for call in self.pending.keys().copied().collect::<Vec<_>>() {
            let model_call = self.pending.remove(&call).expect("the call is pending");
            self.ended.insert(call, (model_call, outcome));
        }
    }

    fn time_out(&mut self) {
        self.has_waited = true;
        for (call, model_call) in &self.pending {
            self.unanswered[model_call.client] += 1;
            self.missed.push(MissedCall {
                call: *call,
                model_call: model_call.clone(),
                is_approved: false,
            });
        }
        self.end_all(Outcome::Refused("Timed out"));
    }

    /// Ends all pending calls and clears the state that a hub keeps only in memory.
    fn kill_hub(&mut self) {
        self.end_all(Outcome::Gone);
        self.missed.clear();
        self.unanswered = Default::default();
        self.allows
            .retain(|allow| allow.verdict != Verdict::Session);
        self.tasks = Default::default();
    }

    fn is_kind_forbidden(&self, kind: Kind) -> bool {
        match kind {
            Kind::Prompts => self.are_prompts_forbidden,
            Kind::Resources => self.are_resources_forbidden,
        }
    }

    /// Returns the response that a request other than a call must get.
    pub(crate) fn expected_response(&self, request: Request) -> ExpectedResponse {
        if self.is_paused {
            ExpectedResponse::Refused("All calls are paused")
        } else if self.is_kind_forbidden(request.kind()) {
            ExpectedResponse::Refused("The policy denied this request")
        } else {
            ExpectedResponse::Answered
        }
    }

    /// Returns the response that a call that starts a task must get.
    pub(crate) fn task_start(&self) -> ExpectedResponse {
        if self.is_paused {
            ExpectedResponse::Refused("All calls are paused")
        } else {
            ExpectedResponse::Answered
        }
    }

    /// Returns the response that a request for the result of a client's task must get.
    pub(crate) fn task_result(&self, client: usize) -> ExpectedResponse {
        let Some(binding) = self.tasks[client] else {
            return ExpectedResponse::Refused("Unknown task");
        };
        if self.is_paused {
            ExpectedResponse::Refused("All calls are paused")
        } else if binding.is_server_changed != self.current.is_server_changed {
            ExpectedResponse::Refused("has changed since the request was permitted")
        } else if self.is_held && self.unanswered[client] >= MAX_MISSED_IN_A_ROW {
            // The queue takes no more approvals of this client, so the result is withheld.
            ExpectedResponse::Refused("withheld")
        } else if self.is_held {
            ExpectedResponse::Held
        } else {
            ExpectedResponse::Answered
        }
    }

    fn unapproved_missed_calls(&self) -> Vec<usize> {
        self.missed
            .iter()
            .filter(|missed| !missed.is_approved)
            .map(|missed| missed.call)
            .collect()
    }
}

impl ReferenceStateMachine for World {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        Just(Self::default()).boxed()
    }

    fn transitions(world: &Self) -> BoxedStrategy<Step> {
        let call = (0..CLIENTS, 0..2_usize)
            .prop_map(|(client, arguments)| Step::Call { client, arguments });
        const VERDICTS: [Verdict; 6] = [
            Verdict::Once,
            Verdict::Edited,
            Verdict::SomeCalls,
            Verdict::Session,
            Verdict::Always,
            Verdict::Deny,
        ];
        let mut steps: Vec<(u32, BoxedStrategy<Step>)> = vec![
            (18, call.boxed()),
            // States that block all calls end soon, so that the run covers more cases.
            if world.is_forbidden {
                (9, Just(Step::Forbid { forbidden: false }).boxed())
            } else {
                (1, Just(Step::Forbid { forbidden: true }).boxed())
            },
            if world.is_paused {
                (9, Just(Step::Resume).boxed())
            } else {
                (1, Just(Step::Pause).boxed())
            },
            (2, Just(Step::ChangeDefinition).boxed()),
            (1, Just(Step::ChangeServer).boxed()),
            (1, Just(Step::Kill).boxed()),
        ];
        let client = || 0..CLIENTS;
        const REQUESTS: [Request; 4] = [
            Request::Prompt,
            Request::PromptCompletion,
            Request::Resource,
            Request::Subscription,
        ];
        let request = (client(), select(&REQUESTS[..]))
            .prop_map(|(client, request)| Step::Request { client, request });
        let fetch = (client(), any::<bool>()).prop_map(|(client, is_released)| Step::FetchTask {
            client,
            is_released,
        });
        let (world_kinds, held) = (world.clone(), world.is_held);
        let forbid = select(vec![Kind::Prompts, Kind::Resources]).prop_map(move |kind| {
            let forbidden = !world_kinds.is_kind_forbidden(kind);
            Step::ForbidKind { kind, forbidden }
        });
        steps.extend([
            (6, request.boxed()),
            (2, forbid.boxed()),
            (
                3,
                client()
                    .prop_map(|client| Step::StartTask { client })
                    .boxed(),
            ),
            (4, fetch.boxed()),
            (2, Just(Step::Hold { held: !held }).boxed()),
            (
                3,
                (0..GUIDE_TEXTS)
                    .prop_map(|text| Step::ChangeGuide { text })
                    .boxed(),
            ),
            (2, Just(Step::AcceptGuide).boxed()),
            (
                1,
                any::<bool>()
                    .prop_map(|forbidden| Step::ForbidGuide { forbidden })
                    .boxed(),
            ),
            (
                4,
                client()
                    .prop_map(|client| Step::ReadGuide { client })
                    .boxed(),
            ),
        ]);
        let pending: Vec<usize> = world.pending.keys().copied().collect();
        if !pending.is_empty() {
            let select_pending = || select(pending.clone());
            let decide = (select_pending(), select(&VERDICTS[..]))
                .prop_map(|(call, verdict)| Step::Decide { call, verdict });
            steps.push((8, decide.boxed()));
            steps.push((
                1,
                select_pending()
                    .prop_map(|call| Step::DecideWrongDigest { call })
                    .boxed(),
            ));
            steps.push((
                2,
                select_pending()
                    .prop_map(|call| Step::DecideOppositely { call })
                    .boxed(),
            ));
            steps.push((
                2,
                select_pending()
                    .prop_map(|call| Step::Disconnect { call })
                    .boxed(),
            ));
            steps.push((3, Just(Step::TimeOut).boxed()));
        }
        if !world.unapproved_missed_calls().is_empty() {
            steps.push((
                12,
                select(world.unapproved_missed_calls())
                    .prop_map(|call| Step::AllowRetry { call })
                    .boxed(),
            ));
        }
        Union::new_weighted(steps).boxed()
    }

    fn preconditions(world: &Self, step: &Step) -> bool {
        match step {
            Step::Decide { call, .. }
            | Step::DecideWrongDigest { call }
            | Step::DecideOppositely { call }
            | Step::Disconnect { call } => world.pending.contains_key(call),
            Step::AllowRetry { call } => world.unapproved_missed_calls().contains(call),
            Step::TimeOut => !world.has_waited && !world.pending.is_empty(),
            Step::Call { .. }
            | Step::Forbid { .. }
            | Step::Pause
            | Step::Resume
            | Step::ChangeDefinition
            | Step::ChangeServer
            | Step::Kill
            | Step::Request { .. }
            | Step::ForbidKind { .. }
            | Step::StartTask { .. }
            | Step::FetchTask { .. }
            | Step::Hold { .. }
            | Step::ChangeGuide { .. }
            | Step::AcceptGuide
            | Step::ForbidGuide { .. }
            | Step::ReadGuide { .. } => true,
        }
    }

    fn apply(mut world: Self, step: &Step) -> Self {
        match *step {
            Step::Call { client, arguments } => world.call(client, arguments),
            Step::Decide { call, verdict } => world.decide(call, verdict),
            Step::DecideWrongDigest { .. } => {}
            Step::DecideOppositely { call } => {
                let denied = Outcome::Refused("The user denied this call");
                world.end_call(
                    call,
                    if world.is_forbidden {
                        denied
                    } else {
                        Outcome::RanOrDenied
                    },
                );
                world.unanswered = Default::default();
            }
            Step::Disconnect { call } => {
                let model_call = world.pending.remove(&call).expect("the call is pending");
                world.ended.insert(call, (model_call, Outcome::Gone));
            }
            Step::TimeOut => world.time_out(),
            Step::AllowRetry { call } => {
                let missed_call = world.missed.iter_mut().find(|missed| missed.call == call);
                missed_call.expect("the call was missed").is_approved = true;
            }
            Step::Forbid { forbidden } => world.is_forbidden = forbidden,
            Step::Pause => {
                world.is_paused = true;
                world.end_all(Outcome::Refused("All calls are paused"));
            }
            Step::Resume => world.is_paused = false,
            Step::ChangeDefinition => world.current.is_definition_changed ^= true,
            Step::ChangeServer => {
                world.current.is_server_changed ^= true;
                // A person makes the change, so the allows hold for the changed server too.
                for allow in &mut world.allows {
                    allow.binding.is_server_changed = world.current.is_server_changed;
                }
            }
            Step::Kill => world.kill_hub(),
            Step::Request { .. } => {}
            Step::ForbidKind {
                kind: Kind::Prompts,
                forbidden,
            } => world.are_prompts_forbidden = forbidden,
            Step::ForbidKind {
                kind: Kind::Resources,
                forbidden,
            } => world.are_resources_forbidden = forbidden,
            Step::StartTask { client } => {
                if world.task_start() == ExpectedResponse::Answered {
                    world.tasks[client] = Some(world.current);
                }
            }
            Step::FetchTask { client, .. } => {
                // A decision about the result resets the numbers of unanswered approvals.
                if world.task_result(client) == ExpectedResponse::Held {
                    world.unanswered = Default::default();
                }
            }
            Step::Hold { held } => world.is_held = held,
            Step::ChangeGuide { text } => world.guide.current = text,
            Step::AcceptGuide => world.guide.is_accepted[world.guide.current] = true,
            Step::ForbidGuide { forbidden } => world.guide.is_forbidden = forbidden,
            Step::ReadGuide { .. } => {}
        }
        world
    }
}
