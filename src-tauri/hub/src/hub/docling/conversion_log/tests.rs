use super::*;

/// The log of docling-mcp 3.3.0 if its local converter is not installed.
const LOG: &str = "\
2026-11-23 23:04:09,769 - docling_mcp - INFO - Selecting converter for mode: ConversionMode.LOCAL
[11/23/26 23:04:09] ERROR    Tool                                  server.py:455
                             'convert_document_into_docling_docume
                             nt' raised an unexpected exception
                             ╭─ Traceback (most recent call last─╮
                             │   210 │   │   │   raise ToolError │
                             ╰───────────────────────────────────╯
                             ImportError: Local conversion mode
                             requires docling-mcp[local] extra.
                             Install with: pip install
                             docling-mcp[local]

                             The above exception was the direct
                             cause of the following exception:

                             ╭─ Traceback (most recent call last─╮
                             ╰───────────────────────────────────╯
                             UnexpectedToolError: Error executing
                             tool
                             convert_document_into_docling_documen
                             t";

#[test]
fn the_reason_is_the_last_error_before_the_error_of_docling_mcps_framework() {
    let lines: Vec<_> = LOG.lines().collect();
    assert!(has_framework_error(&lines));
    assert_eq!(
        find_reason(&lines).expect("a reason"),
        "ImportError: Local conversion mode requires docling-mcp[local] extra. Install with: pip install docling-mcp[local]"
    );
    // The first twelve lines end before the error of the framework.
    assert!(!has_framework_error(&lines[..12]));
}

#[test]
fn a_log_without_an_error_has_no_reason() {
    assert_eq!(find_reason(&[]), None);
    assert_eq!(find_reason(&["INFO - converting", "done"]), None);
    assert_eq!(
        find_reason(&["UnexpectedToolError: Error executing tool x"]),
        None
    );
}

#[test]
fn an_error_without_a_traceback_is_a_reason() {
    let plain = [
        "docling.exceptions.ConversionError: File format not allowed: a.md",
        "next line of it",
        "",
    ];
    assert_eq!(
        find_reason(&plain).expect("a reason"),
        "ConversionError: File format not allowed: a.md next line of it"
    );
}
