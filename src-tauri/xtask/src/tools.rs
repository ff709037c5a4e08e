//! Smaller commands, which write generated files and take screenshots.

use std::fs;

use crate::{
    step::{self, Outcome, cargo, root},
    test,
};

/// Writes `ui/src/ipc/bindings.ts`.
pub(crate) fn bindings() -> Outcome {
    let mut command = cargo(&[
        "test",
        "--package",
        "drawbridge-hub",
        "--lib",
        "the_bindings_of_the_ui",
    ]);
    step::run(command.env("DRAWBRIDGE_WRITE_BINDINGS", "1"))
}

/// Writes `docs/compatibility.md` from the results of tests with foreign clients and servers.
pub(crate) fn compatibility() -> Outcome {
    test::install_packages()?;
    step::run(&mut cargo(&[
        "build",
        "--package",
        "drawbridge-cli",
        "--package",
        "drawbridge-tests",
    ]))?;
    let mut command = cargo(&[
        "test",
        "--package",
        "drawbridge-tests",
        "--test",
        "matrix",
        "--test",
        "foreign",
        "--test",
        "conformance",
    ]);
    step::run(command.env("DRAWBRIDGE_WRITE_COMPATIBILITY", "1"))
}

/// The screenshots of the tests that are copied to the docs, each with the name of its picture.
const SCREENSHOTS: &[(&str, &str)] = &[
    ("window/07-popup.png", "popup.png"),
    ("window/02-verified.png", "add-server.png"),
    ("screens/full-servers-light.png", "servers.png"),
    ("screens/full-approvals-dark.png", "approvals.png"),
    ("screens/full-calls-light.png", "calls.png"),
    ("screens/full-overview-light.png", "overview.png"),
    ("screens/full-clients-light.png", "clients.png"),
    ("screens/full-policy-light.png", "policy.png"),
    ("screens/full-logs-light.png", "logs.png"),
    ("screens/full-settings-light.png", "settings.png"),
    (
        "window/first-run-import-1-guide.png",
        "first-run-1-guide.png",
    ),
    (
        "window/first-run-import-2-found.png",
        "first-run-2-found.png",
    ),
    (
        "window/first-run-import-3-preview.png",
        "first-run-3-preview.png",
    ),
    ("window/first-run-import-4-try.png", "first-run-4-try.png"),
    (
        "window/first-run-import-5-prompt.png",
        "first-run-5-prompt.png",
    ),
    ("window/first-run-import-6-done.png", "first-run-6-done.png"),
];

/// Takes the screenshots in `docs/screenshots` again.
pub(crate) fn screenshots() -> Outcome {
    test::test(&[
        "every_screen".to_owned(),
        "a_person_adds_servers".to_owned(),
        "a_newcomer_imports_the_servers".to_owned(),
    ])?;
    let docs = root().join("docs/screenshots");
    fs::create_dir_all(&docs).map_err(|e| format!("cannot create {}: {e}", docs.display()))?;
    for (screenshot, name) in SCREENSHOTS {
        let source = root().join("test-output").join(screenshot);
        fs::copy(&source, docs.join(name))
            .map_err(|e| format!("cannot copy {}: {e}", source.display()))?;
    }
    Ok(())
}
