//! Reports of panics, in the folder `crashes` of the data folder: the message, the place and the
//! backtrace, without secrets.
//!
//! A panic ends the task or thread in which it happens, and Drawbridge goes on. The message of a
//! panic may contain anything, so only a redacted message is written or printed.

use std::{
    backtrace::Backtrace,
    fs,
    io::{self, Write},
    panic::{self, PanicHookInfo},
    path::{Path, PathBuf},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use drawbridge_model::{clock, ids::Timestamp};

use crate::{
    logs::{Logs, Redactor},
    redact::MASK,
};

const FOLDER: &str = "crashes";
const EXTENSION: &str = "txt";
/// The most reports that are kept.
const MAX_REPORTS: usize = 10;
/// The longest report, in bytes. The rest of a backtrace is cut off.
const MAX_REPORT_BYTES: usize = 64 * 1024;
/// How long the redaction of a message may take. It may wait for a lock that the panicking thread
/// holds.
const REDACTION_TIMEOUT: Duration = Duration::from_secs(1);

const REDACTING_THREAD: &str = "crash-report";

/// The folder for reports, and the logs that know the secrets.
struct Destination {
    folder: PathBuf,
    logs: Logs,
}

static DESTINATION: OnceLock<Destination> = OnceLock::new();

/// Replaces the default panic hook, which would print the message as it is, and turns off core
/// dumps, which contain the memory of the process. `program` is the name of this program in
/// reports.
pub fn install_panic_hook(program: &'static str) {
    #[cfg(unix)]
    if let Err(error) = rlimit::setrlimit(rlimit::Resource::CORE, 0, 0) {
        print(&format!("{program}: cannot turn off core dumps: {error}"));
    }
    panic::set_hook(Box::new(move |panic| report_panic(program, panic)));
}

/// Sets the data folder for the reports, and the logs that know which secrets to mask. Only the
/// first call has an effect.
pub fn set_destination(data_dir: &Path, logs: &Logs) {
    let folder = data_dir.join(FOLDER);
    let logs = logs.clone();
    let _ = DESTINATION.set(Destination { folder, logs });
}

/// The reports of a data folder, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashReports {
    pub folder: PathBuf,
    pub files: Vec<(Timestamp, PathBuf)>,
}

/// Lists the reports of a data folder.
pub fn list_reports(data_dir: &Path) -> CrashReports {
    let folder = data_dir.join(FOLDER);
    let mut files: Vec<(Timestamp, PathBuf)> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((report_time(&entry.path())?, entry.path())))
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    CrashReports { folder, files }
}

/// Returns the time in the name of a report, or `None` if the file is not a report.
fn report_time(file: &Path) -> Option<Timestamp> {
    let is_report = file
        .extension()
        .is_some_and(|extension| extension == EXTENSION);
    let name = file.file_stem().filter(|_| is_report)?.to_str()?;
    name.split('-').next()?.parse().ok().map(Timestamp)
}

fn report_panic(program: &str, panic: &PanicHookInfo<'_>) {
    let message = redact(panic_message(panic));
    let place = panic.location().map(ToString::to_string);
    let place = place.unwrap_or_else(|| "an unknown place".into());
    let thread = thread::current();
    let thread = thread.name().unwrap_or("without a name");
    let headline =
        format!("{program}: internal error in the thread '{thread}' at {place}: {message}");
    let Some(destination) = DESTINATION.get() else {
        return print(&headline);
    };
    let now = clock::now();
    let text = format!(
        "{headline}\n\nversion {}, {}, process {}, {} ms since 1970\n\n{}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::process::id(),
        now.0,
        Backtrace::force_capture(),
    );
    match write_report(&destination.folder, now, &text) {
        Ok(file) => print(&format!("{headline}\nThe report is in {}", file.display())),
        Err(error) => print(&format!("{headline}\nNo report can be written: {error}")),
    }
}

fn panic_message(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into())
}

/// Masks the secrets in a message, on another thread. Returns only a mask if the redaction takes
/// too long or panics.
fn redact(message: String) -> String {
    if thread::current().name() == Some(REDACTING_THREAD) {
        return MASK.to_owned();
    }
    let (redacted, result) = mpsc::channel();
    let work = move || {
        let redactor = DESTINATION
            .get()
            .map(|destination| destination.logs.redactor(&[]));
        let redactor = redactor.unwrap_or_default();
        let _ = redacted.send(redact_with(&redactor, &message));
    };
    let started = thread::Builder::new()
        .name(REDACTING_THREAD.into())
        .spawn(work);
    started
        .ok()
        .and_then(|_| result.recv_timeout(REDACTION_TIMEOUT).ok())
        .unwrap_or_else(|| MASK.to_owned())
}

fn redact_with(redactor: &Redactor, message: &str) -> String {
    let mut redacted = redactor.redact(message).into_owned();
    redacted.truncate(redacted.floor_char_boundary(MAX_REPORT_BYTES / 4));
    redacted
}

/// Writes a report that only this user can read, and removes the oldest surplus reports.
fn write_report(folder: &Path, now: Timestamp, text: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let file = folder.join(format!("{}-{}.{EXTENSION}", now.0, std::process::id()));
    let mut options = fs::File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let end = text.floor_char_boundary(MAX_REPORT_BYTES);
    options.open(&file)?.write_all(&text.as_bytes()[..end])?;
    let data_dir = folder.parent().unwrap_or(folder);
    // If the clock was set back, this report is not the newest one by name.
    let others = list_reports(data_dir)
        .files
        .into_iter()
        .filter(|(_, old)| *old != file);
    for (_, old) in others.skip(MAX_REPORTS - 1) {
        let _ = fs::remove_file(old);
    }
    Ok(file)
}

/// Prints a line to stderr, which may be closed.
fn print(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests;
