//! `drawbridge pause` and `resume`: block all calls, and allow them again.

use drawbridge_hub::api::drawbridge::{PauseCalls, ResumeCalls};

use crate::{connection::Context, exit::Failure};

pub(crate) async fn pause(context: &Context) -> Result<(), Failure> {
    let words = "the drawbridge is raised: no call crosses until `drawbridge resume`";
    context
        .run_and_print(PauseCalls {}, |_| words.to_owned())
        .await
}

pub(crate) async fn resume(context: &Context) -> Result<(), Failure> {
    context
        .run_and_print(ResumeCalls {}, |_| {
            "the drawbridge is lowered: calls may cross".to_owned()
        })
        .await
}
