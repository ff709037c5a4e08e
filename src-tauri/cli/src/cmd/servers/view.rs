//! Formats servers as text.

use std::fmt::Write;

use drawbridge_hub::{
    api::{
        servers::{
            DefinitionVersion, ServerUsage, ServerView, ServersView, ShownTool, VerifiedView,
        },
        tools::ToolView,
    },
    model::{
        capability::ExcludedEntries, sign_in::ServerSignIn, spec::ServerSpec, tool::AcceptanceState,
    },
};

use crate::{
    exit::Failure,
    text::{Table, enum_text, escape, escape_lines, moment_or_dash},
};

pub(super) fn format_servers(view: &ServersView) -> String {
    let mut table = Table::new(["ID", "STATE", "TOOLS", "STARTS", "REASON"]);
    for server in &view.servers {
        let (tools, starts) = (server.tools.len().to_string(), server.starts.to_string());
        table.row([
            server.id.as_str(),
            &enum_text(server.state),
            &tools,
            &starts,
            &server.reason,
        ]);
    }
    let mut lines = table.lines_or("no servers: add one with `drawbridge servers add`");
    for broken in &view.broken {
        let place = format!("{}:{}:{}", broken.file, broken.line, broken.column);
        let _ = write!(
            lines,
            "\nbroken spec {}: {}",
            escape(&place),
            escape(&broken.message)
        );
    }
    lines
}

/// Returns the tools to accept: the named ones, or all that are new or changed if `names` is empty.
///
/// # Errors
/// Returns an error if a named tool is unknown or already accepted.
pub(super) fn tools_to_accept(
    server: &ServerView,
    names: &[String],
) -> Result<Vec<ShownTool>, Failure> {
    let waits = |tool: &&ToolView| tool.acceptance != AcceptanceState::Accepted;
    let waiting: Vec<_> = server.tools.iter().filter(waits).collect();
    if let Some(name) = names
        .iter()
        .find(|name| waiting.iter().all(|tool| tool.name != **name))
    {
        return Err(Failure::new(format!(
            "no tool '{}' of '{}' waits to be accepted",
            escape(name),
            server.id
        )));
    }
    let is_meant = |tool: &&&ToolView| names.is_empty() || names.contains(&tool.name);
    let shown_tool = |tool: &&ToolView| ShownTool {
        name: tool.name.clone(),
        digest: tool.digest.clone(),
    };
    Ok(waiting.iter().filter(is_meant).map(shown_tool).collect())
}

/// Lists the versions of a tool, newest first, each with its differences from the version accepted
/// before.
pub(super) fn format_history(versions: &[DefinitionVersion]) -> String {
    let mut lines = String::new();
    for version in versions {
        let standing = match (version.accepted_at, version.offered) {
            (None, true) => "waits to be accepted",
            (None, false) => "was never accepted",
            (Some(_), true) => "accepted, offered now",
            (Some(_), false) => "accepted",
        };
        let _ = writeln!(
            lines,
            "{}  {}  {standing}",
            moment_or_dash(Some(version.first_seen_at)),
            &version.digest[..12]
        );
        for change in &version.changes {
            let value = |value: &Option<serde_json::Value>| {
                value
                    .as_ref()
                    .map_or_else(|| "nothing".to_owned(), |value| escape(&value.to_string()))
            };
            let _ = writeln!(lines, "    {}", escape(&change.field));
            let _ = writeln!(
                lines,
                "      - {}\n      + {}",
                value(&change.before),
                value(&change.after)
            );
        }
    }
    lines.trim_end().to_owned()
}

pub(super) fn format_usage(servers: &[ServerUsage]) -> String {
    let mut table = Table::new(["ID", "PROCESSES", "MEMORY", "CPU"]);
    for used in servers {
        let memory = format!("{} MiB", used.memory_kib / 1024);
        table.row([
            used.id.as_str(),
            &used.processes.to_string(),
            &memory,
            &format!("{:.0} %", used.cpu_percent),
        ]);
    }
    table.lines_or("no local server runs")
}

/// Returns the state, the reason and the remedy in one line.
pub(super) fn format_state(server: &ServerView) -> String {
    let mut line = enum_text(server.state);
    for (between, words) in [(" - ", &server.reason), ("; ", &server.remedy)] {
        if !words.is_empty() {
            line.push_str(between);
            line.push_str(&escape(words));
        }
    }
    line
}

pub(super) fn format_server(server: &ServerView) -> String {
    let mut lines = String::new();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(lines, "{key:12} {}", escape(value));
    };
    line("id", server.id.as_str());
    line("name", &server.name);
    line("state", &format_state(server));
    line("acceptance", &enum_text(server.acceptance));
    describe_spec(&server.spec, &mut line);
    line("file", &server.file);
    match &server.authorization {
        ServerSignIn::None => {}
        ServerSignIn::Needed => line(
            "signed in",
            "no: run `drawbridge servers sign-in` with its id",
        ),
        ServerSignIn::SignedIn { issuer, expires_at } => {
            line(
                "signed in",
                &format!(
                    "by {issuer}; the token runs out {}",
                    moment_or_dash(*expires_at)
                ),
            );
        }
    }
    if let Some(pid) = server.pid {
        line("pid", &pid.to_string());
    }
    if let Some(name) = &server.server_name {
        line(
            "calls itself",
            &format!(
                "{name} {}",
                server.server_version.as_deref().unwrap_or_default()
            ),
        );
    }
    if let Some(version) = &server.protocol_version {
        line("protocol", version);
    }
    let stale = if server.stale { ", stale" } else { "" };
    line(
        "synced",
        &format!(
            "{} {}{stale}",
            enum_text(server.sync_status),
            moment_or_dash(server.last_synced_at)
        ),
    );
    line("noise lines", &server.non_jsonrpc_lines.to_string());
    if let Some(instructions) = &server.instructions {
        let _ = writeln!(
            lines,
            "\ninstructions, as the server wrote them:\n{}",
            escape_lines(instructions)
        );
    }
    let _ = write!(lines, "\n{}", format_tools(&server.tools));
    lines.push_str(&format_excluded(&server.excluded));
    lines
}

/// Lists the excluded entries, to be appended to other lines. Empty if there are none.
pub(super) fn format_excluded(left_out: &ExcludedEntries) -> String {
    let count = left_out.entries.len() + usize::try_from(left_out.more).unwrap_or(usize::MAX);
    if count == 0 {
        return String::new();
    }
    let mut table = Table::new(["LEFT OUT", "NAME", "REASON"]);
    for entry in &left_out.entries {
        table.row([entry.kind.noun(), &entry.name, &entry.why]);
    }
    let what = if count == 1 {
        "1 entry of its lists is".to_owned()
    } else {
        format!("{count} entries of its lists are")
    };
    let more = if left_out.more > 0 {
        format!("\nand {} more", left_out.more)
    } else {
        String::new()
    };
    format!(
        "\n\n{what} left out, and no client sees them:\n{}{more}",
        table.lines_or("")
    )
}

fn describe_spec(spec: &ServerSpec, line: &mut impl FnMut(&str, &str)) {
    if let Some(command) = &spec.command {
        line("command", command);
    }
    for argument in &spec.args {
        line("  argument", argument);
    }
    for (name, value) in &spec.env {
        line("  env", &format!("{name}={value}"));
    }
    if let Some(cwd) = &spec.cwd {
        line("folder", cwd);
    }
    if let Some(url) = &spec.url {
        line("url", url);
    }
    for (name, value) in &spec.headers {
        line("  header", &format!("{name}: {value}"));
    }
    if let Some(client) = &spec.oauth {
        line("oauth client", &client.client_id);
        if let Some(secret) = &client.client_secret {
            line(
                "  secret",
                if secret.starts_with("${keyring:") {
                    secret
                } else {
                    "in the spec file"
                },
            );
        }
    }
}

pub(super) fn format_verified(view: &VerifiedView) -> String {
    format!(
        "{} {} speaks MCP {}; it answered in {} ms\n\n{}{}",
        escape(view.server_name.as_deref().unwrap_or("the server")),
        escape(view.server_version.as_deref().unwrap_or_default()),
        escape(&view.protocol_version),
        view.duration_ms,
        format_tools(&view.tools),
        format_excluded(&view.excluded)
    )
}

fn format_tools(tools: &[ToolView]) -> String {
    let mut table = Table::new(["TOOL", "POLICY", "DESCRIPTION"]);
    for tool in tools {
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.row([&tool.name, &enum_text(tool.policy), first_line]);
    }
    table.lines_or("no tools")
}
