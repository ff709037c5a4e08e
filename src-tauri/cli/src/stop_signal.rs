//! The signals with which the system, a terminal or a client ends a command.

use crate::exit::Failure;

/// Registers the signal handlers, and returns a future that completes on the first SIGTERM or
/// Ctrl-C.
#[cfg(unix)]
pub(crate) fn wait_for_stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Returns a future that completes on the first Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn wait_for_stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
