//! The memory usage of a process, read from `/proc`.

use std::fs;

/// Measures the growth of the memory usage of a process.
pub struct MemoryGrowth {
    pid: u32,
    before: u64,
}

impl MemoryGrowth {
    /// Starts the measurement.
    #[track_caller]
    pub fn new(pid: u32) -> Self {
        // Writing 5 resets the peak to the memory that is resident now.
        fs::write(format!("/proc/{pid}/clear_refs"), "5")
            .unwrap_or_else(|e| panic!("reset the peak of {pid}: {e}"));
        Self {
            pid,
            before: read_kib(pid, "VmRSS"),
        }
    }

    /// Returns the largest rise since the start in MiB, even if the usage fell again.
    #[track_caller]
    pub fn peak_growth_mib(&self) -> u64 {
        read_kib(self.pid, "VmHWM").saturating_sub(self.before) >> 10
    }
}

#[track_caller]
fn read_kib(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))
        .unwrap_or_else(|e| panic!("{pid} is gone: {e}"));
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    number.unwrap_or_else(|| panic!("no {field} in {status}"))
}
