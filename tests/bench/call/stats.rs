//! Values from `/proc`, and statistics.

use std::{fs, io, time::Duration};

/// Returns the processor time that a process has used so far.
///
/// # Errors
/// Returns an error if the process has ended.
pub(crate) fn read_processor_time(pid: u32) -> io::Result<Duration> {
    const MS_PER_TICK: u64 = 10;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program may contain spaces, and ends with the last parenthesis. The times in
    // user and kernel mode are the 14th and the 15th field.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_whitespace().collect())
        .unwrap_or_default();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let ticks = field(14).zip(field(15)).map(|(user, kernel)| user + kernel);
    let ticks = ticks.ok_or(io::ErrorKind::InvalidData)?;
    Ok(Duration::from_millis(ticks * MS_PER_TICK))
}

/// Returns a number of `/proc/PID/status`, such as `Threads` or, in KiB, `VmRSS`.
///
/// # Errors
/// Returns an error if the process has ended.
pub(crate) fn read_status(pid: u32, field: &str) -> io::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let number = status.lines().find_map(|line| {
        let value = line.strip_prefix(field)?.strip_prefix(':')?;
        value.split_whitespace().next()?.parse().ok()
    });
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Returns the median of the values that are numbers, or NaN if no value is a number. The ratio of
/// 0 to 0 is not a number. It occurs in a short round in which neither side uses a whole tick of
/// processor time.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.retain(|value| !value.is_nan());
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns a percentile of the durations, in ms.
pub(crate) fn percentile(durations: &[Duration], percent: usize) -> f64 {
    let mut durations = durations.to_vec();
    durations.sort();
    durations[(durations.len() - 1) * percent / 100].as_secs_f64() * 1e3
}
