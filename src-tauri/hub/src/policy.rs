//! Policy: whether a request may be sent to a server or a client. A rule, a default or a person
//! decides; the decision is recorded; only then is there a [`Permitted`] request, without which no
//! guarded request can be sent.

pub(crate) mod conditions;
mod deadline;
mod denied_arguments_limit;
mod drawbridge;
mod dry_run;
mod editor;
mod gate;
mod guarded_request;
mod permitted;
mod presets;
mod queue;
mod queue_limits;
mod record;
mod refusal;
mod rule_check;
mod rule_warnings;
mod rules;
mod suggestions;
mod verdict;

pub use conditions::{ConditionError, canonical_text};
pub use drawbridge::Drawbridge;
pub use dry_run::DryRun;
pub use editor::{PolicyEditor, PolicyError};
pub use gate::{DecideError, Gate};
pub use guarded_request::{EditError, GuardedRequest, HookedArguments, StandIn};
pub use permitted::{Permitted, PermittedRequest};
pub use presets::PolicyPreset;
pub use queue::{Queue, QueueError};
pub use record::PendingRecord;
pub use refusal::{Refusal, WithheldReason};
pub use rule_check::InvalidRule;
pub use rule_warnings::RuleWarning;
pub use rules::{MatchInput, RuleError, Rules, Ruling};
pub use suggestions::{DayStats, PolicyStats, Suggestion};
pub use verdict::VerdictError;
