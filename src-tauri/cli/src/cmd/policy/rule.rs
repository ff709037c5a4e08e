//! A rule as it is written on the command line.

use std::time::Duration;

use clap::{Args, ValueEnum};
use drawbridge_hub::{
    clock,
    model::{
        ids::Timestamp,
        policy::{Condition, Life, ResultEffect, RuleText},
    },
};

use super::{EffectArg, Target, condition};
use crate::cmd::approvals::duration;

#[derive(Args)]
pub(crate) struct RuleArgs {
    /// SERVER, SERVER/TOOL, or * for all servers.
    target: Target,
    /// What happens to the call; may be left out where --result is given.
    #[arg(required_unless_present = "result")]
    effect: Option<EffectArg>,
    /// Only for calls of this client.
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Only where the arguments are so: 'POINTER is JSON', 'POINTER one-of JSON-ARRAY', 'POINTER in FOLDER',
    /// 'POINTER host HOST', 'POINTER between MIN MAX' (- for none), 'POINTER matches REGEX'. May be given several times.
    #[arg(long, value_name = "CONDITION", value_parser = condition)]
    when: Vec<Condition>,
    /// Only tools of which their server says that they change nothing.
    #[arg(long)]
    read_only: bool,
    /// What happens to the result.
    #[arg(long, value_name = "EFFECT")]
    result: Option<ResultArg>,
    /// For so long, such as 15m.
    #[arg(long = "for", value_name = "TIME", value_parser = duration, conflicts_with = "calls")]
    time: Option<Duration>,
    /// For so many calls.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    calls: Option<u32>,
    /// Your words about it.
    #[arg(long, default_value = "")]
    note: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum ResultArg {
    /// Mask secrets in it.
    Mask,
    /// Show it to you before the client gets it.
    Hold,
}

impl RuleArgs {
    pub(super) fn text(self) -> RuleText {
        let life = match (self.time, self.calls) {
            (Some(time), _) => Life::Until { at: after(time) },
            (None, Some(count)) => Life::Calls { count },
            (None, None) => Life::UntilRevoked,
        };
        RuleText {
            scope: self.target.scope(self.client),
            read_only: self.read_only,
            when: self.when,
            effect: self.effect.map(Into::into),
            result: self.result.map(|result| match result {
                ResultArg::Mask => ResultEffect::Mask,
                ResultArg::Hold => ResultEffect::Hold,
            }),
            life,
            note: self.note,
        }
    }
}

fn after(time: Duration) -> Timestamp {
    Timestamp(
        clock::now()
            .0
            .saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)),
    )
}
