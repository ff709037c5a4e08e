//! Formats servers as text.

use std::fmt::Write;

use drawbridge_hub::api::{
    servers::{ServerUsage, ServerView, ServersView, VerifiedView},
    tools::ToolView,
};
use drawbridge_model::{
    capability::ExcludedEntries, server::SyncStatus, sign_in::ServerSignIn, spec::ServerSpec,
};

use super::definitions;
use crate::{
    table::Table,
    text::{escape, escape_lines, format_count},
    time::format_time_or_dash,
};

pub(super) fn format_servers(view: &ServersView) -> String {
    let mut table = Table::new(["ID", "STATE", "TOOLS", "STARTS", "REASON"]);
    for server in &view.servers {
        let (tools, starts) = (server.tools.len().to_string(), server.starts.to_string());
        table.add_row([
            server.id.as_str(),
            server.state.label(),
            &tools,
            &starts,
            &server.reason,
        ]);
    }
    let mut lines = table.format_or("No servers. Add one with `drawbridge servers add`.");
    for broken in &view.broken {
        let position = if broken.line == 0 {
            broken.file.clone()
        } else {
            format!("{}:{}:{}", broken.file, broken.line, broken.column)
        };
        let _ = write!(
            lines,
            "\nCannot read {}: {}",
            escape(&position),
            escape(&broken.message)
        );
    }
    lines
}

pub(super) fn format_usage(servers: &[ServerUsage]) -> String {
    let mut table = Table::new(["ID", "PROCESSES", "MEMORY", "CPU"]);
    for usage in servers {
        let memory = format!("{} MiB", usage.memory_kib / 1024);
        table.add_row([
            usage.id.as_str(),
            &usage.processes.to_string(),
            &memory,
            &format!("{:.0} %", usage.cpu_percent),
        ]);
    }
    table.format_or("No local server is running.")
}

/// Returns the state, the reason and the remedy in one line.
pub(super) fn format_state(server: &ServerView) -> String {
    let mut line = server.state.label().to_owned();
    if !server.reason.is_empty() {
        let _ = write!(line, " ({})", escape(server.reason.trim_end_matches('.')));
    }
    if !server.remedy.is_empty() {
        let _ = write!(line, ". {}", escape(&server.remedy));
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
    line("acceptance", server.acceptance.label());
    describe_spec(&server.spec, &mut line);
    line("file", &server.file);
    match &server.authorization {
        ServerSignIn::None => {}
        ServerSignIn::Needed => line(
            "signed in",
            &format!("no. Run `drawbridge servers sign-in {}`.", server.id),
        ),
        ServerSignIn::SignedIn { issuer, expires_at } => {
            line(
                "signed in",
                &format!(
                    "at {issuer}; token expires: {}",
                    format_time_or_dash(*expires_at)
                ),
            );
        }
    }
    if let Some(pid) = server.pid {
        line("pid", &pid.to_string());
    }
    if let Some(name) = &server.server_name {
        line(
            "reported as",
            &format!(
                "{name} {}",
                server.server_version.as_deref().unwrap_or_default()
            ),
        );
    }
    if let Some(version) = &server.protocol_version {
        line("protocol", version);
    }
    line("synced", &format_sync(server));
    if server.non_jsonrpc_lines > 0 {
        line(
            "stdout",
            &format!(
                "{} not JSON-RPC",
                format_count(server.non_jsonrpc_lines, "line that is", "lines that are")
            ),
        );
    }
    if let Some(instructions) = &server.instructions {
        let _ = writeln!(
            lines,
            "\nThe server's instructions:\n{}",
            escape_lines(instructions)
        );
    }
    let _ = write!(lines, "\n{}", format_tools(&server.tools));
    lines.push_str(&definitions::format_unaccepted(server));
    lines.push_str(&format_excluded(&server.excluded));
    lines
}

/// Returns when the server's lists were read last, and whether that succeeded.
fn format_sync(server: &ServerView) -> String {
    let last_sync = format_time_or_dash(server.last_synced_at);
    let mut text = match server.sync_status {
        SyncStatus::NeverSynced => "never".to_owned(),
        SyncStatus::Syncing => format!("in progress; last: {last_sync}"),
        SyncStatus::Synced => last_sync,
        SyncStatus::Failed => format!("failed; last: {last_sync}"),
    };
    if server.stale {
        text.push_str(", stale");
    }
    text
}

/// Lists the excluded entries, to be appended to other lines. Empty if there are none.
pub(super) fn format_excluded(excluded: &ExcludedEntries) -> String {
    let count = excluded.entries.len() + usize::try_from(excluded.more).unwrap_or(usize::MAX);
    if count == 0 {
        return String::new();
    }
    let mut table = Table::new(["KIND", "NAME", "REASON"]);
    for entry in &excluded.entries {
        table.add_row([entry.kind.noun(), &entry.name, &entry.why]);
    }
    let subject = format_count(
        count,
        "entry of this server's lists is",
        "entries of this server's lists are",
    );
    let more = if excluded.more > 0 {
        format!("\nand {} more", excluded.more)
    } else {
        String::new()
    };
    format!(
        "\n\n{subject} excluded, so clients do not see them:\n{}{more}",
        table.format_or("")
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
    let name = match (&view.server_name, &view.server_version) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        (Some(name), None) => name.clone(),
        (None, _) => "the server".to_owned(),
    };
    format!(
        "Connected to {} in {} ms, with MCP {}.\n\n{}{}",
        escape(&name),
        view.duration_ms,
        escape(&view.protocol_version),
        format_tools(&view.tools),
        format_excluded(&view.excluded)
    )
}

fn format_tools(tools: &[ToolView]) -> String {
    let mut table = Table::new(["TOOL", "POLICY", "DESCRIPTION"]);
    for tool in tools {
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.add_row([&tool.name, tool.policy.label(), first_line]);
    }
    table.format_or("No tools.")
}
