//! Policy: whether a call may cross. Rules decide, or a person does; the decision is written, and only
//! then there is a [`Permitted`] call, without which nothing can be forwarded.

mod gate;
mod queue;
mod rules;

pub use gate::{Gate, Permitted, Refusal, ToolCall};
pub use queue::{DecideError, Queue};
pub use rules::{Facts, GrantError, Rules, Ruling, is_suspended};
