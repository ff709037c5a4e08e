//! Formats the report of a server's accesses in its latest recorded run, and the sandbox that
//! allows only these accesses.

use std::fmt::Write;

use drawbridge_hub::{
    access_reports::{ExclusionReason, SandboxProposal},
    api::servers::AccessReportView,
};
use drawbridge_model::access_report::{
    AccessReport, AccessSummary, AddressKind, AddressUse, FileAccess, FileUse, RecordedAccess,
    RefusedCall,
};

use crate::{
    table::Table,
    text::{escape, format_count},
    time::format_time,
};

/// Returns the text of the report of a server.
pub(super) fn format_report(id: &str, view: &AccessReportView) -> String {
    let id = escape(id);
    let Some(report) = &view.report else {
        return if view.can_record {
            format!(
                "Nothing is recorded yet. Drawbridge records the next run of '{id}'. To start a recorded run now, run `drawbridge servers record {id}`."
            )
        } else {
            format!("'{id}' cannot be recorded: Drawbridge records only local servers on Linux.")
        };
    };
    let mut text = format!("Run of {}", format_time(report.recorded_at));
    text.push_str(match (view.is_recording, view.is_current) {
        (true, _) => ", still in progress",
        (false, true) => "",
        (false, false) => ", before the server was changed",
    });
    text.push_str(if report.sandbox.is_some() {
        ", in a sandbox.\n"
    } else {
        ", without a sandbox.\n"
    });
    match &report.access {
        RecordedAccess::Unavailable(reason) => {
            let _ = write!(text, "\nThe run could not be recorded: {}.", escape(reason));
        }
        RecordedAccess::Summary(summary) => text.push_str(&format_summary(view, report, summary)),
    }
    if let Some(proposal) = &view.proposal {
        text.push_str(&format_proposal(&id, proposal));
    }
    text
}

fn format_summary(
    view: &AccessReportView,
    report: &AccessReport,
    summary: &AccessSummary,
) -> String {
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{title}:\n  {}", lines.join("\n  "));
        }
    };
    let files = |access, refused| {
        let files = summary.files.iter();
        let chosen = files.filter(|file| file.access == access && file.refused == refused);
        chosen.map(format_file).collect::<Vec<_>>()
    };
    let addresses = |refused| {
        let addresses = summary.addresses.iter();
        let chosen = addresses.filter(|address| address.refused == refused);
        chosen.map(format_address).collect::<Vec<_>>()
    };
    let programs = |refused| {
        let programs = summary.programs.iter();
        let chosen = programs.filter(|program| program.refused == refused);
        chosen
            .map(|program| escape(&program.path))
            .collect::<Vec<_>>()
    };
    let mut refused = Vec::new();
    refused.extend(prefix_lines("read", files(FileAccess::Read, true)));
    refused.extend(prefix_lines("write", files(FileAccess::Write, true)));
    refused.extend(addresses(true));
    refused.extend(prefix_lines("start", programs(true)));
    let calls = summary.refused_calls.iter();
    refused.extend(calls.map(|call| format_refused_call(*call).to_owned()));
    section("Refused by the sandbox", refused);
    section("Read", files(FileAccess::Read, false));
    section("Written", files(FileAccess::Write, false));
    section("Connected", addresses(false));
    section("Started", programs(false));
    if summary.files.is_empty() && summary.addresses.is_empty() && report.sandbox.is_none() {
        text.push_str("\nThe server used no files but its own and the system's, and no network.\n");
    }
    // While the run goes on, this count may be outdated: opening these files sends no new report.
    if !view.is_recording {
        let _ = writeln!(
            text,
            "\nFiles of the system, of the program and of the server's own folder: opened {}.",
            format_count(summary.ordinary, "time", "times")
        );
    }
    let uses = |count| format_count(count, "use", "uses");
    if summary.omitted > 0 {
        let omitted = format_count(
            summary.omitted,
            "further address or program",
            "further addresses or programs",
        );
        let _ = writeln!(text, "Left out: {omitted}.");
    }
    if summary.elsewhere > 0 {
        let elsewhere = uses(summary.elsewhere);
        let _ = writeln!(
            text,
            "Left out: {elsewhere} by processes in another root folder, such as a container."
        );
    }
    if summary.unreadable > 0 {
        let unreadable = uses(summary.unreadable);
        let _ = writeln!(
            text,
            "Not read: {unreadable}, because the process ended or is protected."
        );
    }
    if summary.uses_io_uring {
        text.push_str("A process used io_uring, so the report may lack files.\n");
    }
    text
}

fn prefix_lines(verb: &str, lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(move |line| format!("{verb} {line}"))
}

fn format_file(file: &FileUse) -> String {
    let path = escape(&file.path);
    let folder = if file.is_folder { "/" } else { "" };
    if file.files > 1 {
        format!("{path}{folder} ({} files)", file.files)
    } else {
        format!("{path}{folder}")
    }
}

fn format_address(used: &AddressUse) -> String {
    let AddressUse {
        kind,
        address,
        port,
        ..
    } = used;
    let address = escape(address);
    match kind {
        AddressKind::Connect => format!("connect to {address}, TCP port {port}"),
        AddressKind::Bind => format!("listen on {address}, TCP port {port}"),
        AddressKind::Udp => format!("UDP to {address}, port {port}"),
        AddressKind::LocalSocket => format!("local socket {address}"),
    }
}

fn format_refused_call(call: RefusedCall) -> &'static str {
    match call {
        RefusedCall::InternetSocket => "use the network",
        RefusedCall::LocalSocket => "use local sockets of other programs",
        RefusedCall::OtherSocket => "use another kind of socket",
        RefusedCall::IoUring => "use io_uring",
    }
}

fn format_proposal(id: &str, proposal: &SandboxProposal) -> String {
    let sandbox = serde_json::to_string(&proposal.sandbox).expect("a sandbox is plain data");
    let command = [
        "drawbridge",
        "servers",
        "set",
        id,
        &format!("sandbox={sandbox}"),
    ];
    let mut text = format!(
        "\nA sandbox that allows only these uses:\n  {}\n",
        escape(&shell_words::join(command))
    );
    if proposal.sandbox.local_sockets {
        text.push_str(
            "The sandbox allows local sockets: the programs behind them can do for the server what the sandbox forbids.\n",
        );
    }
    if proposal.excluded.is_empty() {
        return text;
    }
    let mut table = Table::new(["NOT ALLOWED", "USE", "REASON"]);
    for excluded in &proposal.excluded {
        let access = match excluded.access {
            FileAccess::Read => "read",
            FileAccess::Write => "write",
        };
        table.add_row([&excluded.path, access, explain_exclusion(excluded.reason)]);
    }
    let _ = write!(text, "\n{}", table.format_or(""));
    text
}

fn explain_exclusion(reason: ExclusionReason) -> &'static str {
    match reason {
        ExclusionReason::Private => "private: it may contain keys or passwords, or start programs",
        ExclusionReason::TooBroad => "too broad: much else is in it",
        ExclusionReason::System => "belongs to the system or to a program",
        ExclusionReason::Own => "is in the server's own folder in a sandbox",
        ExclusionReason::Missing => "no longer exists",
    }
}
