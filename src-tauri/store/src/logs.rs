//! Logs: lines of the hub and of each server, in a rotating file, in memory for the screens, and as
//! events for subscribers. Secrets are masked here, because every line passes this module.

mod layer;
mod mask;

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    io::Write,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use drawbridge_model::{
    clock,
    event::{Event, Events},
    ids::ServerId,
    log::{Level, LogLine},
};
use tracing_appender::{
    non_blocking::{NonBlocking, WorkerGuard},
    rolling,
};

use crate::{redact, secrets::Secret};

/// Lines kept in memory.
const MAX_LINES: usize = 5_000;
/// Longer lines are cut.
const MAX_CHARS: usize = 4_000;
/// Lines per second that one server may add. Further lines are counted and dropped.
const MAX_PER_SECOND: u32 = 200;
/// The maximum length of a server's words in a reason or an error.
const MAX_REASON_CHARS: usize = 500;
/// The part of a text that is searched for secrets, in bytes. A secret that reaches beyond the cut
/// of the line still fits.
const MAX_BYTES: usize = 64 * 1024;
const FILES_KEPT: usize = 7;

/// The logs. Cheap to clone.
#[derive(Clone)]
pub struct Logs {
    inner: Arc<Mutex<Inner>>,
    events: Events,
}

struct Inner {
    lines: VecDeque<LogLine>,
    next_seq: u32,
    masks: mask::Masks,
    rates: HashMap<ServerId, Rate>,
    file: NonBlocking,
    /// Writes the last lines to the file when it is dropped.
    worker: Option<WorkerGuard>,
}

struct Rate {
    since: Instant,
    lines: u32,
    dropped: u32,
}

/// Which lines to read.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    pub server: Option<ServerId>,
    pub level: Option<Level>,
    pub text: Option<String>,
    pub limit: usize,
}

impl Logs {
    /// Opens the log: `drawbridge.<date>.log` in `folder`, with one file per day, of which seven
    /// are kept.
    ///
    /// # Errors
    /// Returns an error if no file can be created in `folder`.
    pub fn open(folder: &Path, events: Events) -> Result<Self, rolling::InitError> {
        let appender = rolling::Builder::new()
            .rotation(rolling::Rotation::DAILY)
            .filename_prefix("drawbridge")
            .filename_suffix("log")
            .max_log_files(FILES_KEPT)
            .build(folder)?;
        let (file, worker) = tracing_appender::non_blocking(appender);
        let inner = Inner {
            lines: VecDeque::new(),
            next_seq: 1,
            masks: mask::Masks::default(),
            rates: HashMap::new(),
            file,
            worker: Some(worker),
        };
        Ok(Self {
            inner: Arc::new(Mutex::new(inner)),
            events,
        })
    }

    /// Makes this the log of the whole process, unless the process has one already.
    pub fn install(&self) {
        layer::install(self.clone());
    }

    /// Writes the last lines to the file. Later lines stay in memory only.
    pub async fn close(&self) {
        let worker = self.inner().worker.take();
        // The worker blocks until it has written the lines.
        let _ = tokio::task::spawn_blocking(move || drop(worker)).await;
    }

    /// Masks the secret in every later line.
    pub fn add_secret(&self, secret: &Secret) {
        self.inner().masks.add(secret.expose());
    }

    /// Returns the text as it may be shown and stored: one short line with masked secrets.
    pub fn mask_text(&self, text: &str) -> String {
        mask::to_printable(&self.inner().masks.apply(truncate(text)), MAX_REASON_CHARS)
    }

    /// Returns JSON as it may be stored. Masks known secrets, and values whose name or format is
    /// typical of a secret.
    pub fn redact_json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        let inner = self.inner();
        redact::redact_json(json, &|text| inner.masks.apply_if_found(text))
    }

    /// Adds a line of the hub.
    pub fn add_hub_line(&self, level: Level, area: &str, text: &str) {
        self.add(level, None, area, text);
    }

    /// Adds a line that a server wrote. If the server writes too many per second, the lines are
    /// dropped and counted.
    pub fn add_server_line(&self, server: &ServerId, level: Level, area: &str, text: &str) {
        let dropped = match self.inner().admit_line(server) {
            Admission::Dropped => return,
            Admission::Admitted { dropped } => dropped,
        };
        if dropped > 0 {
            self.add(
                Level::Warn,
                Some(server),
                "hub",
                &format!("dropped {dropped} lines because there were too many per second"),
            );
        }
        self.add(level, Some(server), area, text);
    }

    /// Returns the newest lines that match, oldest first.
    pub fn list(&self, filter: &LogFilter) -> Vec<LogLine> {
        let inner = self.inner();
        let wanted = |line: &&LogLine| filter.matches(line);
        let mut lines: Vec<_> = inner
            .lines
            .iter()
            .rev()
            .filter(wanted)
            .take(filter.limit)
            .cloned()
            .collect();
        lines.reverse();
        lines
    }

    fn add(&self, level: Level, server: Option<&ServerId>, area: &str, text: &str) {
        let line = self.inner().add(level, server, area, text);
        self.events.publish(Event::LogAdded { line });
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the beginning of a text. This bounds the search for secrets in a flood.
fn truncate(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

impl LogFilter {
    fn matches(&self, line: &LogLine) -> bool {
        self.server
            .as_ref()
            .is_none_or(|server| line.server.as_ref() == Some(server))
            && self.level.is_none_or(|level| line.level >= level)
            && self
                .text
                .as_ref()
                .is_none_or(|text| line.text.to_lowercase().contains(&text.to_lowercase()))
    }
}

enum Admission {
    Admitted { dropped: u32 },
    Dropped,
}

impl Inner {
    fn add(&mut self, level: Level, server: Option<&ServerId>, area: &str, text: &str) -> LogLine {
        let text = mask::to_printable(&self.masks.apply(truncate(text)), MAX_CHARS);
        let line = LogLine {
            seq: self.next_seq,
            at: clock::now(),
            level,
            server: server.cloned(),
            area: area.to_owned(),
            text,
        };
        self.next_seq = self.next_seq.wrapping_add(1);
        let source = line.server.as_ref().map_or("hub", ServerId::as_str);
        let _ = writeln!(
            self.file,
            "{} {:?} {source} {area}: {}",
            line.at.0, line.level, line.text
        );
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line.clone());
        line
    }

    fn admit_line(&mut self, server: &ServerId) -> Admission {
        let rate = self.rates.entry(server.clone()).or_insert_with(|| Rate {
            since: Instant::now(),
            lines: 0,
            dropped: 0,
        });
        let mut dropped = 0;
        if rate.since.elapsed().as_secs() >= 1 {
            dropped = rate.dropped;
            *rate = Rate {
                since: Instant::now(),
                lines: 0,
                dropped: 0,
            };
        }
        if rate.lines >= MAX_PER_SECOND {
            rate.dropped += 1;
            return Admission::Dropped;
        }
        rate.lines += 1;
        Admission::Admitted { dropped }
    }
}

#[cfg(test)]
mod tests;
