//! `drawbridge pause` and `resume`: block all calls, and allow them again.

use std::time::Duration;

use clap::Args;
use drawbridge_hub::api::drawbridge::{PauseCalls, ResumeCalls};

use crate::{
    context::Context,
    exit::Failure,
    time::{format_time, parse_duration},
};

#[derive(Debug, Args)]
pub(crate) struct Pause {
    /// Resume calls after this time, such as 15m or 1h; a week at most. Without it, calls stay
    /// paused until `drawbridge resume`
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    duration: Option<Duration>,
}

impl Pause {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        let for_s = self.duration.map(|duration| {
            u32::try_from(duration.as_secs()).expect("parse_duration allows at most a century")
        });
        context
            .run_and_print(PauseCalls { for_s }, |state| match state.resumes_at {
                Some(at) => format!(
                    "All calls are paused until {}. Run `drawbridge resume` to allow them earlier.",
                    format_time(at)
                ),
                None => {
                    "All calls are paused. Run `drawbridge resume` to allow them again.".to_owned()
                }
            })
            .await
    }
}

pub(crate) async fn resume(context: &Context) -> Result<(), Failure> {
    context
        .run_and_print(ResumeCalls {}, |_| "Calls are no longer paused.".to_owned())
        .await
}
