//! The suites, and how one is run.

use std::{fs, time::Duration};

use drawbridge_tests::{Home, places, process::Process};

use crate::{
    differences::{ANY, Behind},
    report::Report,
};

/// Ample for the slowest suite on a loaded machine.
const BOUND: Duration = Duration::from_secs(100);

pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// The pinned package that brings it.
    pub(crate) package: &'static str,
    pub(crate) options: &'static [&'static str],
    /// What stands behind Drawbridge when it is run through there.
    pub(crate) behind: &'static [Behind],
    /// Makes the fixture speak only the era that the suite does not.
    pub(crate) other_era: &'static str,
    /// How many of its checks pass at a server that does all it asks for.
    pub(crate) passed: usize,
    /// How many scenarios of its client side apply to Drawbridge, and pass.
    pub(crate) client_scenarios: usize,
}

/// The suite as it was before the newest revision; what it asks, the later one asks again.
pub(crate) const FIRST: Suite = Suite {
    name: "first",
    package: "conformance-0.1",
    options: &["--suite", "all"],
    behind: &[Behind::Http],
    other_era: "--modern",
    passed: 47,
    client_scenarios: 0,
};

pub(crate) const OF_2025_11_25: Suite = Suite {
    name: "2025-11-25",
    package: "conformance-0.2",
    options: &["--requirements", "2025-11-25"],
    behind: ANY,
    other_era: "--modern",
    passed: 84,
    client_scenarios: 19,
};

pub(crate) const OF_2026_07_28: Suite = Suite {
    name: "2026-07-28",
    package: "conformance-0.2",
    options: &["--requirements", "2026-07-28"],
    behind: ANY,
    other_era: "--legacy",
    passed: 197,
    client_scenarios: 33,
};

impl Suite {
    /// Runs it against the server at `url`. What it wrote stays in `test-output/conformance`.
    #[track_caller]
    pub(crate) fn run(&self, home: &Home, url: &str, way: &str) -> Report {
        let folder = places::output_folder(&format!("conformance/{}/{way}", self.name));
        fs::remove_dir_all(&folder).unwrap_or_else(|e| panic!("empty {}: {e}", folder.display()));
        let mut command = home.command(places::node());
        command.arg(places::npm(&format!("{}/dist/index.js", self.package)));
        command
            .args(["server", "--url", url, "-o"])
            .arg(&folder)
            .args(self.options);
        let mut process = Process::start(home, "suite", &mut command);
        // It ends with a failure where a check fails: that is for the report to say.
        let (_, printed) = process.finish(BOUND);
        assert!(
            folder.is_dir(),
            "{} checked nothing:\n{printed}\n{}",
            self.name,
            process.stderr()
        );
        Report::read(&folder)
    }
}
