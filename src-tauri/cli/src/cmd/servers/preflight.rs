//! `drawbridge servers preflight`: the checks of a server as text.

use drawbridge_hub::api::{doctor::CheckStatus, servers::PreflightCheck};

use crate::text::{enum_text, escape};

/// Returns a line for each check, and one for each remedy.
pub(super) fn format_checks(checks: &[PreflightCheck]) -> String {
    let mut lines = Vec::new();
    for check in checks {
        let topic = enum_text(check.topic).replace('_', " ");
        let status = enum_text(check.status);
        lines.push(format!("{status:8} {topic:11} {}", escape(&check.text)));
        if !check.remedy.is_empty() {
            lines.push(format!("{:20} → {}", "", escape(&check.remedy)));
        }
    }
    lines.join("\n")
}

/// Returns whether a check has failed.
pub(super) fn has_failures(checks: &[PreflightCheck]) -> bool {
    checks
        .iter()
        .any(|check| check.status == CheckStatus::Failure)
}
