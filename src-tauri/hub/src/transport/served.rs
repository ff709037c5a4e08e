//! A server as a subprocess that serves its own URL on this machine. The program is started and
//! ended with the connection to the URL.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, BufReader},
    net::TcpStream,
    process::ChildStdin,
    time::{Instant, sleep},
};
use url::Url;

use super::{
    FromServer, Link, ToUpstream,
    pace::Pace,
    process::{self, Launch, Pipes, Process, SpawnError, guard::Guard},
};
use crate::{
    lines::{Line, next_line},
    logs::Logs,
    model::{ids::ServerId, log::Level},
};

const MAX_LINE: usize = 64 * 1024;
/// The pause between two attempts to reach a program that is still starting.
const PAUSE: Duration = Duration::from_millis(100);

/// A running program whose URL can be reached.
pub struct Served {
    process: Arc<Process>,
    /// Some programs end when their stdin is closed.
    stdin: Mutex<Option<ChildStdin>>,
}

/// Why the program does not serve its URL.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("its program ended while it was being started: {0}")]
    Ended(String),
    #[error("its program did not listen at {url} within {} s", .patience.as_secs_f32())]
    Silent { url: String, patience: Duration },
}

impl Served {
    /// Starts the program, and waits until a connection to the URL succeeds.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started, ends, or does not listen in time. Nothing
    /// of the program is left running then.
    pub async fn start(
        server: &ServerId,
        launch: &Launch,
        url: &str,
        patience: Duration,
        guard: &Guard,
        logs: &Logs,
    ) -> Result<Self, ServedError> {
        let (
            process,
            Pipes {
                stdin,
                stdout,
                stderr,
            },
        ) = Process::spawn(launch, guard).await?;
        process::beside(drain(stdout, "stdout", server.clone(), logs.clone()));
        process::beside(drain(stderr, "stderr", server.clone(), logs.clone()));
        let served = Self {
            process: Arc::new(process),
            stdin: Mutex::new(Some(stdin)),
        };
        let listens = tokio::select! {
            how = served.process.exited() => Err(ServedError::Ended(how)),
            listens = wait_for(url, patience) => {
                listens.then_some(()).ok_or_else(|| ServedError::Silent { url: url.to_owned(), patience })
            }
        };
        match listens {
            Ok(()) => Ok(served),
            Err(error) => {
                served.stop().await;
                Err(error)
            }
        }
    }

    /// Combines the program with the connection to it. When the program ends, `upstream` is
    /// notified.
    pub fn with(self, link: Link, upstream: ToUpstream) -> Link {
        let process = self.process.clone();
        tokio::spawn(async move {
            let how = process.exited().await;
            upstream.tell(FromServer::Ended(how)).await;
        });
        Link::Served(Box::new((self, link)))
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn ended(&self) -> Option<String> {
        self.process.ended()
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

/// Returns whether a connection to the URL succeeds in time.
async fn wait_for(url: &str, patience: Duration) -> bool {
    let url = Url::parse(url).ok();
    let address = url.as_ref().and_then(|url| {
        Some((
            url.host_str()?.trim_matches(['[', ']']),
            url.port_or_known_default()?,
        ))
    });
    let Some(address) = address else { return false };
    let end = Instant::now() + patience;
    while Instant::now() < end {
        if TcpStream::connect(address).await.is_ok() {
            return true;
        }
        sleep(PAUSE).await;
    }
    false
}

async fn drain(from: impl AsyncRead + Unpin, area: &'static str, server: ServerId, logs: Logs) {
    let mut reader = BufReader::new(from);
    let mut pace = Pace::of_words();
    while let Ok(Some(Line::Whole(line) | Line::TooLong(line))) =
        next_line(&mut reader, MAX_LINE).await
    {
        pace.spend(line.len()).await;
        let text = String::from_utf8_lossy(&line);
        if !text.trim().is_empty() {
            logs.add_server_line(&server, Level::Info, area, &text);
        }
    }
}
