//! Reads the files of the log backwards, the newest line first. Only a block of each source is in
//! memory.

use std::{
    collections::BinaryHeap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use drawbridge_model::{ids::Timestamp, log::LogLine};

use super::{LogFilter, files};

/// How many bytes of a file are read at once.
const BLOCK_BYTES: u64 = 32 * 1024;
/// The longest part of a line that waits for its beginning. The longest line is far shorter.
const MAX_CARRY_BYTES: usize = 1024 * 1024;
/// How far the clock may have been changed while lines were written, in milliseconds.
const CLOCK_TOLERANCE_MS: i64 = 24 * 60 * 60 * 1000;

/// The result of a search.
pub(super) struct Scan {
    pub(super) newest_first: Vec<LogLine>,
    /// The number of the last line that was searched, or `None` if there are no older lines.
    pub(super) older: Option<u32>,
}

/// Searches the files of a folder from the newest line on. Ends when enough lines are found, or
/// after about `max_bytes`.
pub(super) fn scan(folder: &Path, filter: &LogFilter, max_bytes: u64) -> Scan {
    let mut sources: Vec<Source<'_>> = list_sources(folder, filter)
        .into_iter()
        .map(|newest_first| Source::new(newest_first, filter))
        .collect();
    let mut heads: BinaryHeap<(u32, usize)> = sources
        .iter_mut()
        .enumerate()
        .filter_map(|(index, source)| Some((source.next_seq()?, index)))
        .collect();
    // The first block of each source does not count, so that each request makes progress.
    sources.iter_mut().for_each(|source| source.bytes_read = 0);
    let mut bytes_read = 0;
    let mut newest_first = Vec::new();
    while let Some((seq, index)) = heads.pop() {
        let source = &mut sources[index];
        let line = source.lines.pop();
        newest_first.extend(line.filter(|line| filter.matches(line)));
        if let Some(next) = source.next_seq() {
            heads.push((next, index));
        }
        bytes_read += std::mem::take(&mut source.bytes_read);
        if newest_first.len() >= filter.limit || bytes_read > max_bytes {
            return Scan {
                newest_first,
                older: (!heads.is_empty()).then_some(seq),
            };
        }
    }
    Scan {
        newest_first,
        older: None,
    }
}

/// Returns the files of each source that the filter selects, the newest first.
fn list_sources(folder: &Path, filter: &LogFilter) -> Vec<Vec<PathBuf>> {
    if let Some(server) = &filter.server {
        return vec![files::list_server_files(folder, server).into()];
    }
    let hub = list_hub_files(folder);
    if filter.hub_only {
        return vec![hub];
    }
    let servers = files::list_servers(folder);
    servers
        .iter()
        .map(|server| files::list_server_files(folder, server).into())
        .chain([hub])
        .collect()
}

/// Returns the files of the hub, the newest first. Orders them by the numbers of their first lines,
/// because the dates in their names are wrong if the clock was wrong.
fn list_hub_files(folder: &Path) -> Vec<PathBuf> {
    let mut hub = files::list_hub_files(folder);
    hub.sort_by_cached_key(|path| {
        let first = read_block(path, 0, BLOCK_BYTES).ok();
        let seq = first.and_then(|text| text.split(|c| *c == b'\n').find_map(files::parse_line));
        std::cmp::Reverse(seq.map_or(0, |line| line.seq))
    });
    hub
}

/// The lines of the hub or of a server, read backwards.
struct Source<'a> {
    filter: &'a LogFilter,
    /// The files that are not read yet, the newest first.
    files: std::vec::IntoIter<PathBuf>,
    current: Option<Part>,
    /// The lines of the last block, the newest last.
    lines: Vec<LogLine>,
    /// The number of the oldest line so far, or at first the `before` of the filter. Lines with
    /// this or a higher number are skipped: they are too new, or were read twice, because a file
    /// was renamed meanwhile.
    oldest: u32,
    /// How many bytes were read since [`scan`] added this number to its sum.
    bytes_read: u64,
}

/// The part of a file that is not read yet.
struct Part {
    path: PathBuf,
    /// The length of the part.
    end: u64,
    /// The end of a line whose beginning is before `end`.
    carry: Vec<u8>,
}

impl<'a> Source<'a> {
    fn new(newest_first: Vec<PathBuf>, filter: &'a LogFilter) -> Self {
        Self {
            filter,
            files: newest_first.into_iter(),
            current: None,
            lines: Vec::new(),
            oldest: filter.before.unwrap_or(u32::MAX),
            bytes_read: 0,
        }
    }

    /// Returns the number of the next line, which is then the last element of `lines`. Returns
    /// `None` if no older line can match.
    fn next_seq(&mut self) -> Option<u32> {
        while self.lines.is_empty() {
            let part = match &mut self.current {
                Some(part) if part.end > 0 => part,
                Some(_) | None => {
                    let path = self.files.next()?;
                    let end = find_end(&path, self.filter).unwrap_or(0);
                    self.current.insert(Part {
                        path,
                        end,
                        carry: Vec::new(),
                    })
                }
            };
            let Ok((lines, bytes)) = part.read_back() else {
                part.end = 0;
                continue;
            };
            self.bytes_read += bytes;
            let oldest = self.oldest;
            self.lines = lines;
            self.lines.retain(|line| line.seq < oldest);
            self.oldest = self.lines.first().map_or(oldest, |line| line.seq);
        }
        let next = self.lines.last()?;
        let since = self.filter.since.unwrap_or(Timestamp(i64::MIN));
        if next.at.0 < since.0.saturating_sub(CLOCK_TOLERANCE_MS) {
            return None;
        }
        Some(next.seq)
    }
}

impl Part {
    /// Reads the block before `end`. Returns its lines, oldest first, and its size in bytes.
    fn read_back(&mut self) -> io::Result<(Vec<LogLine>, u64)> {
        let start = self.end.saturating_sub(BLOCK_BYTES);
        let bytes = self.end - start;
        let mut text = read_block(&self.path, start, bytes)?;
        self.end = start;
        text.append(&mut self.carry);
        let first_line = if start == 0 {
            0
        } else {
            text.iter()
                .position(|c| *c == b'\n')
                .map_or(text.len(), |at| at + 1)
        };
        let lines = text[first_line..]
            .split(|c| *c == b'\n')
            .filter_map(files::parse_line)
            .collect();
        text.truncate(first_line);
        if text.len() <= MAX_CARRY_BYTES {
            self.carry = text;
        }
        Ok((lines, bytes))
    }
}

/// Returns an offset in a file after which each line is too new for the filter. Uses bisection,
/// because the lines are in order.
fn find_end(path: &Path, filter: &LogFilter) -> io::Result<u64> {
    let (mut low, mut high) = (0, path.metadata()?.len());
    let is_too_new = |line: &LogLine| {
        filter.before.is_some_and(|before| line.seq >= before)
            || filter
                .until
                .is_some_and(|until| line.at.0 >= until.0.saturating_add(CLOCK_TOLERANCE_MS))
    };
    if filter.before.is_none() && filter.until.is_none() {
        return Ok(high);
    }
    while high - low > 2 * BLOCK_BYTES {
        let middle = low + (high - low) / 2;
        let text = read_block(path, middle, BLOCK_BYTES)?;
        let mut place = middle;
        let mut found = None;
        // The first part may be the end of a line.
        for (number, part) in text.split(|c| *c == b'\n').enumerate() {
            if number > 0
                && let Some(line) = files::parse_line(part)
            {
                found = Some(line);
                break;
            }
            place += part.len() as u64 + 1;
        }
        match found {
            Some(line) if is_too_new(&line) => high = place,
            Some(_) => low = place,
            None => break,
        }
    }
    Ok(high)
}

fn read_block(path: &Path, start: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut text = Vec::new();
    file.take(bytes).read_to_end(&mut text)?;
    Ok(text)
}
