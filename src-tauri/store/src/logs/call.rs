//! The call that the current task carries out. The lines that the task logs belong to this call.

use drawbridge_model::ids::CallId;

tokio::task_local! {
    static CALL: CallId;
}

/// Runs `work` as a part of a call. Lines of the hub that the same task logs meanwhile belong to
/// the call.
pub async fn within_call<T>(call: CallId, work: impl Future<Output = T>) -> T {
    CALL.scope(call, work).await
}

/// Returns the call that the current task carries out, or `None` outside of [`within_call`].
pub fn current_call() -> Option<CallId> {
    CALL.try_with(Clone::clone).ok()
}
