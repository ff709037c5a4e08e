//! The memory and CPU usage of the servers.

use std::collections::BTreeMap;

use drawbridge_model::ids::ServerId;
use serde::{Deserialize, Serialize};

use crate::{
    api::{ApiError, Verb},
    hub::Hub,
};

/// The present usage of a local server's processes and of all processes that they started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerUsage {
    pub id: ServerId,
    /// The number of processes.
    pub processes: u32,
    /// The resident memory in KiB. Memory that several processes share counts for each of them.
    pub memory_kib: u32,
    /// The CPU usage since the previous measurement, in percent of one core; 0 at the first
    /// measurement. The previous measurement may have been for another caller.
    pub cpu_percent: f32,
}

/// `servers.usage`: the usage of each local server that runs. To follow the usage, repeat the
/// request every second or two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ShowUsage {}

impl Verb for ShowUsage {
    type Answer = Vec<ServerUsage>;

    async fn run(self, hub: &Hub) -> Result<Vec<ServerUsage>, ApiError> {
        let processes = hub.pool.server_processes();
        let used = hub
            .pool
            .connector()
            .meter()
            .read_usage(processes.iter().map(|(_, pid)| *pid).collect())
            .await;
        let mut servers: BTreeMap<ServerId, ServerUsage> = BTreeMap::new();
        for (id, usage) in processes
            .into_iter()
            .filter_map(|(id, pid)| Some((id, used.get(&pid)?)))
        {
            let zero = || ServerUsage {
                id: id.clone(),
                processes: 0,
                memory_kib: 0,
                cpu_percent: 0.0,
            };
            let sum = servers.entry(id.clone()).or_insert_with(zero);
            sum.processes += usage.processes;
            sum.memory_kib = sum
                .memory_kib
                .saturating_add(u32::try_from(usage.memory / 1024).unwrap_or(u32::MAX));
            sum.cpu_percent += usage.cpu_percent;
        }
        Ok(servers.into_values().collect())
    }
}
