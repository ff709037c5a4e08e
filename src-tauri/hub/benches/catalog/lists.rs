//! Measures the lists of a snapshot: building them, and the requests of clients.

use std::{sync::Arc, time::Duration};

use drawbridge_hub::catalog::{AppliedProfiles, Offered, Snapshot, deferred};
use drawbridge_jsonrpc::json;
use drawbridge_model::{
    capability::CapabilityKind, names::MAX_TOOL_NAME, profile::Profile, spec::RegisteredServer,
};
use drawbridge_sessions::ServerScope;
use serde_json::{Value, json};

use crate::{
    generated_servers::GeneratedServer,
    measure::{
        Measurement::{Bytes, Time},
        Row, median_of, time_median,
    },
    memory,
};

/// Queries as a model might send them: a tool by its name or by its purpose, words that very many
/// tools share, the beginning of a word, and something that no tool offers.
const QUERIES: [&str; 7] = [
    "read file",
    "send a message to a channel",
    "the user must have access to the repository of the project",
    "restore backup 77",
    "com",
    "list all events in the calendar in order by date, at most a hundred",
    "quantum chromodynamics",
];
/// How many names are looked up in each round, so that the cost of reading the clock is negligible.
const LOOK_UPS: u32 = 1_000;

type Servers = Vec<(Arc<RegisteredServer>, Offered)>;

pub(crate) fn measure_all(generated: &[GeneratedServer]) -> Vec<Row> {
    let (servers, bytes_of_definitions) =
        memory::measure_held(|| parse_definitions(generated, &json!({})));
    let mut rows = vec![(
        "parse the definitions",
        Time(time_median(
            || (),
            |()| parse_definitions(generated, &json!({})),
        )),
    )];
    rows.extend(measure_merge(&servers, &generated[0]));
    rows.extend(measure_lists(&servers));
    let deferred = parse_definitions(generated, &json!({ "visibility": "deferred" }));
    rows.extend(measure_search(&deferred));
    rows.push(("memory of the definitions", Bytes(bytes_of_definitions)));
    rows.extend(measure_memory(&servers, &deferred));
    rows
}

fn parse_definitions(generated: &[GeneratedServer], spec: &Value) -> Servers {
    generated
        .iter()
        .map(|server| (server.registered(spec), server.offered()))
        .collect()
}

fn merge_servers(servers: &[(Arc<RegisteredServer>, Offered)]) -> Snapshot {
    let servers: Vec<_> = servers
        .iter()
        .map(|(server, offered)| (server.clone(), offered))
        .collect();
    Snapshot::merge(&servers)
}

/// Measures building a snapshot, and building it again after one server was refreshed.
fn measure_merge(servers: &Servers, refreshed: &GeneratedServer) -> Vec<Row> {
    let old = merge_servers(servers);
    let mut after_sync = servers.clone();
    after_sync[0].1 = refreshed.offered();
    let rebuild = || {
        let new = merge_servers(&after_sync);
        let is_same = CapabilityKind::ALL.map(|kind| old.all().has_same_entries(new.all(), kind));
        (new, is_same)
    };
    vec![
        (
            "build the snapshot",
            Time(time_median(|| (), |()| merge_servers(servers))),
        ),
        (
            "build the snapshot after a sync, and compare it",
            Time(time_median(|| (), |()| rebuild())),
        ),
    ]
}

fn measure_lists(servers: &Servers) -> Vec<Row> {
    let merge = || merge_servers(servers);
    let merged = merge();
    let list = |snapshot: &Snapshot| snapshot.all().list_result(CapabilityKind::Tools).clone();
    let names: Vec<_> = merged
        .all()
        .entries(CapabilityKind::Tools)
        .iter()
        .map(|tool| tool.exposed_name.clone())
        .collect();
    let no_profiles = AppliedProfiles::default();
    let look_up = || {
        let has_name = |index: &usize| {
            merged
                .client_view(&ServerScope::All, MAX_TOOL_NAME, &no_profiles)
                .find(CapabilityKind::Tools, &names[index * 7 % names.len()])
                .is_some()
        };
        (0..LOOK_UPS as usize).filter(has_name).count()
    };
    let profiles = [make_profile(servers, 2), make_profile(servers, 3)];
    let list_with_profile = |(snapshot, profile): &(Snapshot, &AppliedProfiles)| {
        snapshot
            .client_view(&ServerScope::All, MAX_TOOL_NAME, profile)
            .list_result(CapabilityKind::Tools)
            .clone()
    };
    let used_snapshot = (merge(), &profiles[1]);
    vec![
        (
            "first `tools/list` after a change",
            Time(time_median(merge, list)),
        ),
        (
            "later `tools/list`",
            Time(time_median(|| (), |()| list(&merged))),
        ),
        (
            "look up a name",
            Time(time_median(|| (), |()| look_up()) / LOOK_UPS),
        ),
        (
            "first `tools/list` with a profile of half the servers",
            Time(time_median(|| (merge(), &profiles[0]), list_with_profile)),
        ),
        (
            "later `tools/list` with that profile",
            Time(time_median(|| (), |()| list_with_profile(&used_snapshot))),
        ),
    ]
}

/// Returns a profile with one in `step` servers. Every second server of the profile offers only 50
/// tools.
fn make_profile(servers: &Servers, step: usize) -> AppliedProfiles {
    let selected = servers
        .iter()
        .step_by(step)
        .enumerate()
        .map(|(index, (server, offered))| {
            let some_tools = || {
                offered[&CapabilityKind::Tools]
                    .iter()
                    .take(50)
                    .map(|tool| tool.name.clone())
                    .collect()
            };
            (server.id.clone(), (index % 2 == 1).then(some_tools))
        });
    AppliedProfiles::of(&Arc::new(Profile {
        name: format!("one in {step}"),
        servers: selected.collect(),
        folder: None,
    }))
}

fn measure_search(deferred: &Servers) -> Vec<Row> {
    let merged = merge_servers(deferred);
    merged.all().index();
    let durations = QUERIES.map(|query| {
        let query = json::raw(json!({ "query": query }).to_string());
        time_median(|| (), |()| deferred::search(merged.all(), &query))
    });
    let slowest = durations.iter().max().copied().unwrap_or(Duration::ZERO);
    vec![
        (
            "build the index of deferred tools",
            Time(time_median(
                || merge_servers(deferred),
                |new| new.all().index().search("", |_| false).len(),
            )),
        ),
        (
            "`tool_search`, median of 7 queries",
            Time(median_of(durations.to_vec())),
        ),
        ("`tool_search`, slowest query", Time(slowest)),
    ]
}

/// Measures how much memory each part needs in addition to the definitions. The snapshot keeps the
/// rendered list and the index.
fn measure_memory(servers: &Servers, deferred: &Servers) -> Vec<Row> {
    let (merged, bytes_of_snapshot) = memory::measure_held(|| merge_servers(servers));
    let ((), bytes_of_list) =
        memory::measure_held(|| drop(merged.all().list_result(CapabilityKind::Tools).clone()));
    let merged = merge_servers(deferred);
    let ((), bytes_of_index) =
        memory::measure_held(|| assert!(merged.all().index().search("", |_| false).is_empty()));
    vec![
        ("memory of the snapshot", Bytes(bytes_of_snapshot)),
        ("memory of the rendered list", Bytes(bytes_of_list)),
        ("memory of the index", Bytes(bytes_of_index)),
    ]
}
