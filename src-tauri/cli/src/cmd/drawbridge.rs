//! `drawbridge pause` and `resume`: block all calls, and allow them again.

use drawbridge_hub::api::drawbridge::{PauseCalls, ResumeCalls};

use crate::{context::Context, exit::Failure};

pub(crate) async fn pause(context: &Context) -> Result<(), Failure> {
    context
        .run_and_print(PauseCalls {}, |_| {
            "All calls are paused. Run `drawbridge resume` to allow them again.".to_owned()
        })
        .await
}

pub(crate) async fn resume(context: &Context) -> Result<(), Failure> {
    context
        .run_and_print(ResumeCalls {}, |_| "Calls are no longer paused.".to_owned())
        .await
}
