//! Formats servers as text.

use std::fmt::Write;

use drawbridge_hub::api::{
    servers::{ServerUsage, ServerView, ServersView, VerifiedView},
    tools::ToolView,
};
use drawbridge_model::{
    capability::ExcludedEntries,
    reference::{Part, has_reference, split_references},
    sandbox::{EnforcedSandbox, Sandbox, SandboxFiles, SandboxNetwork},
    server::SyncStatus,
    sign_in::ServerSignIn,
    spec::ServerSpec,
};
use serde_json::json;

use super::definitions::{self, format_value};
use crate::{
    table::Table,
    text::{escape, escape_lines, format_count, format_flags},
    time::format_time_or_dash,
};

pub(super) fn format_servers(view: &ServersView) -> String {
    let mut table = Table::new(["ID", "STATE", "TOOLS", "STARTS", "REASON"]);
    for server in &view.servers {
        let (tools, starts) = (server.tools.len().to_string(), server.starts.to_string());
        let state = if server.spec.builtin.is_some() {
            format!("{} (built in)", server.state.label())
        } else {
            server.state.label().to_owned()
        };
        table.add_row([server.id.as_str(), &state, &tools, &starts, &server.reason]);
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
    line("identity", &server.identity);
    describe_spec(server, &mut line);
    if server.spec.builtin.is_none() {
        line("file", &server.file);
    }
    match &server.sign_in {
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
    if let Some(EnforcedSandbox { landlock, signals }) = server.sandbox {
        let signals = if signals {
            ""
        } else {
            "; this kernel cannot limit signals"
        };
        line(
            "enforced",
            &format!("the sandbox, by Landlock {landlock} and seccomp{signals}"),
        );
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
    lines.push_str(&format_changes(server));
    let _ = write!(lines, "\n{}", format_tools(&server.tools));
    lines.push_str(&definitions::format_unaccepted(server));
    lines.push_str(&format_excluded(&server.excluded));
    lines
}

/// Returns the time at which the server's lists were read last, and the state of the sync.
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

/// Lists the excluded entries, to be appended to other lines. Returns an empty text if there are
/// none.
pub(super) fn format_excluded(excluded: &ExcludedEntries) -> String {
    let count = excluded.entries.len() + usize::try_from(excluded.more).unwrap_or(usize::MAX);
    if count == 0 {
        return String::new();
    }
    let mut table = Table::new(["KIND", "NAME", "REASON"]);
    for entry in &excluded.entries {
        table.add_row([entry.kind.noun(), &entry.name, &entry.reason]);
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

/// Returns all that a person accepts of a server: its spec, and the differences from the accepted
/// spec.
pub(super) fn format_offer(server: &ServerView) -> String {
    let mut lines = String::new();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(lines, "{key:12} {}", escape(value));
    };
    line("id", server.id.as_str());
    line("name", &server.name);
    describe_spec(server, &mut line);
    lines.push_str(&format_changes(server));
    lines.trim_end().to_owned()
}

/// Lists the differences from the accepted spec. Returns an empty text if there are none.
fn format_changes(server: &ServerView) -> String {
    if server.changes.is_empty() {
        return String::new();
    }
    let mut lines = "\nDifferences from the spec that you accepted:\n".to_owned();
    for change in &server.changes {
        let _ = writeln!(
            lines,
            "    {}\n      - {}\n      + {}",
            escape(&change.field),
            format_value(change.accepted.as_ref()),
            format_value(change.offered.as_ref())
        );
    }
    lines
}

/// Writes each field that a person accepts, except the name and most fields with a default value.
/// Adds the server's floating packages, its program and its foreign secrets. `line` writes a key
/// and a value in one line.
fn describe_spec(server: &ServerView, line: &mut impl FnMut(&str, &str)) {
    // Each field is named, so that no new field can be forgotten here.
    let ServerSpec {
        name: _,
        command,
        args,
        env,
        required_env,
        cwd,
        url,
        headers,
        bearer_token,
        oauth,
        transport,
        protocol_version,
        runtime_hint,
        program_changes,
        sandbox,
        enabled,
        lifecycle,
        isolation,
        timeouts,
        retries,
        visibility,
        definitions,
        validate,
        content_defence,
        allowed_tools,
        prefix,
        fallback,
        cache_ttl_ms,
        cache_results_ms,
        builtin,
        other: _,
    } = &server.spec;
    if builtin.is_some() {
        line("built in", "part of Drawbridge; it runs in the hub");
    }
    if let Some(command) = command {
        line("command", command);
    }
    for argument in args {
        line("  argument", argument);
    }
    for (name, value) in env {
        line("  env", &format!("{name}={value}"));
    }
    if !required_env.is_empty() {
        line("  required", &required_env.join(", "));
    }
    for package in &server.floating {
        let text =
            format!("{package} has no exact version; another version may run at the next start");
        line("  floating", &text);
    }
    if let Some(program) = &server.program {
        line("program", program.path.as_deref().unwrap_or("(not found)"));
        if let Some(target) = &program.link_target {
            line("  links to", target);
        }
        for file in &program.files {
            line("  SHA-256", &format!("{} of {}", file.sha256, file.path));
        }
    }
    if *program_changes {
        line("  changes", "a replaced program starts without asking");
    }
    if let Some(cwd) = cwd {
        line("folder", cwd);
    }
    if let Some(sandbox) = sandbox {
        describe_sandbox(sandbox, line);
    }
    if let Some(url) = url {
        line("url", url);
    }
    for (name, value) in headers {
        line("  header", &format!("{name}: {value}"));
    }
    if let Some(token) = bearer_token {
        line("  bearer", &describe_secret(token));
    }
    if let Some(client) = oauth {
        line("oauth client", &client.client_id);
        if let Some(secret) = &client.client_secret {
            line("  secret", &describe_secret(secret));
        }
        if let Some(port) = client.callback_port {
            line("  port", &port.to_string());
        }
    }
    for name in &server.foreign_secrets {
        let text = format!("{name} is not a secret of this server; grant it only if you know why");
        line("! SECRET", &text);
    }
    let defaults = ServerSpec::default();
    // Writes a field unless it has its default value.
    let mut write_unless_default =
        |name: &str, value: serde_json::Value, default: serde_json::Value| {
            if value != default {
                line(name, &value.to_string());
            }
        };
    write_unless_default("transport", json!(transport), json!(None::<()>));
    write_unless_default("protocol", json!(protocol_version), json!(None::<()>));
    write_unless_default("runtime", json!(runtime_hint), json!(None::<()>));
    write_unless_default("enabled", json!(enabled), json!(defaults.enabled));
    write_unless_default("lifecycle", json!(lifecycle), json!(defaults.lifecycle));
    write_unless_default("isolation", json!(isolation), json!(defaults.isolation));
    write_unless_default("timeouts", json!(timeouts), json!(defaults.timeouts));
    write_unless_default("retries", json!(retries), json!(defaults.retries));
    write_unless_default("visibility", json!(visibility), json!(defaults.visibility));
    write_unless_default(
        "definitions",
        json!(definitions),
        json!(defaults.definitions),
    );
    write_unless_default("validate", json!(validate), json!(defaults.validate));
    write_unless_default(
        "content",
        json!(content_defence),
        json!(defaults.content_defence),
    );
    write_unless_default("tools", json!(allowed_tools), json!(None::<()>));
    write_unless_default("prefix", json!(prefix), json!(None::<()>));
    write_unless_default("fallback", json!(fallback), json!(defaults.fallback));
    write_unless_default("cache (ms)", json!(cache_ttl_ms), json!(None::<()>));
    write_unless_default(
        "results (ms)",
        json!(cache_results_ms),
        json!(defaults.cache_results_ms),
    );
}

fn describe_sandbox(sandbox: &Sandbox, line: &mut impl FnMut(&str, &str)) {
    let Sandbox {
        files,
        read,
        write,
        network,
        connect,
        bind,
        local_sockets,
    } = sandbox;
    let files = match files {
        SandboxFiles::All => "all your files",
        SandboxFiles::Listed => "its own folder and the files listed here",
    };
    line("sandbox", files);
    for path in read {
        line("  read", path);
    }
    for path in write {
        line("  write", path);
    }
    let ports = |ports: &[u16]| {
        ports
            .iter()
            .map(u16::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match network {
        SandboxNetwork::All => line("  network", "all"),
        SandboxNetwork::None => line("  network", "none"),
        SandboxNetwork::Listed => {
            line("  network", "TCP on the ports listed here, and UDP");
            line("  connect", &ports(connect));
            line("  listen", &ports(bind));
        }
    }
    if *local_sockets {
        line("  sockets", "local sockets of other programs");
    }
}

/// Returns the references in a secret value, with `•••` for the literal text around them. For a
/// value without a reference, returns a text that says where the secret is.
fn describe_secret(value: &str) -> String {
    if !has_reference(value) {
        return "in the spec file".to_owned();
    }
    let parts = split_references(value);
    parts
        .into_iter()
        .map(|part| match part {
            Part::Reference(_, whole) => whole,
            Part::Text(_) => "•••",
        })
        .collect()
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
        table.add_row([&tool.name, tool.effect.label(), first_line]);
        if !tool.flags.is_empty() {
            let flags = format!("! contains {}", format_flags(&tool.flags));
            table.add_row(["", "", &flags]);
        }
    }
    table.format_or("No tools.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_references_in_a_secret_value_are_shown() {
        for (value, shown) in [
            ("${keyring:a}", "${keyring:a}"),
            ("${keyring:a}literal", "${keyring:a}•••"),
            ("Bearer ${keyring:a}", "•••${keyring:a}"),
            ("literal", "in the spec file"),
        ] {
            assert_eq!(describe_secret(value), shown, "{value}");
        }
    }
}
