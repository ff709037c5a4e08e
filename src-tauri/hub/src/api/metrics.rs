//! The text of `GET /metrics`: the counters of [`crate::metrics`], and the state of the hub at this
//! moment.

use std::collections::{BTreeMap, BTreeSet};

use drawbridge_model::{capability::CapabilityKind, ids::ServerId};
use drawbridge_sessions::ClientScope;
use prometheus::{Gauge, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder};

use super::{ApiError, servers};
use crate::hub::Hub;

/// The maximum number of values of a label: servers, or clients, that have metrics of their own.
const MAX_LABELS: usize = 200;
const VALID: &str = "the names of the metrics and labels are valid and occur once";

/// Returns all metrics in Prometheus' text format.
///
/// # Errors
/// Returns an error if the metrics cannot be written (`internal`).
pub fn metrics_text(hub: &Hub) -> Result<String, ApiError> {
    let state = Registry::new();
    add_sessions(hub, &state);
    add_servers(hub, &state);
    add_tool_lists(hub, &state);
    let add_gauge = |name: &str, help: &str, value: usize| {
        register_gauges(&state, name, help, &[])
            .with_label_values::<&str>(&[])
            .set(to_i64(value));
    };
    add_gauge(
        "drawbridge_approvals_waiting",
        "Requests and results that wait for a person",
        hub.queue.count(),
    );
    add_gauge(
        "drawbridge_tool_calls_running",
        "Calls of tools that run now",
        hub.live_calls.list().len(),
    );
    add_gauge(
        "drawbridge_journal_waiting_writes",
        "Records that are not written to the database yet",
        hub.journal.waiting_writes(),
    );
    let version = env!("CARGO_PKG_VERSION");
    register_gauges(
        &state,
        "drawbridge_info",
        "The version of Drawbridge",
        &["version"],
    )
    .with_label_values(&[version])
    .set(1);
    let started = Gauge::new(
        "process_start_time_seconds",
        "When the hub started, in seconds since 1970",
    );
    let started = started.expect(VALID);
    started.set(hub.started_at.0 as f64 / 1_000.0);
    state.register(Box::new(started)).expect(VALID);

    let mut families = state.gather();
    families.extend(hub.metrics.gather());
    families.sort_by(|a, b| a.name().cmp(b.name()));
    TextEncoder::new()
        .encode_to_string(&families)
        .map_err(|error| ApiError::internal(error.to_string()))
}

fn add_sessions(hub: &Hub, state: &Registry) {
    let (open, opened) = (hub.sessions.count(), hub.sessions.count_opened());
    let closed = opened.saturating_sub(open.try_into().unwrap_or(u64::MAX));
    for (name, help, value) in [
        ("created", "Client sessions that were opened", opened),
        ("closed", "Client sessions that have ended", closed),
    ] {
        let name = format!("drawbridge_client_sessions_{name}_total");
        register_counters(state, &name, help, &[])
            .with_label_values::<&str>(&[])
            .inc_by(value);
    }
    register_gauges(
        state,
        "drawbridge_client_sessions_active",
        "Client sessions that are open now",
        &[],
    )
    .with_label_values::<&str>(&[])
    .set(to_i64(open));
}

fn add_servers(hub: &Hub, state: &Registry) {
    let mut active = BTreeMap::<ServerId, u64>::new();
    for session in hub.pool.active_sessions() {
        *active.entry(session.server().id.clone()).or_default() += 1;
    }
    let family = |event: &str, help: &str| {
        let name = format!("drawbridge_server_sessions_{event}_total");
        register_counters(state, &name, help, &["server"])
    };
    let created = family("created", "Server sessions that became active");
    let closed = family("closed", "Server sessions that have ended");
    let errors = family("errors", "Failed starts and crashes of servers");
    let active_sessions = register_gauges(
        state,
        "drawbridge_server_sessions_active",
        "Server sessions that are active now",
        &["server"],
    );
    for (id, counts) in hub.pool.history().counts().iter().take(MAX_LABELS) {
        let label = [id.as_str()];
        let now = active.get(id).copied().unwrap_or_default();
        created.with_label_values(&label).inc_by(counts.created);
        errors.with_label_values(&label).inc_by(counts.errors);
        closed
            .with_label_values(&label)
            .inc_by(counts.created.saturating_sub(now));
        active_sessions
            .with_label_values(&label)
            .set(now.try_into().unwrap_or(i64::MAX));
    }
    let processes = register_gauges(
        state,
        "drawbridge_server_processes",
        "Programs of servers that run now",
        &["server"],
    );
    let mut running = BTreeMap::<ServerId, i64>::new();
    for (id, _) in hub.pool.server_processes() {
        *running.entry(id).or_default() += 1;
    }
    for (id, count) in running.iter().take(MAX_LABELS) {
        processes.with_label_values(&[id.as_str()]).set(*count);
    }
    let states = register_gauges(
        state,
        "drawbridge_servers",
        "Servers in each state",
        &["state"],
    );
    for server in hub.registry.specs().servers.values() {
        let label = servers::server_state(hub, server).label();
        let label = label.to_lowercase().replace([' ', '-'], "_");
        states.with_label_values(&[&label]).inc();
    }
}

/// Adds the estimated tokens of the lists of tools.
fn add_tool_lists(hub: &Hub, state: &Registry) {
    let servers = register_gauges(
        state,
        "drawbridge_server_tool_list_tokens",
        "About how many tokens a server's tools cost in a list",
        &["server"],
    );
    let snapshot = hub.catalog.snapshot();
    for id in hub.registry.specs().servers.keys().take(MAX_LABELS) {
        let tokens: u32 = snapshot
            .all()
            .server_tools(id)
            .iter()
            .map(|tool| tool.definition.estimate_tokens())
            .sum();
        servers.with_label_values(&[id.as_str()]).set(tokens.into());
    }
    let clients = register_gauges(
        state,
        "drawbridge_client_tool_list_tokens",
        "About how many tokens the list of tools costs a client that is connected",
        &["client"],
    );
    let connected: BTreeSet<_> = hub
        .sessions
        .all()
        .iter()
        .map(|session| session.client.clone())
        .collect();
    for client in connected.iter().take(MAX_LABELS) {
        let view = hub.catalog.client_view(client, &ClientScope::ALL);
        let bytes = view.list_result(CapabilityKind::Tools).get().len();
        clients
            .with_label_values(&[client.as_str()])
            .set(to_i64(bytes.div_ceil(4)));
    }
}

fn register_gauges(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
    let gauges = IntGaugeVec::new(Opts::new(name, help), labels).expect(VALID);
    registry.register(Box::new(gauges.clone())).expect(VALID);
    gauges
}

fn register_counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> IntCounterVec {
    let counters = IntCounterVec::new(Opts::new(name, help), labels).expect(VALID);
    registry.register(Box::new(counters.clone())).expect(VALID);
    counters
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
