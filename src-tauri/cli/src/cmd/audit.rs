//! `drawbridge audit`: verifies the audit log or the entries about one call, lists entries, and
//! exports the calls.

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

use clap::{
    Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use drawbridge_hub::api::audit::{AuditEntries, ExportAudit, ListAudit, VerifyAudit, VerifyCall};
use drawbridge_model::{
    audit::{AuditKind, AuditReport, AuditedCall, CallAuditEntry},
    ids::{CallId, Timestamp},
};

use crate::{
    context::Context,
    exit::Failure,
    output,
    table::Table,
    text::{enum_text, escape, escape_json, format_count},
    time::{format_time, format_utc, parse_time},
};

#[derive(Subcommand)]
pub(crate) enum Audit {
    /// Verify the hash chain of the audit log; exit with 1 if the log is not intact
    Verify,
    /// Verify the entries about one call: its decision and its end; exit with 1 if one of them was
    /// changed
    Call {
        /// The call's id, as shown by `calls list`
        id: String,
    },
    /// List the entries that concern no call, such as changes of the policy, of servers and of
    /// settings, newest first
    List {
        /// Only entries of this kind; `decided` and `ended` are the kinds of entries about calls
        #[arg(long, value_name = "KIND", value_parser = kind_parser())]
        kind: Option<AuditKind>,
        /// Only entries since this time: a day (2026-11-21), a local time (2026-11-21T03:18), a
        /// time with a UTC offset (2026-11-21T03:18:46Z) or an age (7d)
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        since: Option<Timestamp>,
        /// Only entries with a number below this one, to get the next page
        #[arg(long, value_name = "NUMBER")]
        before: Option<u32>,
        /// The maximum number of entries, at most 500 [default: 500]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: Option<u32>,
    },
    /// Export all calls with their decisions, outcomes, digests and redacted arguments, oldest
    /// first
    Export {
        /// The format of the output
        #[arg(long, value_enum, default_value_t)]
        format: ExportFormat,
        /// Only calls since this time: a day (2026-11-21), a local time (2026-11-21T03:18), a time
        /// with a UTC offset (2026-11-21T03:18:46Z) or an age (7d)
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        since: Option<Timestamp>,
        /// Only calls before this time
        #[arg(long, value_name = "TIME", value_parser = parse_time)]
        until: Option<Timestamp>,
        /// Write to this file instead of stdout
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One JSON object per line
    #[default]
    Jsonl,
    /// One row per call, for spreadsheets; no cell is a formula
    Csv,
}

impl Audit {
    pub(crate) async fn run(self, context: &Context) -> Result<(), Failure> {
        match self {
            Self::Verify => verify(context).await,
            Self::Call { id } => verify_call(context, CallId::new(id)).await,
            Self::List {
                kind,
                since,
                before,
                limit,
            } => {
                let verb = ListAudit {
                    kind,
                    since,
                    before,
                    limit,
                };
                context.run_and_print(verb, format_entries).await
            }
            Self::Export {
                format,
                since,
                until,
                output,
            } => {
                let first_page = ExportAudit {
                    since,
                    until,
                    ..ExportAudit::default()
                };
                let Some(file) = output else {
                    if context.json {
                        let mut lines = Vec::new();
                        export(context, first_page, ExportFormat::Jsonl, &mut lines).await?;
                        let lines = String::from_utf8_lossy(&lines);
                        return output::print_line(&format!(
                            "[{}]",
                            lines.lines().collect::<Vec<_>>().join(",")
                        ));
                    }
                    return export(context, first_page, format, io::stdout().lock())
                        .await
                        .map(drop);
                };
                let output_file =
                    output::create_private_file(&file).map_err(|source| Failure::CreateFile {
                        file: file.clone(),
                        source,
                    })?;
                let count = export(context, first_page, format, output_file).await?;
                let answer = serde_json::json!({ "calls": count, "file": file });
                output::print_answer(context.json, &answer, |_| {
                    format!(
                        "Exported {} to {}.",
                        format_count(count, "call", "calls"),
                        escape(&file.display().to_string())
                    )
                })
            }
        }
    }
}

fn kind_parser() -> impl TypedValueParser<Value = AuditKind> {
    PossibleValuesParser::new(AuditKind::ALL.iter().map(|kind| kind.as_str())).map(|name| {
        let mut kinds = AuditKind::ALL.iter().copied();
        kinds
            .find(|kind| kind.as_str() == name)
            .expect("the parser accepts only the names of kinds")
    })
}

fn format_entries(page: &AuditEntries) -> String {
    let mut table = Table::new(["NUMBER", "AT", "KIND", "DETAILS"]);
    for entry in &page.entries {
        let details = match &entry.call {
            Some(call) => format!("call {call}"),
            None => entry.body.to_string(),
        };
        table.add_row([
            &entry.seq.to_string(),
            &format_time(entry.at),
            entry.kind.as_str(),
            &details,
        ]);
    }
    table.format_or("No entries.")
}

async fn verify(context: &Context) -> Result<(), Failure> {
    let report = context.run(VerifyAudit {}).await?;
    let Some(broken) = &report.broken else {
        return output::print_answer(context.json, &report, format_report);
    };
    if context.json {
        output::print_answer(true, &report, format_report)?;
    }
    Err(Failure::AuditNotIntact {
        seq: broken.seq,
        reason: broken.reason.clone(),
    })
}

async fn verify_call(context: &Context, id: CallId) -> Result<(), Failure> {
    let entries = context.run(VerifyCall { id }).await?;
    output::print_answer(context.json, &entries, |entries| {
        format_call_entries(entries)
    })?;
    let failure = entries.into_iter().find_map(|entry| {
        let reason = entry.fault?;
        Some(Failure::AuditNotIntact {
            seq: entry.seq,
            reason,
        })
    });
    failure.map_or(Ok(()), Err)
}

fn format_call_entries(entries: &[CallAuditEntry]) -> String {
    let mut table = Table::new(["NUMBER", "AT", "KIND", "HASH", "VERIFIED"]);
    for entry in entries {
        table.add_row([
            &entry.seq.to_string(),
            &format_time(entry.at),
            entry.kind.as_str(),
            &entry.hash,
            if entry.fault.is_none() { "yes" } else { "no" },
        ]);
    }
    table.format_or("The audit log has no entry about this call.")
}

fn format_report(report: &AuditReport) -> String {
    match (report.from, report.to) {
        (Some(from), Some(to)) => format!(
            "Verified {} from {} to {}.",
            format_count(report.entries, "entry", "entries"),
            format_time(from),
            format_time(to)
        ),
        _ => "The audit log has no entries.".to_owned(),
    }
}

/// Writes the calls page by page, and returns their number.
async fn export(
    context: &Context,
    first_page: ExportAudit,
    format: ExportFormat,
    out: impl Write,
) -> Result<usize, Failure> {
    let hub = context.open_hub_handle().await?;
    let (mut page, mut out, mut count) = (first_page, Exporter::new(format, out)?, 0);
    let result = loop {
        let answer = match hub.run(page.clone()).await {
            Ok(answer) => answer,
            Err(error) => break Err(error.into()),
        };
        count += answer.calls.len();
        if let Err(error) = answer.calls.iter().try_for_each(|call| out.write(call)) {
            break Err(error);
        }
        match answer.next {
            None => break out.finish(),
            next => page.after = next,
        }
    };
    hub.close().await;
    result.map(|()| count)
}

enum Exporter<W: Write> {
    Jsonl(BufWriter<W>),
    Csv(Box<csv::Writer<W>>),
}

const COLUMNS: [&str; 29] = [
    "id",
    "at",
    "client",
    "server",
    "tool",
    "exposed_name",
    "decision",
    "decided_by",
    "reason",
    "outcome",
    "error",
    "waited_ms",
    "duration_ms",
    "definition_digest",
    "arguments_digest",
    "arguments",
    "seq",
    "hash",
    "at_ms",
    "method",
    "rule",
    "is_edited",
    "original_arguments",
    "extra",
    "request_hooks",
    "result_hooks",
    "flags",
    "session",
    "result",
];

impl<W: Write> Exporter<W> {
    fn new(format: ExportFormat, out: W) -> Result<Self, Failure> {
        Ok(match format {
            ExportFormat::Jsonl => Self::Jsonl(BufWriter::new(out)),
            ExportFormat::Csv => {
                // RFC 4180 ends lines with CRLF.
                let mut writer = csv::WriterBuilder::new()
                    .terminator(csv::Terminator::CRLF)
                    .from_writer(out);
                writer.write_record(COLUMNS)?;
                Self::Csv(Box::new(writer))
            }
        })
    }

    fn write(&mut self, call: &AuditedCall) -> Result<(), Failure> {
        match self {
            Self::Jsonl(out) => Ok(writeln!(
                out,
                "{}",
                escape_json(&serde_json::to_string(call)?)
            )?),
            Self::Csv(out) => {
                Ok(out.write_record(list_cells(call).map(|cell| escape_formula(&cell)))?)
            }
        }
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Jsonl(mut out) => Ok(out.flush()?),
            Self::Csv(mut out) => Ok(out.flush()?),
        }
    }
}

fn list_cells(audited: &AuditedCall) -> [String; COLUMNS.len()] {
    let call = &audited.call;
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    [
        call.id.to_string(),
        format_utc(call.at),
        call.client.to_string(),
        call.server.to_string(),
        call.tool.clone(),
        call.exposed_name.clone(),
        enum_text(call.decision),
        enum_text(call.decided_by),
        call.reason.clone(),
        enum_text(call.outcome),
        call.error.clone(),
        call.waited_ms.to_string(),
        number(call.duration_ms),
        audited.definition_digest.clone(),
        audited.arguments_digest.clone(),
        call.arguments.clone().unwrap_or_default(),
        number(audited.seq),
        audited.hash.clone().unwrap_or_default(),
        call.at.0.to_string(),
        call.method.name().to_owned(),
        call.rule
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        call.is_edited.to_string(),
        call.original_arguments.clone().unwrap_or_default(),
        call.extra.clone().unwrap_or_default(),
        call.request_hooks.join(", "),
        call.result_hooks.join(", "),
        call.flags
            .iter()
            .map(|flag| format!("{}: {}", flag.place, enum_text(flag.kind)))
            .collect::<Vec<_>>()
            .join(", "),
        call.session
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        call.result
            .as_ref()
            .map(|kept| kept.text.clone())
            .unwrap_or_default(),
    ]
}

/// Returns a cell that no spreadsheet interprets as a formula.
fn escape_formula(cell: &str) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests;
