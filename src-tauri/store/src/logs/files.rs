//! The log files, which only this user can read. The hub writes one file for each day on which it
//! logs, or more if a file is full. Each server has up to two files. Each line is a [`LogLine`] as
//! JSON, so that it can be read back exactly.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use drawbridge_model::{
    clock,
    ids::{ServerId, Timestamp},
    log::{LogKind, LogLine},
};

/// The largest file of the hub. Further lines of the day go to another file.
const MAX_HUB_BYTES: u64 = 10 * 1024 * 1024;
/// The largest file of a server. A full file is kept as `.1.log` until the next file is full.
const MAX_SERVER_BYTES: u64 = 2 * 1024 * 1024;
/// How long the files of a server without a spec are kept after their last line, in milliseconds.
const KEPT_WITHOUT_SPEC_MS: i64 = 7 * DAY_MS;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How many files of servers may be open at once.
const MAX_OPEN: usize = 64;

const HUB_PREFIX: &str = "drawbridge.";
const EXTENSION: &str = ".log";
const OLD_EXTENSION: &str = ".1.log";
const SERVERS: &str = "servers";

/// Writes lines to the files of a folder.
pub(super) struct LogFiles {
    folder: PathBuf,
    hub: Option<HubFile>,
    servers: HashMap<ServerId, OpenFile>,
    /// `None` until the settings are read. No file is deleted until then.
    retention: Option<LogRetention>,
}

/// The limits for the log files. These limits never delete the newest file of the hub or of a
/// server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRetention {
    /// How many days a file is kept after its last line; 0 for no limit.
    pub days: u32,
    /// The space of all files together in MiB; 0 for no limit.
    pub max_mib: u32,
}

/// The open file of the hub.
struct HubFile {
    day: String,
    file: OpenFile,
}

struct OpenFile {
    file: File,
    bytes: u64,
}

impl LogFiles {
    /// Prepares the folder: creates it for this user only, and makes the hub's files private,
    /// because an older version may have written them.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        create_private_folder(folder)?;
        create_private_folder(&folder.join(SERVERS))?;
        for file in list_hub_files(folder) {
            make_private(&file)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
            hub: None,
            servers: HashMap::new(),
            retention: None,
        })
    }

    /// Deletes files as `retention` demands now, whenever a file of the hub is opened, and whenever
    /// the file of a server is full.
    pub(super) fn set_retention(&mut self, retention: LogRetention) {
        self.retention = Some(retention);
        self.delete_old_files();
    }

    fn delete_old_files(&self) {
        if let Some(retention) = self.retention {
            delete_old_files(&self.folder, retention);
        }
    }

    /// Appends a line to the file of its server, or to the hub's file if it has no server.
    pub(super) fn append(&mut self, line: &LogLine) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        match &line.server {
            None => self.append_to_hub(line.at, &text),
            Some(server) => self.append_to_server(server, &text),
        }
    }

    /// Deletes the files of a server.
    pub(super) fn delete_server_files(&mut self, server: &ServerId) {
        self.servers.remove(server);
        for extension in [EXTENSION, OLD_EXTENSION] {
            let _ = fs::remove_file(server_file(&self.folder, server, extension));
        }
    }

    fn append_to_hub(&mut self, at: Timestamp, text: &[u8]) -> io::Result<()> {
        let day = utc_day(at);
        let fits = self
            .hub
            .as_ref()
            .is_some_and(|hub| hub.day == day && hub.file.has_room(text, MAX_HUB_BYTES));
        if !fits {
            let file = self.open_hub_file(&day, text)?;
            self.hub = Some(HubFile { day, file });
            self.delete_old_files();
        }
        match &mut self.hub {
            Some(hub) => hub.file.append(text),
            None => Ok(()),
        }
    }

    /// Opens the file of a day. If the file is full, moves it aside and opens a new file.
    fn open_hub_file(&self, day: &str, text: &[u8]) -> io::Result<OpenFile> {
        let path = self.folder.join(format!("{HUB_PREFIX}{day}{EXTENSION}"));
        let file = OpenFile::open(&path)?;
        if file.has_room(text, MAX_HUB_BYTES) {
            return Ok(file);
        }
        let full = (1..)
            .map(|part| {
                self.folder
                    .join(format!("{HUB_PREFIX}{day}.{part:03}{EXTENSION}"))
            })
            .find(|full| !full.exists())
            .expect("the numbers do not end");
        fs::rename(&path, full)?;
        OpenFile::open(&path)
    }

    fn append_to_server(&mut self, server: &ServerId, text: &[u8]) -> io::Result<()> {
        if !is_safe_file_name(server) {
            return Ok(());
        }
        let has_room = self
            .servers
            .get(server)
            .map(|file| file.has_room(text, MAX_SERVER_BYTES));
        if has_room != Some(true) {
            if self.servers.len() >= MAX_OPEN {
                self.servers.clear();
            }
            let path = server_file(&self.folder, server, EXTENSION);
            let mut file = OpenFile::open(&path)?;
            if !file.has_room(text, MAX_SERVER_BYTES) {
                fs::rename(&path, server_file(&self.folder, server, OLD_EXTENSION))?;
                file = OpenFile::open(&path)?;
                self.delete_old_files();
            }
            self.servers.insert(server.clone(), file);
        }
        match self.servers.get_mut(server) {
            Some(file) => file.append(text),
            None => Ok(()),
        }
    }
}

impl OpenFile {
    /// Opens a file to append to it, and creates it for this user only.
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }

    /// Returns whether the text fits. An empty file has room for any text.
    fn has_room(&self, text: &[u8], max: u64) -> bool {
        self.bytes == 0 || self.bytes + text.len() as u64 <= max
    }

    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text)?;
        self.bytes += text.len() as u64;
        Ok(())
    }
}

/// Lines that were read from the end of files.
pub(super) struct Tail {
    /// Oldest first.
    pub(super) lines: Vec<LogLine>,
    /// Whether the files have older lines.
    pub(super) is_cut: bool,
}

/// Reads the lines in the last `max_bytes` of the hub's files.
pub(super) fn read_hub_lines(folder: &Path, max_bytes: u64) -> Tail {
    let mut files = list_hub_files(folder);
    files.reverse();
    read_tail(&files, max_bytes)
}

/// Returns the servers that have a file.
pub(super) fn list_servers(folder: &Path) -> Vec<ServerId> {
    let Ok(entries) = fs::read_dir(folder.join(SERVERS)) else {
        return Vec::new();
    };
    let mut servers: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str()?.strip_suffix(EXTENSION)?;
            Some(ServerId::new(name.strip_suffix(".1").unwrap_or(name)))
        })
        .collect();
    servers.sort();
    servers.dedup();
    servers
}

/// Reads the lines in the last `max_bytes` of a server's files.
pub(super) fn read_server_lines(folder: &Path, server: &ServerId, max_bytes: u64) -> Tail {
    read_tail(&list_server_files(folder, server), max_bytes)
}

/// Returns the files that a server may have, the newest first.
pub(super) fn list_server_files(folder: &Path, server: &ServerId) -> [PathBuf; 2] {
    [EXTENSION, OLD_EXTENSION].map(|end| server_file(folder, server, end))
}

/// Reads a line of a file. Returns `None` if the line was cut, or if it has another format.
pub(super) fn parse_line(text: &[u8]) -> Option<LogLine> {
    let mut line: LogLine = serde_json::from_slice(text).ok()?;
    // Lines of earlier versions have no kind. Only a line that a server wrote has the name of a
    // kind as its area.
    if line.kind == LogKind::Hub {
        let kinds = [LogKind::Message, LogKind::Stderr, LogKind::Stdout];
        let of_server = kinds.into_iter().find(|kind| kind.as_str() == line.area);
        line.kind = of_server.unwrap_or_default();
    }
    Some(line)
}

/// Deletes the files of servers that have no spec, if nothing was written to them for a week.
pub(super) fn delete_stale_server_files(folder: &Path, has_spec: impl Fn(&ServerId) -> bool) {
    for server in list_servers(folder).iter().filter(|id| !has_spec(id)) {
        for extension in [EXTENSION, OLD_EXTENSION] {
            let file = server_file(folder, server, extension);
            if modified_at(&file).is_some_and(|at| at.0 < clock::now().0 - KEPT_WITHOUT_SPEC_MS) {
                let _ = fs::remove_file(file);
            }
        }
    }
}

/// Reads the last `max_bytes` of the files together. Skips lines that were cut, or that have
/// another format.
fn read_tail(newest_first: &[PathBuf], max_bytes: u64) -> Tail {
    let mut remaining = max_bytes;
    let mut parts = Vec::new();
    let mut is_cut = false;
    for file in newest_first {
        let Ok((text, is_whole)) = read_end(file, remaining) else {
            continue;
        };
        is_cut |= !is_whole;
        remaining -= text.len() as u64;
        parts.push(text);
    }
    let lines = parts
        .iter()
        .rev()
        .flat_map(|text| text.split(|c| *c == b'\n'))
        .filter_map(parse_line)
        .collect();
    Tail { lines, is_cut }
}

/// Returns the last bytes of a file, and whether they are the whole file.
fn read_end(file: &Path, max_bytes: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut file = File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(max_bytes)))?;
    let mut text = Vec::new();
    file.take(max_bytes).read_to_end(&mut text)?;
    Ok((text, length <= max_bytes))
}

fn modified_at(file: &Path) -> Option<Timestamp> {
    let modified = fs::metadata(file).ok()?.modified().ok()?;
    let since_1970 = modified.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since_1970.as_millis()).ok()?))
}

/// Returns the files of the hub, ordered by the days in their names: `drawbridge.<day>.<part>.log`
/// comes before `drawbridge.<day>.log`, which is newer.
pub(super) fn list_hub_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let is_log = |name: &OsStr| {
        name.to_str()
            .is_some_and(|name| name.starts_with(HUB_PREFIX) && name.ends_with(EXTENSION))
    };
    let mut files: Vec<_> = entries
        .flatten()
        .filter(|entry| is_log(&entry.file_name()))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}

/// Deletes the files that are older than `retention` allows, and then the oldest files until the
/// rest takes at most as much space as `retention` allows. The age of a file depends on its
/// modification time, not on its name: if the clock was ahead for a while, some names have dates in
/// the future. A file whose modification time is more than a day in the future counts as the oldest
/// file, but not as too old.
fn delete_old_files(folder: &Path, retention: LogRetention) {
    let now = clock::now().0;
    let is_plausible = |at: &Timestamp| at.0 < now + DAY_MS;
    let plausible_time = |file: &PathBuf| modified_at(file).filter(is_plausible);
    let mut candidates = list_hub_files(folder);
    candidates.sort_by_cached_key(plausible_time);
    let mut kept: Vec<PathBuf> = candidates.pop().into_iter().collect();
    for server in list_servers(folder) {
        let [current, older] = list_server_files(folder, &server);
        kept.push(current);
        candidates.push(older);
    }
    if retention.days > 0 {
        let oldest = now - i64::from(retention.days) * DAY_MS;
        candidates.retain(|file| {
            let is_too_old = plausible_time(file).is_some_and(|at| at.0 < oldest);
            if is_too_old {
                let _ = fs::remove_file(file);
            }
            !is_too_old
        });
    }
    if retention.max_mib == 0 {
        return;
    }
    let size = |file: &PathBuf| fs::metadata(file).map_or(0, |metadata| metadata.len());
    let mut bytes: u64 = kept.iter().chain(&candidates).map(size).sum();
    candidates.sort_by_cached_key(plausible_time);
    for file in candidates {
        if bytes <= u64::from(retention.max_mib) << 20 {
            return;
        }
        bytes -= size(&file);
        let _ = fs::remove_file(&file);
    }
}

fn server_file(folder: &Path, server: &ServerId, extension: &str) -> PathBuf {
    folder.join(SERVERS).join(format!("{server}{extension}"))
}

/// Returns whether an id is safe as the name of a file. A server whose id is not safe gets no log
/// file.
fn is_safe_file_name(server: &ServerId) -> bool {
    let id = server.as_str();
    !id.is_empty()
        && id.len() <= 128
        && id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Returns the day as `2026-11-23`, in UTC.
fn utc_day(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.strftime("%Y-%m-%d").to_string()
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    set_mode(folder, 0o700)
}

fn make_private(file: &Path) -> io::Result<()> {
    set_mode(file, 0o600)
}

/// Sets the mode of a file or folder. Does nothing on platforms other than Unix.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    let _ = (path, mode);
    Ok(())
}
