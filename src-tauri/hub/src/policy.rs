//! Policy: whether a call may reach its server. A rule or a person decides; the decision is
//! recorded; only then is there a [`Permitted`] call, without which nothing can be forwarded.

mod conditions;
mod drawbridge;
mod dry_run;
mod editor;
mod gate;
mod permitted;
mod presets;
mod queue;
mod queue_limits;
mod record;
mod refusal;
mod rule_check;
mod rules;
mod suggestions;
mod tool_call;
mod verdict;

pub use conditions::{ConditionError, canonical_text};
pub use drawbridge::Drawbridge;
pub use dry_run::DryRun;
pub use editor::{PolicyEditor, PolicyError};
pub use gate::{DecideError, Gate};
pub use permitted::Permitted;
pub use presets::PolicyPreset;
pub use queue::{Queue, QueueError};
pub use refusal::Refusal;
pub use rule_check::InvalidRule;
pub use rules::{MatchInput, RuleError, Rules, Ruling};
pub use suggestions::{DayStats, PolicyStats, Suggestion};
pub use tool_call::{EditError, ToolCall};
pub use verdict::VerdictError;
