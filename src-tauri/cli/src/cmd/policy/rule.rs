//! The arguments that describe a rule.

use std::time::Duration;

use clap::{Args, ValueEnum};
use drawbridge_model::{
    clock,
    policy::{Condition, Lifetime, ResultEffect, RuleSpec},
};

use super::{EffectArg, KindArg, Target, parse_condition};
use crate::time::parse_duration;

#[derive(Args)]
pub(crate) struct RuleArgs {
    /// A server, one tool of a server, or * for all servers
    #[arg(value_name = "SERVER[/TOOL]")]
    target: Target,
    /// The effect on these requests; optional with --result
    #[arg(required_unless_present = "result")]
    effect: Option<EffectArg>,
    /// Only requests of this client
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Only requests of the clients of this user
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only requests of this kind; conditions then apply to the params of the request [default:
    /// calls of tools; a deny without a tool, conditions or --read-only covers all kinds]
    #[arg(long, value_name = "KIND", value_enum)]
    kind: Option<KindArg>,
    /// Only calls whose arguments meet this condition: 'POINTER is JSON', 'POINTER one-of
    /// JSON-ARRAY', 'POINTER in FOLDER', 'POINTER host HOST', 'POINTER between MIN MAX' (- for no
    /// bound) or 'POINTER matches REGEX'. May be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = parse_condition)]
    when: Vec<Condition>,
    /// Only tools that the server marks read-only
    #[arg(long)]
    read_only: bool,
    /// The effect on the result
    #[arg(long, value_name = "EFFECT")]
    result: Option<ResultArg>,
    /// How long the rule lasts, such as 15m or 1h30m
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration, conflicts_with = "calls")]
    time: Option<Duration>,
    /// The number of calls after which the rule expires
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    calls: Option<u32>,
    /// A note for yourself
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    note: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum ResultArg {
    /// Mask secrets in the result
    Mask,
    /// Hold the result until you release it to the client
    Hold,
}

impl RuleArgs {
    pub(super) fn into_spec(self) -> RuleSpec {
        let lifetime = match (self.time, self.calls) {
            (Some(time), _) => Lifetime::Until {
                at: clock::time_after(time),
            },
            (None, Some(count)) => Lifetime::Calls { count },
            (None, None) => Lifetime::UntilDeleted,
        };
        RuleSpec {
            scope: self.target.into_scope(self.client, self.user, self.kind),
            read_only: self.read_only,
            conditions: self.when,
            effect: self.effect.map(Into::into),
            result: self.result.map(|result| match result {
                ResultArg::Mask => ResultEffect::Mask,
                ResultArg::Hold => ResultEffect::Hold,
            }),
            lifetime,
            note: self.note,
            disabled: false,
        }
    }
}
