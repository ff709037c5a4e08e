//! A built-in server, in the same process: one JSON-RPC message on each line of a pipe in memory.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use drawbridge_model::ids::ServerId;
use drawbridge_store::logs::Logs;
use futures_util::future::BoxFuture;
use tokio::{
    io::{DuplexStream, ReadHalf, duplex, split},
    task::JoinHandle,
    time::timeout,
};

use super::{
    EndReason, EventSender, RpcResponse, TransportError, TransportRequest,
    line_channel::{self, Inbound, LineChannel},
    pending::Pending,
};

/// How many bytes each direction of the pipe holds before its writer waits.
const PIPE_BYTES: usize = 64 * 1024;
/// How long a built-in server may take to end before it is aborted.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A running built-in server and the requests in flight to it.
pub struct InMemoryTransport {
    channel: LineChannel,
    stopped: Arc<AtomicBool>,
    server_task: Mutex<Option<JoinHandle<()>>>,
}

impl InMemoryTransport {
    /// Starts a built-in server: `serve` gets the server's end of the pipe, and returns a future
    /// that ends when the pipe is closed.
    pub fn start(
        server: ServerId,
        serve: impl FnOnce(DuplexStream) -> BoxFuture<'static, ()>,
        logs: Logs,
        non_jsonrpc_lines: Arc<AtomicU32>,
        events: EventSender,
    ) -> Self {
        let (own_end, server_end) = duplex(PIPE_BYTES);
        let (reader, writer) = split(own_end);
        let inbound = Arc::new(Inbound {
            server,
            logs,
            pending: Pending::default(),
            non_jsonrpc_lines,
        });
        let stopped = Arc::new(AtomicBool::new(false));
        let server_task = tokio::spawn(serve(server_end));
        let (channel, outgoing) = LineChannel::new(inbound.clone());
        // A failed write means that the server has ended, which the reader reports.
        tokio::spawn(async move { drop(line_channel::write_messages(writer, outgoing).await) });
        tokio::spawn(read_until_end(reader, inbound, stopped.clone(), events));
        Self {
            channel,
            stopped,
            server_task: Mutex::new(Some(server_task)),
        }
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
        self.stopped.store(true, Ordering::Relaxed);
        self.channel.close_outbox();
        let server_task = self
            .server_task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(mut server_task) = server_task
            && timeout(END_TIMEOUT, &mut server_task).await.is_err()
        {
            server_task.abort();
        }
    }
}

async fn read_until_end(
    reader: ReadHalf<DuplexStream>,
    inbound: Arc<Inbound>,
    stopped: Arc<AtomicBool>,
    events: EventSender,
) {
    // A built-in server writes nothing but messages, so it never exceeds the limit on non-JSON-RPC
    // lines.
    line_channel::read_messages(reader, &inbound, &events).await;
    let reason = if stopped.load(Ordering::Relaxed) {
        EndReason::Stopped
    } else {
        EndReason::BuiltInEnded
    };
    line_channel::report_end(&inbound, reason, &events).await;
}
