//! The log lines of the hub and of each server. Each of these sources has files and a ring in
//! memory of its own, and every line is also published as an event. Secrets are masked here,
//! because every line passes this module.

mod call;
mod files;
mod history;
mod layer;
mod mask;
mod ring;
mod writer;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drawbridge_model::{
    clock,
    event::{Event, Events},
    ids::{CallId, ServerId, Timestamp},
    log::{Level, LogKind, LogLine, LogPage},
};
use tokio::{sync::Notify, time::Instant};

pub use self::{
    call::{current_call, within_call},
    files::LogRetention,
};
use self::{
    files::Tail,
    ring::{Ring, RingLimits},
    writer::LogWriter,
};
use crate::{redact, secrets::Secret};

/// How many lines of the hub, and of each server, are kept in memory.
const HUB_RING: RingLimits = RingLimits {
    lines: 5_000,
    bytes: 4 * 1024 * 1024,
};
const SERVER_RING: RingLimits = RingLimits {
    lines: 2_000,
    bytes: 1024 * 1024,
};
/// How many bytes of each source's files are read back into memory at the start.
const HUB_READ_BACK: u64 = 1024 * 1024;
const SERVER_READ_BACK: u64 = 256 * 1024;
/// The most servers whose lines are in memory.
const MAX_SERVERS: usize = 1_000;
/// The maximum length of a line. Longer lines are cut.
const MAX_CHARS: usize = 4_000;
/// The most lines per second that one server may add, and the most lines per second about calls.
/// Further lines are dropped, and their number is logged.
const MAX_LINES_PER_SECOND: u32 = 200;
/// The most bytes per second that one server may add, and the most bytes per second of lines about
/// calls. The line that reaches the limit is still added.
const MAX_BYTES_PER_SECOND: usize = 256 * 1024;
/// The period for which lines are counted.
const RATE_PERIOD: Duration = Duration::from_secs(1);
/// The most bytes of the files that one request searches.
const MAX_SCANNED_BYTES: u64 = 8 * 1024 * 1024;
/// The maximum length of the text that [`Logs::mask_text`] returns.
const MAX_REASON_CHARS: usize = 500;
/// How many bytes of a text are searched for secrets. This is more than a line keeps, so that a
/// secret at the cut of the line is found.
const MAX_SEARCHED_BYTES: usize = 64 * 1024;

/// The logs. Cheap to clone.
#[derive(Clone)]
pub struct Logs {
    inner: Arc<Mutex<Inner>>,
    folder: Arc<Path>,
    events: Events,
    /// Wakes `report_drops`.
    dropped: Arc<Notify>,
}

struct Inner {
    hub: Ring,
    servers: HashMap<ServerId, ServerLog>,
    /// Whether some servers have lines that are only in the files, because there are more servers
    /// than fit into `servers`.
    misses_servers: bool,
    /// The rate of lines about calls. Clients cause these lines, which must not displace all
    /// others.
    call_rate: Rate,
    next_seq: u32,
    masks: mask::Masks,
    /// `None` after the log was closed.
    writer: Option<LogWriter>,
}

/// The lines of one server. Each server has a ring of its own, so that the lines of a server do not
/// displace the lines of another.
struct ServerLog {
    ring: Ring,
    rate: Rate,
}

/// How much a server, or the hub about calls, has written in the current second.
struct Rate {
    since: Instant,
    lines: u32,
    bytes: usize,
    dropped: u32,
}

/// Selects the lines to read.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    pub server: Option<ServerId>,
    /// Only lines of the hub's own log.
    pub hub_only: bool,
    pub call: Option<CallId>,
    pub kind: Option<LogKind>,
    /// Excludes lines of this kind.
    pub except: Option<LogKind>,
    /// Only lines of this level or a more severe level.
    pub level: Option<Level>,
    pub text: Option<String>,
    /// Only lines at or after this moment.
    pub since: Option<Timestamp>,
    /// Only lines before this moment.
    pub until: Option<Timestamp>,
    /// Only lines with a lower number.
    pub before: Option<u32>,
    pub limit: usize,
}

/// The error if the log folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the log in {}: {source}", folder.display())]
pub struct LogError {
    folder: PathBuf,
    source: io::Error,
}

impl Logs {
    /// Opens the log in `folder`, for this user only, and reads back the last lines of each source.
    /// The hub has a file for each day, `drawbridge.<day>.log`, and further files for the same day
    /// if a file is full (10 MiB). Each server has a file of its own, `servers/<id>.log`, of at
    /// most 2 MiB, and one older file. Old files are deleted only after [`Logs::set_retention`].
    ///
    /// # Errors
    /// Returns an error if the folder cannot be used.
    pub fn open(folder: &Path, events: Events) -> Result<Self, LogError> {
        let writer = LogWriter::start(folder).map_err(|source| LogError {
            folder: folder.to_owned(),
            source,
        })?;
        let mut inner = Inner {
            hub: Ring::new(HUB_RING),
            servers: HashMap::new(),
            misses_servers: false,
            call_rate: Rate::new(),
            next_seq: 1,
            masks: mask::Masks::default(),
            writer: Some(writer),
        };
        inner.read_back(files::read_hub_lines(folder, HUB_READ_BACK));
        let mut servers = files::list_servers(folder);
        inner.misses_servers = servers.len() > MAX_SERVERS;
        servers.truncate(MAX_SERVERS);
        for server in servers {
            inner.read_back(files::read_server_lines(folder, &server, SERVER_READ_BACK));
        }
        Ok(Self {
            inner: Arc::new(Mutex::new(inner)),
            folder: folder.into(),
            events,
            dropped: Arc::default(),
        })
    }

    /// Makes this the log of the whole process, unless the process has one already.
    pub fn install_subscriber(&self) {
        layer::install(self.clone());
    }

    /// Writes the last lines to the files. Later lines stay in memory only.
    pub async fn close(&self) {
        let writer = self.inner().writer.take();
        let _ = tokio::task::spawn_blocking(move || writer.map(LogWriter::finish)).await;
    }

    /// Deletes the files that are too old or take too much space, now and whenever a new file
    /// begins.
    pub fn set_retention(&self, retention: LogRetention) {
        if let Some(writer) = &self.inner().writer {
            writer.set_retention(retention);
        }
    }

    /// Logs how many lines were dropped, once the second in which they were dropped is over. Runs
    /// until it is aborted.
    pub async fn report_drops(self) {
        loop {
            self.dropped.notified().await;
            tokio::time::sleep(RATE_PERIOD).await;
            self.log_pending_drops();
        }
    }

    /// Deletes the lines of a server that was removed.
    pub fn delete_server_lines(&self, server: &ServerId) {
        let mut inner = self.inner();
        inner.servers.remove(server);
        if let Some(writer) = &inner.writer {
            writer.delete_server_files(server.clone());
        }
    }

    /// Deletes the files of servers that have no spec and have written nothing for a week. The log
    /// of a server whose spec a person removes by hand is therefore kept for a week.
    pub fn delete_stale_server_files(&self, has_spec: impl Fn(&ServerId) -> bool) {
        files::delete_stale_server_files(&self.folder, has_spec);
    }

    /// Masks the secret in every later line.
    pub fn add_secret(&self, secret: &Secret) {
        self.inner().masks.add(secret.expose());
    }

    /// Masks the current secret of this name in every later line. The former secret of the name is
    /// masked for at least another hour. The first replacement of a secret after this hour drops
    /// it, so that the masked secrets do not accumulate.
    pub fn replace_secret(&self, name: &str, secret: &Secret) {
        self.inner().masks.replace(name, secret.expose());
    }

    /// Returns the text as it may be shown and stored: one short line with masked secrets and
    /// visible control characters.
    pub fn mask_text(&self, text: &str) -> String {
        mask::to_printable(&self.inner().masks.apply(truncate(text)), MAX_REASON_CHARS)
    }

    /// Returns a redactor that masks `secrets` and everything that the log masks, for texts that
    /// leave this computer.
    pub fn redactor(&self, secrets: &[Secret]) -> Redactor {
        let mut masks = self.inner().masks.clone();
        secrets.iter().for_each(|secret| masks.add(secret.expose()));
        Redactor { masks }
    }

    /// Returns JSON as it may be stored. Masks known secrets, and values whose name or format is
    /// typical of a secret.
    pub fn redact_json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        let inner = self.inner();
        redact::redact_json(json, &|text| inner.masks.apply_if_found(text))
    }

    /// Adds a line of the hub. The line belongs to the call that the current task carries out, if
    /// any ([`within_call`]).
    pub fn add_hub_line(&self, level: Level, area: &str, text: &str) {
        self.add(&NewLine::of_hub(level, area, text));
    }

    /// Adds a line of the hub about a call. If there are too many lines or bytes about calls per
    /// second, further lines are dropped without calling `text`, and a later line states their
    /// number.
    pub fn add_call_line(&self, call: &CallId, level: Level, text: impl FnOnce() -> String) {
        if self.admit_line(None) {
            self.add_admitted(&NewLine {
                call: Some(call.clone()),
                ..NewLine::of_hub(level, "call", &text())
            });
        }
    }

    /// Adds a line of the hub about a server. If there are too many lines or bytes of the server
    /// per second, further lines are dropped, and a later line states their number.
    pub fn add_server_line(&self, server: &ServerId, level: Level, area: &str, text: &str) {
        self.add_limited(&NewLine {
            server: Some(server),
            ..NewLine::of_hub(level, area, text)
        });
    }

    /// Adds a line that a server wrote, within the limits of [`Self::add_server_line`]. `call` is
    /// the call to which the line belongs, if it is known.
    pub fn add_server_output(
        &self,
        server: &ServerId,
        kind: LogKind,
        level: Level,
        call: Option<CallId>,
        text: &str,
    ) {
        self.add_limited(&NewLine {
            server: Some(server),
            kind,
            call,
            ..NewLine::of_hub(level, kind.as_str(), text)
        });
    }

    /// Returns the newest lines that match, oldest first. Reads the files if the lines in memory
    /// are not enough.
    pub async fn read(&self, mut filter: LogFilter) -> Vec<LogLine> {
        let mut lines = Vec::new();
        loop {
            let mut page = self.read_page(filter.clone()).await;
            filter.limit -= page.lines.len();
            page.lines.append(&mut lines);
            lines = page.lines;
            if page.older.is_none() || filter.limit == 0 {
                return lines;
            }
            filter.before = page.older;
        }
    }

    /// Returns the newest lines that match, and where the next older page begins. Searches the
    /// files if the lines in memory are not enough, but only a part of them at once. The page may
    /// therefore have fewer lines than `filter.limit`.
    pub async fn read_page(&self, filter: LogFilter) -> LogPage {
        let limit = filter.limit;
        let (in_memory, is_complete) = self.list_in_memory(&LogFilter {
            limit: limit + 1,
            ..filter.clone()
        });
        if is_complete {
            return to_page(in_memory, limit, None);
        }
        let folder = Arc::clone(&self.folder);
        let read = move || {
            let scan = history::scan(&folder, &filter, MAX_SCANNED_BYTES);
            let is_reached = |line: &LogLine| scan.older.is_none_or(|reached| line.seq >= reached);
            // The newest lines may not be in the files yet. Lines that are in the files and in
            // memory have the same number.
            let by_number: BTreeMap<u32, LogLine> = scan
                .newest_first
                .into_iter()
                .chain(in_memory.into_iter().filter(is_reached))
                .map(|line| (line.seq, line))
                .collect();
            to_page(by_number.into_values().collect(), limit, scan.older)
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    /// Returns the newest lines in memory that match, oldest first, and whether the files have no
    /// other line that belongs to the result.
    fn list_in_memory(&self, filter: &LogFilter) -> (Vec<LogLine>, bool) {
        self.log_pending_drops();
        let inner = self.inner();
        let rings: Vec<&Ring> = match &filter.server {
            Some(server) => inner
                .servers
                .get(server)
                .map(|log| &log.ring)
                .into_iter()
                .collect(),
            None if filter.hub_only => vec![&inner.hub],
            None => inner
                .servers
                .values()
                .map(|log| &log.ring)
                .chain([&inner.hub])
                .collect(),
        };
        let newest = |ring: &&Ring| {
            let matching = ring.newest_first().filter(|line| filter.matches(line));
            matching.take(filter.limit).cloned().collect::<Vec<_>>()
        };
        let lines = newest_in_order(rings.iter().flat_map(newest).collect(), filter.limit);
        if inner.misses_servers && !filter.hub_only {
            return (lines, false);
        }
        let is_complete = match lines.first() {
            Some(oldest) if lines.len() == filter.limit => {
                rings.iter().all(|ring| ring.reaches(oldest.seq))
            }
            Some(_) | None => rings.iter().all(|ring| ring.is_whole()),
        };
        (lines, is_complete)
    }

    /// Logs the numbers of lines that were dropped in a second that is over.
    fn log_pending_drops(&self) {
        let pending = self.inner().take_pending_drops();
        for (server, dropped) in pending {
            self.log_dropped(server.as_ref(), dropped);
        }
    }

    fn log_dropped(&self, server: Option<&ServerId>, dropped: u32) {
        let lines = if server.is_some() {
            "lines"
        } else {
            "lines about calls"
        };
        let text = format!(
            "dropped {dropped} {lines} because there were too many lines or bytes per second"
        );
        self.add(&NewLine {
            server,
            call: None,
            ..NewLine::of_hub(Level::Warn, "hub", &text)
        });
    }

    /// Adds a line unless its source has written too much in this second.
    fn add_limited(&self, line: &NewLine<'_>) {
        if self.admit_line(line.server) {
            self.add_admitted(line);
        }
    }

    /// Returns whether a line of a server or, if `server` is `None`, about a call can be added
    /// within the limits. Logs how many lines were dropped before it.
    fn admit_line(&self, server: Option<&ServerId>) -> bool {
        let admission = self.inner().admit_line(server);
        match admission {
            Admission::Admitted { dropped: 0 } => true,
            Admission::Admitted { dropped } => {
                self.log_dropped(server, dropped);
                true
            }
            Admission::Dropped { is_first } => {
                if is_first {
                    self.dropped.notify_one();
                }
                false
            }
        }
    }

    /// Adds a line after [`Self::admit_line`].
    fn add_admitted(&self, line: &NewLine<'_>) {
        self.inner().rate(line.server).bytes += line.text.len().min(MAX_CHARS);
        self.add(line);
    }

    fn add(&self, line: &NewLine<'_>) {
        let line = self.inner().add(line);
        self.events.publish(Event::LogAdded { line });
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the newest matching lines in the files of a folder, oldest first. Needs no running hub.
pub fn read_folder(folder: &Path, filter: &LogFilter) -> Vec<LogLine> {
    let mut lines = history::scan(folder, filter, u64::MAX).newest_first;
    lines.reverse();
    lines
}

/// Returns the page with the newest of the lines. `reached` is the number down to which lines were
/// searched, or `None` if there are no older lines.
fn to_page(lines: Vec<LogLine>, limit: usize, reached: Option<u32>) -> LogPage {
    let is_cut = lines.len() > limit;
    let lines = newest_in_order(lines, limit);
    let older = match lines.first() {
        Some(oldest) if is_cut => Some(oldest.seq),
        Some(_) | None => reached,
    };
    LogPage { lines, older }
}

/// Sorts lines by their number, and keeps the newest.
fn newest_in_order(mut lines: Vec<LogLine>, limit: usize) -> Vec<LogLine> {
    lines.sort_by_key(|line| line.seq);
    let surplus = lines.len().saturating_sub(limit);
    lines.drain(..surplus);
    lines
}

/// Returns the beginning of a text, because the search for secrets in a long text takes long.
fn truncate(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SEARCHED_BYTES)]
}

impl LogFilter {
    /// Returns whether the line is selected.
    pub fn matches(&self, line: &LogLine) -> bool {
        self.server
            .as_ref()
            .is_none_or(|server| line.server.as_ref() == Some(server))
            && !(self.hub_only && line.server.is_some())
            && self
                .call
                .as_ref()
                .is_none_or(|call| line.call.as_ref() == Some(call))
            && self.kind.is_none_or(|kind| line.kind == kind)
            && self.except.is_none_or(|except| line.kind != except)
            && self.before.is_none_or(|before| line.seq < before)
            && self.until.is_none_or(|until| line.at < until)
            && self.level.is_none_or(|level| line.level >= level)
            && self.since.is_none_or(|since| line.at >= since)
            && self
                .text
                .as_ref()
                .is_none_or(|text| line.text.to_lowercase().contains(&text.to_lowercase()))
    }
}

/// Masks secrets in texts.
#[derive(Default)]
pub struct Redactor {
    masks: mask::Masks,
}

impl Redactor {
    /// Masks known secrets, and values whose name or format is typical of a secret. A text that is
    /// not JSON is searched for known secrets and formats, but not for names.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        redact::redact_json(text, &|text| self.masks.apply_if_found(text))
    }
}

enum Admission {
    /// The line is added. `dropped` is the number of lines dropped in an earlier second.
    Admitted { dropped: u32 },
    /// The line is dropped. `is_first` is whether no other line was dropped in this second.
    Dropped { is_first: bool },
}

/// A line to add.
struct NewLine<'a> {
    level: Level,
    server: Option<&'a ServerId>,
    kind: LogKind,
    area: &'a str,
    call: Option<CallId>,
    text: &'a str,
}

impl<'a> NewLine<'a> {
    fn of_hub(level: Level, area: &'a str, text: &'a str) -> Self {
        Self {
            level,
            server: None,
            kind: LogKind::Hub,
            area,
            call: current_call(),
            text,
        }
    }
}

impl Inner {
    /// Adds the lines that an earlier hub wrote to the files.
    fn read_back(&mut self, tail: Tail) {
        let Some(last) = tail.lines.last() else {
            return;
        };
        self.next_seq = self.next_seq.max(last.seq.wrapping_add(1));
        let ring = match last.server.clone() {
            Some(server) => &mut self.server_log(&server).ring,
            None => &mut self.hub,
        };
        if tail.is_cut {
            ring.mark_cut();
        }
        tail.lines.into_iter().for_each(|line| ring.push(line));
    }

    /// Returns the log of a server. If there are too many servers, drops the lines of the server
    /// whose newest line is the oldest.
    fn server_log(&mut self, server: &ServerId) -> &mut ServerLog {
        if self.servers.len() >= MAX_SERVERS && !self.servers.contains_key(server) {
            let quietest = self
                .servers
                .iter()
                .min_by_key(|(_, log)| log.ring.last_seq());
            if let Some(quietest) = quietest.map(|(id, _)| id.clone()) {
                self.servers.remove(&quietest);
                self.misses_servers = true;
            }
        }
        self.servers
            .entry(server.clone())
            .or_insert_with(|| ServerLog {
                ring: Ring::new(SERVER_RING),
                rate: Rate::new(),
            })
    }

    fn add(&mut self, new: &NewLine<'_>) -> LogLine {
        let text = mask::to_printable(&self.masks.apply(truncate(new.text)), MAX_CHARS);
        let line = LogLine {
            seq: self.next_seq,
            at: clock::now(),
            level: new.level,
            server: new.server.cloned(),
            kind: new.kind,
            area: new.area.to_owned(),
            call: new.call.clone(),
            text,
        };
        self.next_seq = self.next_seq.wrapping_add(1);
        if let Some(writer) = &self.writer {
            writer.write(line.clone());
        }
        let ring = match new.server {
            Some(server) => &mut self.server_log(server).ring,
            None => &mut self.hub,
        };
        ring.push(line.clone());
        line
    }

    /// Counts a line of a server or, if `server` is `None`, about a call.
    fn admit_line(&mut self, server: Option<&ServerId>) -> Admission {
        let rate = self.rate(server);
        let dropped = rate.take_past_drops();
        if rate.lines >= MAX_LINES_PER_SECOND || rate.bytes >= MAX_BYTES_PER_SECOND {
            rate.dropped += 1;
            return Admission::Dropped {
                is_first: rate.dropped == 1,
            };
        }
        rate.lines += 1;
        Admission::Admitted { dropped }
    }

    /// Returns the rate of the lines of a server or, if `server` is `None`, of the lines about
    /// calls.
    fn rate(&mut self, server: Option<&ServerId>) -> &mut Rate {
        match server {
            Some(server) => &mut self.server_log(server).rate,
            None => &mut self.call_rate,
        }
    }

    fn take_pending_drops(&mut self) -> Vec<(Option<ServerId>, u32)> {
        self.servers
            .iter_mut()
            .map(|(server, log)| (Some(server.clone()), log.rate.take_past_drops()))
            .chain([(None, self.call_rate.take_past_drops())])
            .filter(|(_, dropped)| *dropped > 0)
            .collect()
    }
}

impl Rate {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            lines: 0,
            bytes: 0,
            dropped: 0,
        }
    }

    /// If the current second is over, begins a new second and returns how many lines were dropped
    /// in the old second. Otherwise returns 0.
    fn take_past_drops(&mut self) -> u32 {
        if self.since.elapsed() < RATE_PERIOD {
            return 0;
        }
        std::mem::replace(self, Self::new()).dropped
    }
}

#[cfg(test)]
mod tests;
