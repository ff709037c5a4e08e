//! Tests of the panic hook, and of the number and the length of the reports. The hook applies to a
//! whole process, so it is tested in a child process.

use std::process::Command;

use drawbridge_model::event::Events;

use super::*;
use crate::secrets::Secret;

const SECRET: &str = "correct-horse-battery-staple";
const DATA_DIR_VARIABLE: &str = "DRAWBRIDGE_CRASH_TEST_DATA_DIR";

/// Runs in the child process: panics with a known secret and a token of a well-known format in the
/// message.
#[test]
fn panics_if_the_variable_is_set() {
    let Some(data_dir) = std::env::var_os(DATA_DIR_VARIABLE).map(PathBuf::from) else {
        return;
    };
    let logs = Logs::open(&data_dir.join("logs"), Events::new()).expect("open the log");
    logs.add_secret(&Secret::new(SECRET.to_owned()));
    install_panic_hook("drawbridge");
    set_destination(&data_dir, &logs);
    let panicking = thread::Builder::new().name("worker".into()).spawn(|| {
        panic!("cannot use {SECRET} or ghp_0123456789abcdefghijklmnopqrstuvwxyz at 5");
    });
    let ended = panicking.expect("start a thread").join();
    assert!(
        ended.is_err(),
        "the thread panicked, and the process goes on"
    );
}

#[test]
fn a_panic_is_reported_without_secrets_and_leaves_no_core_dump() {
    let folder = tempfile::tempdir().expect("make a folder");
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args([
            "--exact",
            "crashes::tests::panics_if_the_variable_is_set",
            "--nocapture",
        ])
        .env(DATA_DIR_VARIABLE, folder.path())
        .env_remove("RUST_BACKTRACE")
        .output()
        .expect("run the child process");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");

    let reports = list_reports(folder.path());
    let [(_, file)] = reports.files.as_slice() else {
        panic!("{reports:?}, and stderr was {printed}");
    };
    let report = fs::read_to_string(file).expect("read the report");
    for text in [report.as_str(), &printed] {
        assert!(!text.contains(SECRET) && !text.contains("ghp_"), "{text}");
        assert!(
            text.contains("internal error in the thread 'worker'"),
            "{text}"
        );
        assert!(text.contains("cannot use ••• or ••• at 5"), "{text}");
        assert!(text.contains("crashes/tests.rs"), "{text}");
    }
    assert!(printed.contains(&file.display().to_string()), "{printed}");
    assert!(
        report.contains("panics_if_the_variable_is_set"),
        "the report has a backtrace: {report}"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(file)
            .expect("read the mode")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn the_newest_reports_are_kept() {
    let folder = tempfile::tempdir().expect("make a folder");
    let crashes = folder.path().join(FOLDER);
    for time in 0..15 {
        write_report(
            &crashes,
            Timestamp(time),
            "x".repeat(MAX_REPORT_BYTES * 2).as_str(),
        )
        .expect("write");
    }
    let times: Vec<i64> = list_reports(folder.path())
        .files
        .iter()
        .map(|(time, _)| time.0)
        .collect();
    assert_eq!(times, (5..15).rev().collect::<Vec<_>>());
    let (_, newest) = &list_reports(folder.path()).files[0];
    let length = fs::metadata(newest).expect("read the length").len();
    assert_eq!(length, MAX_REPORT_BYTES as u64);
}
