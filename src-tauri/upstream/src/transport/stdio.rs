//! A server as a subprocess: one JSON-RPC message on each line of its stdin and stdout.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use drawbridge_model::{
    ids::ServerId,
    log::{Level, LogKind},
    sandbox::EnforcedSandbox,
};
use drawbridge_store::logs::Logs;
use tokio::{
    io::BufReader,
    process::{ChildStderr, ChildStdin, ChildStdout},
    time::{Instant, timeout, timeout_at},
};

use super::{
    EndReason, EventSender, RpcResponse, TransportError, TransportRequest,
    line_channel::{self, Inbound, LineChannel, MAX_NON_JSONRPC_LINES, Outgoing},
    pending::Pending,
    process::{self, Launch, Pipes, Process, ProcessExit, SpawnError, guard::Guard},
    rate_limit::RateLimit,
};
use crate::lines::{Line, next_line};

const MAX_STDERR_LINE: usize = 64 * 1024;
/// How long the output of an ended server is still read.
const FINAL_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// A running server process and the requests in flight to it.
pub struct StdioTransport {
    channel: LineChannel,
    process: Arc<Process>,
    shared: Arc<Shared>,
}

struct Shared {
    inbound: Arc<Inbound>,
    last_stderr_line: Mutex<String>,
    /// Whether [`StdioTransport::close`] was called. If so, the server's exit is reported as
    /// [`EndReason::Stopped`], even if the server exits by itself.
    is_closed: AtomicBool,
}

impl StdioTransport {
    /// Starts the server's process. `non_jsonrpc_lines` counts the lines on its stdout that are not
    /// JSON-RPC.
    ///
    /// # Errors
    /// Returns an error if the process cannot be started.
    pub async fn start(
        server: ServerId,
        launch: &Launch,
        guard: &Guard,
        logs: Logs,
        non_jsonrpc_lines: Arc<AtomicU32>,
        events: EventSender,
    ) -> Result<Self, SpawnError> {
        let (
            process,
            Pipes {
                stdin,
                stdout,
                stderr,
            },
        ) = Process::spawn(launch, guard).await?;
        let process = Arc::new(process);
        let inbound = Arc::new(Inbound {
            server,
            logs,
            pending: Pending::default(),
            non_jsonrpc_lines,
        });
        let shared = Arc::new(Shared {
            inbound: inbound.clone(),
            last_stderr_line: Mutex::default(),
            is_closed: AtomicBool::new(false),
        });
        let (channel, outgoing) = LineChannel::new(inbound);
        tokio::spawn(write_messages(stdin, outgoing, process.clone()));
        let stderr_task = process::spawn_on_log_thread(drain_stderr(stderr, shared.clone()));
        tokio::spawn(read_until_end(
            stdout,
            shared.clone(),
            process.clone(),
            events,
            stderr_task,
        ));
        Ok(Self {
            channel,
            process,
            shared,
        })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn sandbox(&self) -> Option<EnforcedSandbox> {
        self.process.sandbox()
    }

    pub fn end_reason(&self) -> Option<EndReason> {
        self.channel.end_reason()
    }

    /// See [`super::Transport::request`].
    pub async fn request(
        &self,
        request: TransportRequest<'_>,
    ) -> Result<RpcResponse, TransportError> {
        self.channel.request(request).await
    }

    /// Sends a message that has no answer, without waiting.
    pub fn try_send(&self, message: Vec<u8>) -> Result<(), TransportError> {
        self.channel.try_send(message)
    }

    /// See [`super::Transport::close`].
    pub async fn close(&self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        // Closes the server's stdin.
        self.channel.close_outbox();
        self.process.stop().await;
    }
}

impl Shared {
    fn last_stderr_line(&self) -> MutexGuard<'_, String> {
        self.last_stderr_line
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write_messages(stdin: ChildStdin, outgoing: Outgoing, process: Arc<Process>) {
    if line_channel::write_messages(stdin, outgoing).await.is_err() {
        // Without its stdin, the server is of no use, even if its processes live on.
        process.stop().await;
    }
}

async fn read_until_end(
    stdout: ChildStdout,
    shared: Arc<Shared>,
    process: Arc<Process>,
    events: EventSender,
    stderr_task: tokio::task::JoinHandle<()>,
) {
    let mut messages = std::pin::pin!(line_channel::read_messages(
        stdout,
        &shared.inbound,
        &events
    ));
    let mut output_deadline = None;
    let is_flooded = tokio::select! {
        is_flooded = &mut messages => is_flooded,
        // A process that the server started may keep the stdout open for long, so the output is
        // read only for a short time after the server's end.
        _ = process.wait_for_exit() => {
            let end = *output_deadline.insert(Instant::now() + FINAL_OUTPUT_TIMEOUT);
            timeout_at(end, &mut messages).await.unwrap_or(false)
        }
    };
    if is_flooded {
        tokio::spawn(async move { process.stop().await });
        return line_channel::report_end(
            &shared.inbound,
            EndReason::NotJsonRpc {
                max: MAX_NON_JSONRPC_LINES,
            },
            &events,
        )
        .await;
    }
    let exit = timeout(Duration::from_secs(2), process.wait_for_exit()).await;
    if exit.is_err() {
        let process = process.clone();
        tokio::spawn(async move { process.stop().await });
    }
    let _ = timeout_at(
        output_deadline.unwrap_or_else(|| Instant::now() + FINAL_OUTPUT_TIMEOUT),
        stderr_task,
    )
    .await;
    let last_output = shared.inbound.logs.mask_text(&shared.last_stderr_line());
    let reason = match exit {
        _ if shared.is_closed.load(Ordering::Relaxed) => EndReason::Stopped,
        Ok(ProcessExit::Stopped) => EndReason::Stopped,
        Ok(exit) => EndReason::Exited { exit, last_output },
        Err(_) => EndReason::StdoutClosed { last_output },
    };
    line_channel::report_end(&shared.inbound, reason, &events).await;
}

async fn drain_stderr(stderr: ChildStderr, shared: Arc<Shared>) {
    let mut reader = BufReader::new(stderr);
    let mut rate_limit = RateLimit::for_log_lines();
    while let Ok(Some(Line::Whole(line) | Line::TooLong(line))) =
        next_line(&mut reader, MAX_STDERR_LINE).await
    {
        rate_limit.spend(line.len()).await;
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            shared.inbound.logs.add_server_output(
                &shared.inbound.server,
                LogKind::Stderr,
                Level::Info,
                None,
                &text,
            );
            text.trim().clone_into(&mut shared.last_stderr_line());
        }
    }
}

#[cfg(test)]
mod tests;
