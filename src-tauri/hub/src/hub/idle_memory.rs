//! Gives back the memory of program code that only the start, or work in the past, needed.
//!
//! Linux maps a page of the program file when the page is used for the first time, together with
//! its neighbours, and counts the page as memory of the process from then on. While the process is
//! idle, this module unmaps these pages. They stay in the system's page cache, which the system
//! frees before it frees memory of processes. A page that is used again is mapped again, usually
//! without a read of the disk.

use std::{
    env,
    ffi::c_void,
    fs, io,
    ptr::{self, NonNull},
    time::Duration,
};

use nix::{
    sys::mman::{MmapAdvise, madvise},
    time::{ClockId, clock_gettime},
};
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

/// The shortest time between two checks.
const MIN_INTERVAL: Duration = Duration::from_secs(3);
/// The longest time between two checks.
const MAX_INTERVAL: Duration = Duration::from_secs(15);
/// The process is idle if it used less than this part of a core between two checks: 1 %.
const IDLE_SHARE: u32 = 100;
/// The process has worked if it used at least this part of a core between two checks: a sixth. It
/// is far more than mapping the pages again costs after a release.
const WORK_SHARE: u32 = 6;
/// The pages are unmapped when the mapped pages of files have grown by this much, in KiB.
const GROWTH_KIB: u64 = 2 * 1024;
/// The longest pause after a release. The timers of an idle process map some pages again, and
/// unmapping these again and again would cost processor time.
const MAX_PAUSE: Duration = Duration::from_secs(5 * 60);

/// Unmaps the pages each time the process is idle after more of them were mapped. Never returns.
pub(super) async fn release_while_idle() {
    let mut kib_after_release = 0;
    let mut time_at_last_check = Duration::ZERO;
    // The pause doubles with each release, until the process works again.
    let mut pause = MIN_INTERVAL;
    let mut earliest_release = Instant::now();
    loop {
        let interval = pause.min(MAX_INTERVAL);
        sleep(interval).await;
        let used = cpu_time().saturating_sub(time_at_last_check);
        let now = Instant::now();
        if used * WORK_SHARE >= interval {
            (pause, earliest_release) = (MIN_INTERVAL, now);
        } else if used * IDLE_SHARE < interval
            && now >= earliest_release
            && mapped_kib() >= kib_after_release + GROWTH_KIB
        {
            if let Ok(Err(error)) = spawn_blocking(unmap_program_pages).await {
                tracing::debug!(%error, "the pages of the program stay mapped");
            }
            kib_after_release = mapped_kib();
            pause = (2 * pause).min(MAX_PAUSE);
            earliest_release = now + pause;
        }
        time_at_last_check = cpu_time();
    }
}

/// Returns the size of the pages of files that are mapped, in KiB (`RssFile`, proc(5)).
fn mapped_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("RssFile:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0)
}

/// Returns the processor time that this process has used so far.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Unmaps the unchanged pages of the program file.
///
/// # Errors
/// Returns an error if the mappings of this process cannot be read, or a page cannot be unmapped.
fn unmap_program_pages() -> io::Result<()> {
    let program = env::current_exe()?;
    let Some(program) = program.to_str() else {
        return Ok(());
    };
    for mapping in parse_mappings(&fs::read_to_string("/proc/self/smaps")?) {
        if mapping.path != program || !mapping.is_unchanged || mapping.resident_kib == 0 {
            continue;
        }
        let Some(start) = NonNull::new(ptr::with_exposed_provenance_mut::<c_void>(mapping.start))
        else {
            continue;
        };
        // SAFETY: the mapping belongs to the running program, so it stays mapped while this process
        // runs. The process cannot write to it and has not changed any of its pages, so each page
        // has the same content when it is mapped again.
        unsafe { madvise(start, mapping.length, MmapAdvise::MADV_DONTNEED)? };
    }
    Ok(())
}

/// A mapping of a file in the memory of this process.
#[derive(Debug, PartialEq, Eq)]
struct Mapping<'a> {
    start: usize,
    /// In bytes.
    length: usize,
    path: &'a str,
    /// Whether the process cannot write to the mapping, and all its pages are those of the file.
    is_unchanged: bool,
    /// The size of its pages in memory, in KiB.
    resident_kib: usize,
}

/// Reads the text of `/proc/self/smaps`, which proc(5) describes. Leaves out mappings without a
/// path.
fn parse_mappings(smaps: &str) -> Vec<Mapping<'_>> {
    let mut mappings: Vec<Mapping<'_>> = Vec::new();
    let mut is_file = false;
    for line in smaps.lines() {
        if let Some(mapping) = parse_header(line) {
            is_file = !mapping.path.is_empty();
            if is_file {
                mappings.push(mapping);
            }
        } else if let (true, Some(mapping), Some((field, value))) =
            (is_file, mappings.last_mut(), line.split_once(':'))
        {
            let kib = value.trim().trim_end_matches(" kB").parse().ok();
            match (field, kib) {
                ("Rss", Some(kib)) => mapping.resident_kib = kib,
                ("Anonymous" | "Swap", kib) => mapping.is_unchanged &= kib == Some(0),
                _ => {}
            }
        }
    }
    mappings
}

/// Reads the first line of a mapping: `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
fn parse_header(line: &str) -> Option<Mapping<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let length = usize::from_str_radix(end, 16).ok()?.checked_sub(start)?;
    let permissions = rest.split(' ').next()?;
    let path = rest.find('/').map_or("", |position| &rest[position..]);
    Some(Mapping {
        start,
        length,
        path,
        is_unchanged: !permissions.contains('w'),
        resident_kib: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_read_only_mappings_without_changed_pages_are_unchanged() {
        let smaps = "\
55d0c0000000-55d0c0002000 r-xp 00001000 fe:00 1234                       /opt/a b/drawbridge
Size:                  8 kB
Rss:                   4 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
55d0c0002000-55d0c0003000 r--p 00003000 fe:00 1234                       /opt/a b/drawbridge
Rss:                   4 kB
Anonymous:             4 kB
Swap:                  0 kB
55d0c0003000-55d0c0004000 rw-p 00004000 fe:00 1234                       /opt/a b/drawbridge
Rss:                   0 kB
Anonymous:             0 kB
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
Rss:                   4 kB
Anonymous:             4 kB
";
        let found: Vec<_> = parse_mappings(smaps)
            .into_iter()
            .map(|mapping| {
                (
                    mapping.path,
                    mapping.length,
                    mapping.is_unchanged,
                    mapping.resident_kib,
                )
            })
            .collect();
        let path = "/opt/a b/drawbridge";
        assert_eq!(
            found,
            [
                (path, 0x2000, true, 4),
                (path, 0x1000, false, 4),
                (path, 0x1000, false, 0)
            ]
        );
    }

    #[test]
    fn a_running_program_can_unmap_more_than_half_of_its_pages() {
        let resident = || -> usize {
            let program = env::current_exe().expect("a program");
            parse_mappings(&fs::read_to_string("/proc/self/smaps").expect("the mappings"))
                .iter()
                .filter(|mapping| mapping.is_unchanged && program == *mapping.path)
                .map(|mapping| mapping.resident_kib)
                .sum()
        };
        // Maps the pages that the next two calls need, and more.
        let (before, mapped_before) = (resident(), mapped_kib());
        unmap_program_pages().expect("the pages are unmapped");
        let (after, mapped_after) = (resident(), mapped_kib());
        assert!(
            after < before / 2,
            "{before} KiB were mapped, and {after} KiB are mapped now"
        );
        assert!(
            mapped_after < mapped_before,
            "{mapped_before} KiB of files were mapped, and {mapped_after} KiB are mapped now"
        );
    }
}
