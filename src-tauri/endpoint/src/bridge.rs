//! The stdio bridge: forwards JSON-RPC messages, one per line, from stdin to a hub, over the hub's
//! local socket or at its URL, and writes the hub's messages to stdout, one per line. Messages that
//! belong to a request precede its answer. The bridge also writes JSON-RPC errors of its own, for
//! instance if the hub does not answer. Nothing else is ever written to stdout.

mod hub_session;

use std::{collections::HashMap, io, path::Path, pin::pin, time::Duration};

use bytes::Bytes;
use drawbridge_hub::api::{ApiError, ErrorCode};
use drawbridge_jsonrpc::{
    client_message::{self, ClientMessage, ParseError},
    encode,
    rpc::{RpcError, code},
};
use drawbridge_model::protocol::meta;
use drawbridge_upstream::lines::{Line, next_line};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufRead, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

use self::hub_session::HubSession;
use crate::{ApiClient, body::MAX_BODY_BYTES};

/// The largest number of messages from the hub that wait to be written.
const MAX_QUEUED_MESSAGES: usize = 64;

/// How long to wait for the answers in flight after stdin has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause before each search for the next hub, after a hub has ended.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// A connection to a hub, which keeps a local hub from ending for lack of use.
pub struct HubConnection {
    api: ApiClient,
    /// The open response that keeps a local hub running.
    presence: Option<reqwest::Response>,
}

/// Connects to the hub of `data_dir`, and keeps the hub from ending for lack of use.
///
/// # Errors
/// Returns `unavailable` if no hub runs there, or if the hub is ending.
pub async fn connect(data_dir: &Path) -> Result<HubConnection, ApiError> {
    let api = ApiClient::local(data_dir)?;
    match api.keep_hub_running().await {
        Ok(presence) => Ok(HubConnection {
            api,
            presence: Some(presence),
        }),
        // An older hub has no such route, and never ends for lack of use.
        Err(error) if error.code == ErrorCode::NotFound => Ok(HubConnection {
            api,
            presence: None,
        }),
        Err(error) => Err(error),
    }
}

/// Returns a connection to the hub at `url`, as the client with this token. The first request opens
/// the connection. Nothing has to keep this hub running.
///
/// # Errors
/// Returns `invalid` if `url` is not an HTTP URL.
pub fn connect_remote(url: &str, token: String) -> Result<HubConnection, ApiError> {
    Ok(HubConnection {
        api: ApiClient::remote(url, Some(token))?,
        presence: None,
    })
}

impl HubConnection {
    /// Keeps a local hub running while the future is polled. If the hub ends, keeps the next hub of
    /// the data folder running.
    async fn keep_alive(self) {
        let Self { api, mut presence } = self;
        if api.remote_origin().is_some() {
            return;
        }
        loop {
            if let Some(mut stream) = presence.take() {
                while let Ok(Some(_)) = stream.chunk().await {}
            }
            sleep(RECONNECT_PAUSE).await;
            presence = api.keep_hub_running().await.ok();
        }
    }
}

/// Forwards messages between `input` and a hub, as the client with this name, which works in the
/// folder `project`. When `input` has ended, waits up to 60 s for the answers to the requests in
/// flight. When `stop` completes, does not wait for them. In either case, the client's session at
/// the hub ends too.
///
/// # Errors
/// Returns an error if `output` cannot be written.
pub async fn run(
    hub: HubConnection,
    client: &str,
    project: Option<&str>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Unpin,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (messages, hub_messages) = mpsc::channel(MAX_QUEUED_MESSAGES);
    let api = hub.api.clone();
    let mut presence_task = JoinSet::new();
    presence_task.spawn(hub.keep_alive());
    let hub = HubSession::new(api, client, project, messages);
    let (answers, stream_reader) = (JoinSet::new(), JoinSet::new());
    let mut bridge = Bridge {
        hub,
        output,
        hub_messages,
        answers,
        in_flight: HashMap::new(),
        stream_reader,
    };
    let (sender, mut lines) = mpsc::channel(16);
    let reader = tokio::spawn(read_lines(BufReader::new(input), sender));
    let mut stop = pin!(stop);
    let is_stopped = loop {
        tokio::select! {
            () = &mut stop => break true,
            line = lines.recv() => match line {
                Some(line) => bridge.forward_line(line).await?,
                None => break false,
            },
            Some(message) = bridge.hub_messages.recv() => bridge.write(&message).await?,
            Some(result) = bridge.answers.join_next() => bridge.write_answer(result.ok()).await?,
        }
    };
    reader.abort();
    bridge.stream_reader.shutdown().await;
    if is_stopped {
        bridge.answers.shutdown().await;
    } else {
        let _ = timeout(DRAIN_TIMEOUT, bridge.write_remaining_answers()).await;
    }
    bridge.hub.close().await;
    Ok(())
}

/// A request's id, and the message that answers the request.
type Answer = (String, Bytes);

struct Bridge<W> {
    hub: HubSession,
    output: W,
    /// Messages from the hub that are not answers.
    hub_messages: mpsc::Receiver<Bytes>,
    answers: JoinSet<Answer>,
    /// The handles of the tasks in `answers`, by the ids of their requests.
    in_flight: HashMap<String, AbortHandle>,
    /// The task that reads the session's stream, after `initialize`.
    stream_reader: JoinSet<()>,
}

impl<W: AsyncWrite + Unpin> Bridge<W> {
    async fn forward_line(&mut self, line: Line) -> io::Result<()> {
        let bytes = match line {
            Line::Whole(bytes) => Bytes::from(bytes),
            Line::TooLong(_) => {
                let error = RpcError::new(
                    code::INVALID_REQUEST,
                    format!(
                        "the message is longer than {} MiB, which is the limit",
                        MAX_BODY_BYTES >> 20
                    ),
                );
                return self.write(&encode::encode_error(None, &error)).await;
            }
        };
        match client_message::parse(&bytes) {
            Err(ParseError { id, error }) => self.write(&encode::encode_error(id, &error)).await,
            Ok(ClientMessage::Request { id, method, params }) => {
                let (id, version) = (id.as_json().to_owned(), meta::named_revision(params));
                if version.is_none() && method == "initialize" {
                    // Wait for the answer, because it names the session that later messages need.
                    let answer = self.hub.initialize(&id, bytes).await;
                    self.write(&answer).await?;
                    self.stream_reader.shutdown().await;
                    self.stream_reader
                        .spawn(self.hub.clone().forward_messages());
                    return Ok(());
                }
                self.start_request(id, bytes, version);
                Ok(())
            }
            Ok(ClientMessage::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    self.cancel_request(params);
                } else {
                    self.hub.notify(bytes).await;
                }
                Ok(())
            }
            Ok(ClientMessage::Response { .. }) => {
                self.hub.notify(bytes).await;
                Ok(())
            }
        }
    }

    /// Forwards a request. If the request names its revision in `_meta`, it belongs to no session.
    fn start_request(&mut self, id: String, message: Bytes, version: Option<String>) {
        let hub = self.hub.clone();
        let key = id.clone();
        let handle = self.answers.spawn(async move {
            let answer = match version {
                Some(version) => hub.request_stateless(&id, message, &version).await,
                None => hub.request(&id, message).await,
            };
            (id, answer)
        });
        self.in_flight.insert(key, handle);
    }

    /// Cancels a request. Dropping its task closes the connection, and the hub then cancels the
    /// request. The client gets no answer.
    fn cancel_request(&mut self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            request: &'a RawValue,
        }
        let cancelled =
            params.and_then(|params| serde_json::from_str::<Cancelled<'_>>(params.get()).ok());
        if let Some(handle) =
            cancelled.and_then(|cancelled| self.in_flight.remove(cancelled.request.get()))
        {
            handle.abort();
        }
    }

    async fn write_answer(&mut self, answer: Option<Answer>) -> io::Result<()> {
        // The answer is `None` if the request was cancelled. If the request was cancelled after its
        // answer arrived, the id is no longer in `in_flight`, and the answer is dropped.
        let Some((id, line)) = answer else {
            return Ok(());
        };
        while let Ok(message) = self.hub_messages.try_recv() {
            self.write(&message).await?;
        }
        match self.in_flight.remove(&id) {
            Some(_) => self.write(&line).await,
            None => Ok(()),
        }
    }

    async fn write_remaining_answers(&mut self) -> io::Result<()> {
        loop {
            tokio::select! {
                biased;
                Some(message) = self.hub_messages.recv() => self.write(&message).await?,
                result = self.answers.join_next() => match result {
                    Some(result) => self.write_answer(result.ok()).await?,
                    None => return Ok(()),
                },
            }
        }
    }

    async fn write(&mut self, message: &[u8]) -> io::Result<()> {
        self.output.write_all(&to_line(message)).await?;
        self.output.flush().await
    }
}

/// Puts JSON on one line. JSON has line breaks only between tokens, so a space can replace them.
fn to_line(message: &[u8]) -> Vec<u8> {
    let mut line: Vec<u8> = message
        .iter()
        .map(|b| if matches!(b, b'\n' | b'\r') { b' ' } else { *b })
        .collect();
    line.push(b'\n');
    line
}

/// Sends each line of the input that is not blank.
async fn read_lines(mut input: impl AsyncBufRead + Unpin, lines: mpsc::Sender<Line>) {
    while let Ok(Some(line)) = next_line(&mut input, MAX_BODY_BYTES).await {
        let is_blank = matches!(&line, Line::Whole(bytes) if bytes.trim_ascii().is_empty());
        if !is_blank && lines.send(line).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
