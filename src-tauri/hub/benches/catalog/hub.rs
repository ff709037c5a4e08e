//! Measures the catalog through the hub: how long the hub takes to open a data folder with the
//! stored copies of all servers, and to return the lists that the screens request.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use drawbridge_hub::{
    Hub, HubOptions,
    api::{ErrorCode, Verb, servers::ListServers, tools::ListTools},
};
use drawbridge_model::{
    acceptance::{DefinitionId, DefinitionKind},
    builtin::BuiltIn,
    capability::CapabilityKind,
    clock,
    server::SyncStatus,
    spec::RegisteredServer,
};
use drawbridge_store::{
    Store,
    secrets::{InMemory, Secrets},
    table::{
        capability::Definitions,
        definition::{AcceptedBy, OfferedDefinition},
        server::{AcceptedColumns, ServerRow},
    },
};
use serde_json::json;

use crate::{
    generated_servers::GeneratedServer,
    measure::{Measurement::Time, Row, median_of},
};

const ROUNDS: usize = 11;

pub(crate) fn measure_all(generated: &[GeneratedServer]) -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        write_data_dir(folder.path(), generated).await;
        let mut durations = Vec::new();
        for _ in 0..ROUNDS {
            let (hub, duration) = open_hub(folder.path()).await;
            durations.push(duration);
            hub.close().await;
        }
        let (hub, _) = open_hub(folder.path()).await;
        let rows = vec![
            (
                "open the hub with the stored catalog",
                Time(median_of(durations)),
            ),
            (
                "`servers.list`, as JSON",
                Time(measure_verb(&hub, ListServers {}).await),
            ),
            (
                "`tools.list`, as JSON",
                Time(measure_verb(&hub, ListTools {}).await),
            ),
        ];
        hub.close().await;
        rows
    })
}

/// Opens a hub on the folder. Returns the hub, and the duration of its opening. Retries while tasks
/// of the previous hub hold the folder's lock.
async fn open_hub(folder: &Path) -> (Arc<Hub>, Duration) {
    loop {
        let options = HubOptions {
            data_dir: folder.to_owned(),
            admin_token: None,
            disabled_built_ins: BuiltIn::ALL.into(),
        };
        let start = Instant::now();
        match Hub::open_with(options, Secrets::new(InMemory::default())).await {
            Ok(hub) => return (hub, start.elapsed()),
            Err(error) if error.code == ErrorCode::Conflict => {
                tokio::time::sleep(Duration::from_millis(10)).await
            }
            Err(error) => panic!("the hub does not open: {error}"),
        }
    }
}

async fn measure_verb<V: Verb + Clone>(hub: &Hub, verb: V) -> Duration {
    let mut durations = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let answer = verb.clone().run(hub).await.expect("run the verb");
        let json = serde_json::to_string(&answer).expect("write the answer as JSON");
        durations.push(start.elapsed());
        drop((answer, json));
    }
    median_of(durations)
}

/// Writes the spec files, and the store that a hub leaves after all servers were accepted and
/// synced.
async fn write_data_dir(folder: &Path, generated: &[GeneratedServer]) {
    fs::create_dir_all(folder.join("servers")).expect("a folder");
    let (store, _) = Store::open(&folder.join("drawbridge.db"))
        .await
        .expect("a store");
    for server in generated {
        let spec = server.spec(&json!({}));
        let file = folder.join("servers").join(format!("{}.json", server.id));
        fs::write(&file, serde_json::to_string(&spec).expect("a spec is JSON"))
            .expect("a spec file");
        let spec_json = serde_json::to_string(&spec).expect("a spec is JSON");
        let identity = RegisteredServer::new(server.id.clone(), spec, file).identity;
        let accepted = AcceptedColumns {
            identity: &identity,
            spec: &spec_json,
            program: None,
            granted_secrets: "[]",
        };
        store
            .accept_server(&server.id, accepted)
            .await
            .expect("accept the server");
        let row = ServerRow {
            sync_status: SyncStatus::Synced,
            last_synced_at: Some(clock::now()),
            synced_identity: Some(identity),
            ..ServerRow::new(server.id.clone())
        };
        let parsed = server.offered();
        let versions: Vec<_> = parsed[&CapabilityKind::Tools]
            .iter()
            .map(|tool| OfferedDefinition {
                id: DefinitionId {
                    kind: DefinitionKind::Tool,
                    name: tool.name.clone(),
                    digest: tool.digest.clone(),
                },
                definition: tool.raw.get().to_owned(),
                accepted_by: Some(AcceptedBy::Person),
            })
            .collect();
        let offered = Definitions::from([(CapabilityKind::Tools, server.tools.clone())]);
        store
            .record_sync(&row, &offered, &versions)
            .await
            .expect("store the copy of the server");
    }
    store.close().await;
}
