//! The memory, descriptors and threads of the hub, the number of its servers' processes, and checks
//! of the growth of memory and descriptors.

use std::{fmt, fs};

use drawbridge_tests::Hub;

/// The largest growth of the hub's memory from the second quarter to the last quarter.
const MAX_GROWTH_MIB: f64 = 24.0;
/// The largest rise in open descriptors over the same time, without the descriptors for running
/// servers.
const MAX_MORE_DESCRIPTORS: f64 = 24.0;

#[derive(Clone, Copy)]
pub(crate) struct Usage {
    resident_mib: f64,
    descriptors: usize,
    threads: usize,
    processes: usize,
}

impl Usage {
    pub(crate) fn read(hub: &Hub<'_>) -> Self {
        let folder = format!("/proc/{}", hub.pid());
        let status = fs::read_to_string(format!("{folder}/status")).expect("the hub runs");
        let field = |name: &str| -> f64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            number.unwrap_or_else(|| panic!("no {name} in {status}"))
        };
        let count = |name: &str| {
            let entries = fs::read_dir(format!("{folder}/{name}"));
            entries.expect("the hub runs").count()
        };
        Self {
            resident_mib: field("VmRSS:") / 1024.0,
            descriptors: count("fd"),
            threads: count("task"),
            processes: hub.home.server_processes().len(),
        }
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:.0} | {} | {} | {}",
            self.resident_mib, self.descriptors, self.threads, self.processes
        )
    }
}

/// The usage over time.
#[derive(Default)]
pub(crate) struct Curve(Vec<Usage>);

impl Curve {
    pub(crate) fn push(&mut self, usage: Usage) {
        self.0.push(usage);
    }

    pub(crate) fn find_violations(&self) -> Vec<String> {
        let quarter = self.0.len() / 4;
        let rise = |value: fn(&Usage) -> f64| {
            let second = median(self.0[quarter..2 * quarter].iter().map(value).collect());
            let last = median(self.0[3 * quarter..].iter().map(value).collect());
            last - second
        };
        let memory = rise(|usage| usage.resident_mib);
        // A running server uses about four descriptors, which are not counted, because the number
        // of running servers varies.
        let descriptors = rise(|usage| {
            let servers = u32::try_from(usage.processes).unwrap_or(u32::MAX);
            let open = u32::try_from(usage.descriptors).unwrap_or(u32::MAX);
            f64::from(open) - 4.0 * f64::from(servers)
        });
        println!(
            "From the second to the last quarter: memory {memory:+.1} MiB, descriptors {descriptors:+.0}.\n"
        );
        let mut violations = Vec::new();
        if memory > MAX_GROWTH_MIB {
            violations.push(format!("the hub grew by {memory:.0} MiB"));
        }
        if descriptors > MAX_MORE_DESCRIPTORS {
            violations.push(format!("the hub has {descriptors:.0} more descriptors"));
        }
        violations
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
