//! Policy: whether a call may reach its server. A rule or a person decides; the decision is
//! recorded; only then is there a [`Permitted`] call, without which nothing can be forwarded.

mod conditions;
mod drawbridge;
mod gate;
mod permitted;
mod queue;
mod queue_limits;
mod record;
mod refusal;
mod rules;
mod tool_call;
mod verdict;

pub use conditions::{ConditionError, Conditions};
pub use drawbridge::Drawbridge;
pub use gate::{DecideError, Gate};
pub use permitted::Permitted;
pub use queue::{Queue, QueueError};
pub use refusal::Refusal;
pub use rules::{MatchInput, RuleError, Rules, Ruling};
pub use tool_call::{EditError, ToolCall};
pub use verdict::VerdictError;
