//! The conversion of documents, which a person sets up in a real browser: the Settings screen says
//! which program is missing, the person accepts the server `docling`, which runs the program, and a
//! tool of the built-in server `docling-tools`, which uses `docling`, converts a page. A stand-in
//! replaces `uvx` and Docling.

use std::{fs, os::unix::fs::PermissionsExt};

use drawbridge_tests::{DesktopSession, Hub, canary, paths};
use serde_json::json;

use crate::steps::{
    check_screen, click, fill, run_next_action, select, take_steps_with_actions, wait_for,
    wait_for_text, wait_until_enabled, wait_until_gone,
};

/// Installs the stand-in for `uvx`.
fn install_uvx(desktop: &DesktopSession) {
    let script = paths::repository_root().join("tests/upstreams/docling/uvx.py");
    let folder = desktop.file("home/.local/bin");
    fs::create_dir_all(&folder).expect("create the folder of programs");
    let program = folder.join("uvx");
    fs::copy(script, &program).expect("install the stand-in");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
        .expect("make the stand-in executable");
}

#[test]
fn documents_are_converted_after_a_person_installed_the_program_and_accepted_the_server() {
    let desktop = DesktopSession::without_screen();
    let hub = Hub::serve(&desktop);
    let tool = "tool-row[data-tool=convert_document_from_content]";
    let document = json!({
        "content": canary::base64(b"hello from a page"), "file_name": "page.html"
    });
    let mut steps = vec![
        click("nav-settings"),
        wait_for("docling-enabled:not(:checked)"),
        click("docling-enabled"),
        wait_for_text("docling-reason", "cannot find the command 'uvx'"),
        wait_for_text("docling", "Install uv"),
        wait_for("docling-enabled:checked"),
    ];
    steps.extend(check_screen("documents-without-runtime"));
    steps.extend([
        run_next_action(),
        // The tools are switched off and on, so that Drawbridge looks for `uvx` again.
        click("docling-enabled"),
        wait_until_gone("docling-reason"),
        wait_until_enabled("docling-enabled"),
        click("docling-enabled"),
        wait_for_text("docling-reason", "waits for acceptance"),
        click("nav-servers"),
        click("server-row[data-server=docling]"),
        wait_until_enabled("server-accept"),
        click("server-accept"),
        wait_until_gone("server-accept"),
        click("server-row[data-server=docling-tools]"),
        select("server-policy", "allow"),
        wait_for_text("server-rule", "allow"),
        click(&format!("{tool} tool-toggle")),
        click(&format!("{tool} tool-call")),
        click(&format!("{tool} call-switch")),
        fill(&format!("{tool} call-json"), &document.to_string()),
        click(&format!("{tool} call-send")),
        wait_for_text("call-result", "# hello from a page"),
        click("nav-settings"),
        // PDF files need models, which nobody has downloaded.
        wait_for_text("docling-reason", "models"),
    ]);
    steps.extend(check_screen("documents-without-models"));
    steps.extend([
        click("docling-enabled"),
        wait_for("docling-enabled:not(:checked)"),
        wait_until_gone("docling-reason"),
    ]);
    take_steps_with_actions(&desktop, steps, vec![Box::new(|| install_uvx(&desktop))]);
    assert_eq!(hub.show_server("docling-tools")["state"], "disabled");
}
