//! A server as a subprocess that serves its own URL on this computer. Drawbridge starts the program
//! before it connects to the URL, and ends the program when it closes the connection.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    display_url::DisplayUrl,
    ids::ServerId,
    log::{Level, LogKind},
    sandbox::EnforcedSandbox,
};
use drawbridge_store::logs::Logs;
use tokio::{
    io::{AsyncRead, BufReader},
    net::TcpStream,
    process::ChildStdin,
    time::{sleep, timeout},
};
use url::Url;

use super::{
    EndReason, EventSender, Transport,
    process::{self, Launch, Pipes, Process, ProcessExit, SpawnError, guard::Guard},
    rate_limit::RateLimit,
};
use crate::lines::{Line, next_line};

const MAX_LINE: usize = 64 * 1024;
/// The pause between two attempts to reach a program that is still starting.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// How long another program at the same address may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The addresses of the programs that this hub runs, each with the number of programs that have
/// this address. The separate session that verifies a server, for instance, has a program of its
/// own with the same address.
static OWN_ADDRESSES: Mutex<BTreeMap<(String, u16), usize>> = Mutex::new(BTreeMap::new());

/// A running program whose URL can be reached.
pub struct LocalHttpServer {
    process: Arc<Process>,
    _address: OwnAddress,
    /// Kept open, because some programs end when their stdin is closed.
    stdin: Mutex<Option<ChildStdin>>,
}

/// Why the program does not serve its URL.
#[derive(Debug, thiserror::Error)]
pub enum LocalHttpServerError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("{0}, before it listened at its URL")]
    Ended(ProcessExit),
    #[error(transparent)]
    NotListening(NotListening),
    #[error(transparent)]
    AddressInUse(AddressInUse),
}

/// Another program listens at the URL already, and would get the headers and secrets of the server.
#[derive(Debug, Clone, thiserror::Error)]
#[error("Another program already listens at {url}")]
pub struct AddressInUse {
    pub url: DisplayUrl,
}

/// The program did not listen at its URL in time.
#[derive(Debug, Clone, thiserror::Error)]
#[error("The program did not listen at {url} within {} s", .timeout.as_secs_f32())]
pub struct NotListening {
    pub url: DisplayUrl,
    pub timeout: Duration,
}

impl LocalHttpServer {
    /// Starts the program, and waits until a connection to the URL succeeds.
    ///
    /// # Errors
    /// Returns an error if another program listens at the URL already, or if the program cannot be
    /// started, ends, or does not listen in time. Nothing of the program is left running then.
    pub async fn start(
        server: &ServerId,
        launch: &Launch,
        url: &str,
        timeout: Duration,
        guard: &Guard,
        logs: &Logs,
    ) -> Result<Self, LocalHttpServerError> {
        let address = OwnAddress::reserve(url).await?;
        let (
            process,
            Pipes {
                stdin,
                stdout,
                stderr,
            },
        ) = Process::spawn(launch, guard).await?;
        process::spawn_on_log_thread(log_output(
            stdout,
            LogKind::Stdout,
            server.clone(),
            logs.clone(),
        ));
        process::spawn_on_log_thread(log_output(
            stderr,
            LogKind::Stderr,
            server.clone(),
            logs.clone(),
        ));
        let local_server = Self {
            process: Arc::new(process),
            _address: address,
            stdin: Mutex::new(Some(stdin)),
        };
        let listens = tokio::select! {
            exit = local_server.process.wait_for_exit() => Err(LocalHttpServerError::Ended(exit)),
            listens = wait_until_listening(url, timeout) => listens.then_some(()).ok_or_else(|| {
                let url = DisplayUrl::new(url);
                LocalHttpServerError::NotListening(NotListening { url, timeout })
            })
        };
        match listens {
            Ok(()) => Ok(local_server),
            Err(error) => {
                local_server.stop().await;
                Err(error)
            }
        }
    }

    /// Combines the program with the connection to its URL. Sends the end of the program to
    /// `events`.
    pub fn into_transport(self, transport: Transport, events: EventSender) -> Transport {
        let process = self.process.clone();
        tokio::spawn(async move {
            let reason = exit_reason(process.wait_for_exit().await);
            events.send_end(reason).await;
        });
        Transport::LocalHttp(Box::new((self, transport)))
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn sandbox(&self) -> Option<EnforcedSandbox> {
        self.process.sandbox()
    }

    pub(super) fn end_reason(&self) -> Option<EndReason> {
        self.process.exit().map(exit_reason)
    }

    /// Ends the program and its process tree.
    pub async fn stop(&self) {
        self.stdin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        self.process.stop().await;
    }
}

fn exit_reason(exit: ProcessExit) -> EndReason {
    EndReason::Exited {
        exit,
        last_output: String::new(),
    }
}

/// Keeps the address of a program in [`OWN_ADDRESSES`] until this value is dropped; `None` if the
/// URL has no address.
struct OwnAddress(Option<(String, u16)>);

impl OwnAddress {
    /// Registers the address of a URL.
    ///
    /// # Errors
    /// Returns an error if a program that this hub did not start listens at the URL.
    async fn reserve(url: &str) -> Result<Self, LocalHttpServerError> {
        let Some((host, port)) = address_of(url) else {
            return Ok(Self(None));
        };
        let connecting = timeout(CONNECT_TIMEOUT, TcpStream::connect((host.as_str(), port)));
        let is_taken = connecting.await.is_ok_and(|connected| connected.is_ok());
        let mut addresses = own_addresses();
        let count = addresses.entry((host.clone(), port)).or_default();
        if is_taken && *count == 0 {
            addresses.remove(&(host, port));
            let url = DisplayUrl::new(url);
            return Err(LocalHttpServerError::AddressInUse(AddressInUse { url }));
        }
        *count += 1;
        Ok(Self(Some((host, port))))
    }
}

impl Drop for OwnAddress {
    fn drop(&mut self) {
        let Some(address) = self.0.take() else { return };
        let mut addresses = own_addresses();
        if let Some(count) = addresses.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                addresses.remove(&address);
            }
        }
    }
}

fn own_addresses() -> MutexGuard<'static, BTreeMap<(String, u16), usize>> {
    OWN_ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the host and the port of a URL.
fn address_of(url: &str) -> Option<(String, u16)> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    Some((host, url.port_or_known_default()?))
}

/// Returns whether a connection to the URL succeeds in time.
async fn wait_until_listening(url: &str, time_limit: Duration) -> bool {
    let Some(address) = address_of(url) else {
        return false;
    };
    let connected = async {
        while TcpStream::connect((address.0.as_str(), address.1))
            .await
            .is_err()
        {
            sleep(RETRY_PAUSE).await;
        }
    };
    timeout(time_limit, connected).await.is_ok()
}

async fn log_output(output: impl AsyncRead + Unpin, kind: LogKind, server: ServerId, logs: Logs) {
    let mut reader = BufReader::new(output);
    let mut rate_limit = RateLimit::for_log_lines();
    while let Ok(Some(Line::Whole(line) | Line::TooLong(line))) =
        next_line(&mut reader, MAX_LINE).await
    {
        rate_limit.spend(line.len()).await;
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            logs.add_server_output(&server, kind, Level::Info, None, &text);
        }
    }
}

#[cfg(test)]
mod tests;
