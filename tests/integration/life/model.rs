//! The expected behavior of a request, from its arrival to its end: a model without I/O and without
//! time.

use std::collections::BTreeMap;

use proptest::{
    prelude::{Just, Strategy},
    sample::select,
    strategy::{BoxedStrategy, Union},
};
use proptest_state_machine::ReferenceStateMachine;

pub(crate) const CLIENTS: usize = 2;
/// The number of unanswered approvals of a client in a row after which its further calls are
/// refused for a while.
const PATIENCE: usize = 3;
/// The number of further calls that an approval "for some more calls" covers.
pub(crate) const MORE: u32 = 2;

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
    /// A person decides with another digest than that of the pending call.
    DecideAnother {
        call: usize,
    },
    /// Two persons send opposite decisions at once.
    Oppose {
        call: usize,
    },
    /// The client of a pending call disconnects.
    Leave {
        call: usize,
    },
    /// Nobody decides until the timeout.
    WaitInVain,
    /// A person approves a missed call for a retry.
    AllowRetry {
        call: usize,
    },
    /// A rule that denies the tool is added or removed.
    Forbid {
        forbidden: bool,
    },
    Raise,
    Lower,
    /// The server changes the tool's description, or changes it back.
    ChangeDefinition,
    /// The server's spec starts something else, or the original again.
    ChangeServer,
    /// The hub is killed with `kill -9`, and another one is started.
    Kill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Once,
    /// Approved with edited arguments.
    Edited,
    More,
    Session,
    Always,
    Deny,
}

/// The result for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ran,
    /// The call ran with the person's arguments.
    RanEdited,
    /// The call was refused with this text.
    Refused(&'static str),
    /// The first of two opposite decisions won.
    RanOrDenied,
    /// The client or the hub is gone.
    Gone,
}

/// The definition and the server that an approval is bound to, besides the client.
type Bound = (bool, bool);

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) client: usize,
    pub(crate) arguments: usize,
    bound: Bound,
}

#[derive(Debug, Clone)]
struct Late {
    call: usize,
    asked: Asked,
    is_approved: bool,
}

#[derive(Debug, Clone)]
struct Allow {
    client: usize,
    bound: Bound,
    verdict: Verdict,
    left: u32,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    calls: usize,
    pub(crate) waiting: BTreeMap<usize, Asked>,
    pub(crate) ended: BTreeMap<usize, (Asked, Outcome)>,
    late: Vec<Late>,
    allows: Vec<Allow>,
    pub(crate) is_forbidden: bool,
    is_raised: bool,
    /// The current definition of the tool, and the current spec of the server.
    pub(crate) now: Bound,
    unanswered: [usize; CLIENTS],
    /// Whether the run has waited for the timeout already; waiting is slow, so once is enough.
    has_waited: bool,
}

impl World {
    fn call(&mut self, client: usize, arguments: usize) {
        let (call, asked) = (
            self.calls,
            Asked {
                client,
                arguments,
                bound: self.now,
            },
        );
        self.calls += 1;
        let outcome = if self.is_raised {
            Outcome::Refused("raised the drawbridge")
        } else if self.is_forbidden {
            Outcome::Refused("Denied by policy")
        } else if self.is_allowed(client) || self.is_retry(&asked) {
            Outcome::Ran
        } else if self.unanswered[client] >= PATIENCE {
            Outcome::Refused("Queue full")
        } else {
            self.waiting.insert(call, asked);
            return;
        };
        self.ended.insert(call, (asked, outcome));
    }

    /// A permanent allow is used before a counted one.
    fn is_allowed(&mut self, client: usize) -> bool {
        let now = self.now;
        let fits = |allow: &Allow| allow.client == client && allow.bound == now;
        if self
            .allows
            .iter()
            .any(|allow| fits(allow) && allow.verdict != Verdict::More)
        {
            return true;
        }
        let counted = self
            .allows
            .iter_mut()
            .find(|allow| fits(allow) && allow.left > 0);
        counted.map(|allow| allow.left -= 1).is_some()
    }

    /// A missed call with the same digest is used up, whether it was approved or not.
    fn is_retry(&mut self, asked: &Asked) -> bool {
        let same = |late: &Late| {
            (late.asked.client, late.asked.arguments, late.asked.bound)
                == (asked.client, asked.arguments, asked.bound)
        };
        let found = self.late.iter().position(same);
        found.is_some_and(|at| self.late.remove(at).is_approved)
    }

    fn decide(&mut self, call: usize, verdict: Verdict) {
        // A call that a rule denies by now cannot be approved, and stays pending.
        if verdict != Verdict::Deny && self.is_forbidden {
            return;
        }
        let outcome = match verdict {
            Verdict::Deny => Outcome::Refused("Denied by the user"),
            Verdict::Edited => Outcome::RanEdited,
            Verdict::Once | Verdict::More | Verdict::Session | Verdict::Always => Outcome::Ran,
        };
        let asked = self.end(call, outcome);
        self.unanswered = Default::default();
        let Some(Asked { client, bound, .. }) = asked else {
            return;
        };
        if let Verdict::More | Verdict::Session | Verdict::Always = verdict {
            // Only an unconditional permanent rule replaces an earlier one of the same scope.
            if verdict == Verdict::Always {
                self.allows
                    .retain(|allow| (allow.client, allow.verdict) != (client, verdict));
            }
            self.allows.push(Allow {
                client,
                bound,
                verdict,
                left: if verdict == Verdict::More { MORE } else { 0 },
            });
        }
    }

    /// Refuses an approved call if its definition or its server has changed since it arrived.
    fn end(&mut self, call: usize, outcome: Outcome) -> Option<Asked> {
        let asked = self.waiting.remove(&call)?;
        let has_changed = asked.bound != self.now;
        let outcome = match outcome {
            Outcome::Ran | Outcome::RanEdited if has_changed => {
                Outcome::Refused("changed after the call was approved")
            }
            Outcome::RanOrDenied if has_changed => Outcome::Refused(""),
            Outcome::Ran
            | Outcome::RanEdited
            | Outcome::RanOrDenied
            | Outcome::Refused(_)
            | Outcome::Gone => outcome,
        };
        self.ended.insert(call, (asked.clone(), outcome));
        Some(asked)
    }

    fn end_all(&mut self, outcome: Outcome) {
        for call in self.waiting.keys().copied().collect::<Vec<_>>() {
            let asked = self.waiting.remove(&call).expect("it waits");
            self.ended.insert(call, (asked, outcome));
        }
    }

    fn wait_in_vain(&mut self) {
        self.has_waited = true;
        for (call, asked) in &self.waiting {
            self.unanswered[asked.client] += 1;
            self.late.push(Late {
                call: *call,
                asked: asked.clone(),
                is_approved: false,
            });
        }
        self.end_all(Outcome::Refused("Timed out"));
    }

    /// Ends all pending calls and clears the state that a hub keeps only in memory.
    fn kill(&mut self) {
        self.end_all(Outcome::Gone);
        self.late.clear();
        self.unanswered = Default::default();
        self.allows
            .retain(|allow| allow.verdict != Verdict::Session);
    }

    fn late_calls(&self) -> Vec<usize> {
        self.late
            .iter()
            .filter(|late| !late.is_approved)
            .map(|late| late.call)
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
            Verdict::More,
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
            if world.is_raised {
                (9, Just(Step::Lower).boxed())
            } else {
                (1, Just(Step::Raise).boxed())
            },
            (2, Just(Step::ChangeDefinition).boxed()),
            (1, Just(Step::ChangeServer).boxed()),
            (1, Just(Step::Kill).boxed()),
        ];
        let waiting: Vec<usize> = world.waiting.keys().copied().collect();
        if !waiting.is_empty() {
            let one = || select(waiting.clone());
            let decide = (one(), select(&VERDICTS[..]))
                .prop_map(|(call, verdict)| Step::Decide { call, verdict });
            steps.push((8, decide.boxed()));
            steps.push((
                1,
                one().prop_map(|call| Step::DecideAnother { call }).boxed(),
            ));
            steps.push((2, one().prop_map(|call| Step::Oppose { call }).boxed()));
            steps.push((2, one().prop_map(|call| Step::Leave { call }).boxed()));
            steps.push((3, Just(Step::WaitInVain).boxed()));
        }
        if !world.late_calls().is_empty() {
            steps.push((
                12,
                select(world.late_calls())
                    .prop_map(|call| Step::AllowRetry { call })
                    .boxed(),
            ));
        }
        Union::new_weighted(steps).boxed()
    }

    fn preconditions(world: &Self, step: &Step) -> bool {
        match step {
            Step::Decide { call, .. }
            | Step::DecideAnother { call }
            | Step::Oppose { call }
            | Step::Leave { call } => world.waiting.contains_key(call),
            Step::AllowRetry { call } => world.late_calls().contains(call),
            Step::WaitInVain => !world.has_waited && !world.waiting.is_empty(),
            Step::Call { .. }
            | Step::Forbid { .. }
            | Step::Raise
            | Step::Lower
            | Step::ChangeDefinition
            | Step::ChangeServer
            | Step::Kill => true,
        }
    }

    fn apply(mut world: Self, step: &Step) -> Self {
        match *step {
            Step::Call { client, arguments } => world.call(client, arguments),
            Step::Decide { call, verdict } => world.decide(call, verdict),
            Step::DecideAnother { .. } => {}
            Step::Oppose { call } => {
                let denied = Outcome::Refused("Denied by the user");
                world.end(
                    call,
                    if world.is_forbidden {
                        denied
                    } else {
                        Outcome::RanOrDenied
                    },
                );
                world.unanswered = Default::default();
            }
            Step::Leave { call } => {
                let asked = world.waiting.remove(&call).expect("it waits");
                world.ended.insert(call, (asked, Outcome::Gone));
            }
            Step::WaitInVain => world.wait_in_vain(),
            Step::AllowRetry { call } => {
                let found = world.late.iter_mut().find(|late| late.call == call);
                found.expect("it is late").is_approved = true;
            }
            Step::Forbid { forbidden } => world.is_forbidden = forbidden,
            Step::Raise => {
                world.is_raised = true;
                world.end_all(Outcome::Refused("raised the drawbridge"));
            }
            Step::Lower => world.is_raised = false,
            Step::ChangeDefinition => world.now.0 = !world.now.0,
            Step::ChangeServer => world.now.1 = !world.now.1,
            Step::Kill => world.kill(),
        }
        world
    }
}
