//! Renders docs/client-programs.md.

use std::process::Command;

use crate::{command::CommandOutput, programs::MISSING_PROGRAMS, trial::Report};

/// The maximum number of lines of an output on the page.
const MAX_LINES: usize = 40;

const INTRODUCTION: &str = "\
# Client programs

This page shows what client programs print when they are connected to Drawbridge. `cargo xtask clients` writes the page;
the command fails if a program does not print the expected text. The programs come from their vendors, in the versions
that `tests/clients/package.json` pins.

All programs share one home folder and one `drawbridge serve`, which has one server: `@modelcontextprotocol/server-everything`,
whose tools any client may call. For each program, the command

1. connects the program (`drawbridge config connect CLIENT --yes`),
2. runs the program's own command that lists its servers,
3. has the program send one prompt to a stand-in for a language model, which calls the tool `everything__echo`; the
   program must send the tool's result back to the model, and Drawbridge must have recorded the call,
4. starts the command that Drawbridge wrote into the program's file, and lists its tools
   (`drawbridge config test CLIENT`),
5. undoes the change (`drawbridge config undo CLIENT`), and compares the files with the files before the change.

The stand-in answers over HTTP, as a model would, so that most programs need no account. The stand-in is not a model:
it calls the tool and says \"Done.\"

";

const OWN_CHANGES_NOTE: &str = "
Undoing Drawbridge's change then removed only what Drawbridge had added, and kept what the program had written. To compare the
files of these programs byte for byte, the command restored the files, connected the programs again without running
them, and undid this change.

";

/// Returns the page.
pub(crate) fn render(reports: &[Report]) -> String {
    let mut page = INTRODUCTION.to_owned();
    page += &format!("Run on {}.\n\n", today());
    page += &table(reports);
    page += "\n\"Reported as\" is the name and version that the program reported to Drawbridge. \"Tool\" is the name under which the program
offered `everything__echo` to the model. A dash means that the step was not tried with the program; its section under
[Output](#output) says why.\n\n";
    page += "While they were connected, some programs changed their files themselves:\n\n";
    for report in reports {
        if !report.own_changes.is_empty() {
            let files = code_list(&report.own_changes);
            page += &format!("- {}: {files}\n", report.program.title);
        }
    }
    page += OWN_CHANGES_NOTE;
    page += "## Not run\n\n| client | id | reason |\n| --- | --- | --- |\n";
    for program in MISSING_PROGRAMS {
        let ids: Vec<String> = program.client.split(", ").map(str::to_owned).collect();
        page += &format!(
            "| {} | {} | {} |\n",
            program.title,
            code_list(&ids),
            program.reason
        );
    }
    page += "\nThe other clients of [clients.md](clients.md) were not tried.\n";
    page += "\n## Output\n\nThe home folder is shown as `~`, Drawbridge's data folder as `DATA`, the folder around both as `TEMP`, the folder of the programs as `node_modules`, and the path of Drawbridge's command as `drawbridge`.\n";
    for report in reports {
        page += &format!("\n### {}\n", report.program.title);
        page += &transcript(report, MAX_LINES);
    }
    page
}

/// Returns a table with a row for each program.
pub(crate) fn table(reports: &[Report]) -> String {
    let mut table = "\
| program | client | lists its servers with | reported as | tool | `config test` | files restored byte for byte |
| --- | --- | --- | --- | --- | --- | --- |
"
    .to_owned();
    for report in reports {
        let program = report.program;
        let listing = match (&program.listing, &report.listing) {
            (Some(listing), Some(output)) => {
                format!("`{}`: \"{}\"", output.line, listing.expected)
            }
            _ => "–".to_owned(),
        };
        // `TrialRunner::run` reports a file that was not restored as "FILE is not as before".
        let undone = if report
            .failures
            .iter()
            .any(|text| text.contains("as before"))
        {
            "no".to_owned()
        } else {
            format!("yes: {}", code_list(&report.changed_files))
        };
        table += &format!(
            "| {} `{}` {} | `{}` | {listing} | {} | {} | {} tools | {undone} |\n",
            program.title,
            program.package,
            report.version,
            program.client,
            report.software.as_deref().unwrap_or("–"),
            report
                .tool_name
                .as_ref()
                .map_or("–".to_owned(), |name| format!("`{name}`")),
            report.tool_count,
        );
    }
    table
}

/// Returns the output of a program's commands, with at most `max_lines` lines for each command, the
/// notes on the commands, and the failures.
pub(crate) fn transcript(report: &Report, max_lines: usize) -> String {
    let program = report.program;
    let mut text = String::new();
    for (output, note) in [
        (&report.listing, program.listing_note),
        (&report.conversation, program.conversation_note),
    ] {
        if let Some(CommandOutput {
            line,
            text: printed,
            ..
        }) = output
        {
            text += &format!("\n```text\n$ {line}\n{}\n```\n", clip(printed, max_lines));
        }
        if !note.is_empty() {
            text += &format!("\n{note}\n");
        }
    }
    for failure in &report.failures {
        text += &format!("\nFailed: {failure}\n");
    }
    text
}

fn clip(text: &str, max_lines: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines.len().checked_sub(max_lines) {
        None | Some(0) => text.to_owned(),
        Some(rest) => format!("{}\n… ({rest} more lines)", lines[..max_lines].join("\n")),
    }
}

fn code_list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| format!("`{text}`")).collect();
    quoted.join(", ")
}

/// Returns today's date in UTC.
fn today() -> String {
    let output = Command::new("date")
        .args(["-u", "+%F"])
        .output()
        .expect("`date` runs on every Unix");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
