//! The suites, and the function that runs one.

use std::{fs, time::Duration};

use drawbridge_tests::{Home, paths, process::Process};

use crate::{
    differences::{ANY_SERVER, ServerKind},
    report::Report,
};

/// Ample for the slowest suite on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(100);

pub(crate) struct Suite {
    pub(crate) name: &'static str,
    /// The pinned package of the suite.
    pub(crate) package: &'static str,
    pub(crate) options: &'static [&'static str],
    /// The kinds of servers behind Drawbridge in the runs of this suite.
    pub(crate) server_kinds: &'static [ServerKind],
    /// The option that restricts the fixture to the era that the suite does not use.
    pub(crate) other_era: &'static str,
    /// The number of checks that pass if a server supports everything.
    pub(crate) passed: usize,
    /// The number of client scenarios that apply to Drawbridge and pass.
    pub(crate) client_scenarios: usize,
}

/// The first version of the suite, which is older than revision 2026-07-28. The later version
/// repeats all its checks.
pub(crate) const FIRST: Suite = Suite {
    name: "first",
    package: "conformance-0.1",
    options: &["--suite", "all"],
    server_kinds: &[ServerKind::Http],
    other_era: "--modern",
    passed: 47,
    client_scenarios: 0,
};

pub(crate) const OF_2025_11_25: Suite = Suite {
    name: "2025-11-25",
    package: "conformance-0.2",
    options: &["--requirements", "2025-11-25"],
    server_kinds: ANY_SERVER,
    other_era: "--modern",
    passed: 84,
    client_scenarios: 19,
};

pub(crate) const OF_2026_07_28: Suite = Suite {
    name: "2026-07-28",
    package: "conformance-0.2",
    options: &["--requirements", "2026-07-28"],
    server_kinds: ANY_SERVER,
    other_era: "--legacy",
    passed: 197,
    client_scenarios: 33,
};

impl Suite {
    /// Runs the suite against the server at `url`. The suite's output stays in
    /// `test-output/conformance`.
    #[track_caller]
    pub(crate) fn run(&self, home: &Home, url: &str, run_name: &str) -> Report {
        let folder = paths::output_folder(&format!("conformance/{}/{run_name}", self.name));
        fs::remove_dir_all(&folder)
            .unwrap_or_else(|e| panic!("cannot delete {}: {e}", folder.display()));
        let mut command = home.command(paths::node_program());
        command.arg(paths::npm_file(&format!("{}/dist/index.js", self.package)));
        command
            .args(["server", "--url", url, "-o"])
            .arg(&folder)
            .args(self.options);
        let mut process = Process::start(home, "suite", &mut command);
        // The exit status is ignored: the suite fails if a check fails, and the caller reads the
        // failed checks from the results.
        let (_, output) = process.wait_until_exit(TIMEOUT);
        assert!(
            folder.is_dir(),
            "the suite {} wrote no results:\n{output}\n{}",
            self.name,
            process.stderr()
        );
        Report::read(&folder)
    }
}
