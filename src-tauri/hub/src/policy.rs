//! Policy: whether a call may reach its server. A rule or a person decides; the decision is
//! recorded; only then is there a [`Permitted`] call, without which nothing can be forwarded.

mod conditions;
mod drawbridge;
mod gate;
mod queue;
mod refusal;
mod rules;

pub use conditions::{ConditionError, Conditions};
pub use drawbridge::Drawbridge;
pub use gate::{EditError, Gate, Permitted, ToolCall, check_edited_arguments};
pub use queue::{DecideError, Queue};
pub use refusal::Refusal;
pub use rules::{MatchInput, RuleError, Rules, Ruling};
