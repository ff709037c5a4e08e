//! The checks of a hub: whether it runs, its secret store, listeners, clients, servers, database
//! and internal errors, and the clock.

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, TcpListener},
};

use drawbridge_model::{
    acceptance::AcceptanceState,
    client_file::ClientFileState,
    clock,
    runtime::Runtime,
    server::ServerState,
    spec::{RegisteredServer, ServerSpec},
};
use drawbridge_store::crashes;

use super::{DoctorCheck, DoctorTopic, machine};
use crate::{
    api::{
        Verb,
        config::{ClientFileView, ListConfigs},
        secrets::list_uses,
        servers,
    },
    hub::Hub,
};

/// How far the newest record may be in the future before the clock counts as wrong, in
/// milliseconds.
const CLOCK_TOLERANCE_MS: i64 = 60_000;

pub(super) async fn check_all(hub: &Hub) -> Vec<DoctorCheck> {
    let mut checks = vec![check_hub(hub)];
    let needed = needed_runtimes(hub);
    checks.extend(machine::check_machine(hub.data_dir(), &needed).await);
    checks.push(check_secret_store(hub).await);
    checks.extend(check_listeners(hub));
    checks.extend(check_clients(hub).await);
    checks.extend(check_servers(hub));
    checks.extend(check_database(hub).await);
    checks.extend(check_clock(hub).await);
    checks.extend(check_crashes(hub));
    checks
}

/// Reports internal errors of Drawbridge, including errors of earlier runs.
fn check_crashes(hub: &Hub) -> Option<DoctorCheck> {
    let reports = crashes::list_reports(hub.data_dir());
    let (_, newest) = reports.files.first()?;
    let count = reports.files.len();
    Some(DoctorCheck::warning(
        DoctorTopic::Hub,
        format!(
            "Drawbridge had {count} internal {}. The newest report is {}.",
            if count == 1 { "error" } else { "errors" },
            newest.display()
        ),
        format!(
            "Please report the error as a bug: `drawbridge doctor --bundle FILE.zip` collects diagnostics, without secrets. Delete {} afterwards.",
            reports.folder.display()
        ),
    ))
}

fn check_hub(hub: &Hub) -> DoctorCheck {
    const TOPIC: DoctorTopic = DoctorTopic::Hub;
    let folder = hub.data_dir().display();
    if hub.has_endpoint() {
        DoctorCheck::ok(TOPIC, format!("The hub of {folder} runs."))
    } else {
        DoctorCheck::warning(
            TOPIC,
            format!("No hub runs for {folder}, so no client can connect over HTTP."),
            "Start Drawbridge, or run `drawbridge serve`. Clients that start `drawbridge stdio` start the hub themselves.",
        )
    }
}

/// Returns the runtimes whose usual command, such as `npx`, starts an enabled and accepted server.
fn needed_runtimes(hub: &Hub) -> BTreeSet<Runtime> {
    let may_start = |server: &&RegisteredServer| {
        server.spec.enabled && hub.registry.acceptance(server) == AcceptanceState::Accepted
    };
    let runtime = |spec: &ServerSpec| {
        let command = spec.command.as_deref()?;
        spec.runtime_hint
            .or_else(|| Runtime::from_command(command))
            // The doctor checks only the usual command, which says nothing about a full path or
            // about another program of the runtime, such as `bunx`.
            .filter(|runtime| runtime.command() == command)
    };
    let specs = hub.registry.specs();
    specs
        .servers
        .values()
        .map(AsRef::as_ref)
        .filter(may_start)
        .filter_map(|server| runtime(&server.spec))
        .collect()
}

async fn check_secret_store(hub: &Hub) -> DoctorCheck {
    const TOPIC: DoctorTopic = DoctorTopic::Keyring;
    let place = match hub.secrets.file() {
        Some(file) => format!("the encrypted file {}", file.display()),
        None => "the keyring".to_owned(),
    };
    let Err(error) = hub.secrets.check().await else {
        let text = format!("Secrets are in {place}, which is ready.");
        return DoctorCheck::ok(TOPIC, text);
    };
    let (text, remedy) = (format!("Secrets are in {place}. {error}"), error.remedy());
    let mut names: Vec<String> = list_uses(hub).into_keys().collect();
    if hub.settings.get().sampling_has_key {
        names.push("the key of the sampling provider".into());
    }
    if names.is_empty() {
        let text = format!("{text}. Nothing needs a secret now.");
        DoctorCheck::warning(TOPIC, text, remedy)
    } else {
        let names = names.join(", ");
        let text = format!("{text}. These secrets are needed: {names}.");
        DoctorCheck::failure(TOPIC, text, remedy)
    }
}

fn check_listeners(hub: &Hub) -> Vec<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::Listeners;
    if !hub.has_endpoint() {
        return vec![check_port(hub.port())];
    }
    let mut checks: Vec<_> = hub
        .listener_health()
        .into_iter()
        .map(|listener| {
            let name = format!("{} ({})", listener.name, listener.address);
            if listener.listening {
                DoctorCheck::ok(TOPIC, format!("The listener {name} listens."))
            } else {
                DoctorCheck::failure(
                    TOPIC,
                    format!("The listener {name} does not listen: {}.", listener.error),
                    "Close the program that uses the address, or choose another port with `drawbridge settings set port PORT`.",
                )
            }
        })
        .collect();
    let hosts: Vec<_> = hub
        .allowed_hosts()
        .iter()
        .map(ToString::to_string)
        .collect();
    if !hosts.is_empty() {
        checks.push(DoctorCheck::ok(
            TOPIC,
            format!("The hub also answers as {}.", hosts.join(", ")),
        ));
    }
    let is_open = hub
        .endpoint_url()
        .and_then(|url| url::Url::parse(&url).ok())
        .is_some_and(|url| match url.host() {
            Some(url::Host::Ipv4(ip)) => !ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => !ip.is_loopback(),
            Some(url::Host::Domain(_)) | None => false,
        });
    if is_open {
        checks.push(DoctorCheck::warning(
            TOPIC,
            "Other computers can reach the hub, without encryption.",
            "Outside of a network that you trust, put a reverse proxy with TLS in front of the hub.",
        ));
    }
    checks
}

/// Checks that a hub could listen on its port.
fn check_port(port: u16) -> DoctorCheck {
    const TOPIC: DoctorTopic = DoctorTopic::Listeners;
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => DoctorCheck::ok(TOPIC, format!("Port {port} is free for the hub.")),
        Err(error) => DoctorCheck::failure(
            TOPIC,
            format!("A hub could not listen on port {port}: {error}."),
            "Close the program that uses the port, or choose another port with `drawbridge settings set port PORT`.",
        ),
    }
}

async fn check_clients(hub: &Hub) -> Vec<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::Clients;
    let overview = match ListConfigs::default().run(hub).await {
        Ok(overview) => overview,
        Err(error) => {
            return vec![DoctorCheck::failure(
                TOPIC,
                format!("The files of clients cannot be read: {}.", error.message),
                "Set HOME to your home folder, and start Drawbridge again.",
            )];
        }
    };
    let mut checks: Vec<_> = overview
        .kinds
        .iter()
        .flat_map(|kind| kind.files.iter().map(move |file| (kind, file)))
        .filter_map(|(kind, file)| check_client_file(&kind.name, &kind.id, file))
        .collect();
    let clients = hub.access.clients();
    let admitted = clients
        .iter()
        .filter(|row| row.revoked_at.is_none())
        .count();
    if checks.is_empty() && admitted == 0 {
        checks.push(DoctorCheck::warning(
            TOPIC,
            "No client is connected to Drawbridge yet.",
            "Connect a client on the Clients screen, or with `drawbridge config connect CLIENT`.",
        ));
    } else {
        checks.push(DoctorCheck::ok(
            TOPIC,
            match admitted {
                1 => "1 client is known.".to_owned(),
                number => format!("{number} clients are known."),
            },
        ));
    }
    checks
}

fn check_client_file(name: &str, id: &str, file: &ClientFileView) -> Option<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::Clients;
    let path = &file.path;
    let problem = match file.state {
        ClientFileState::NotConnected => return None,
        ClientFileState::Connected => {
            return Some(DoctorCheck::ok(
                TOPIC,
                format!("{name} is connected ({path})."),
            ));
        }
        ClientFileState::Outdated => "is outdated",
        ClientFileState::Changed => "was changed by another program",
        ClientFileState::Removed => "was removed by another program",
        ClientFileState::Broken => {
            return Some(DoctorCheck::warning(
                TOPIC,
                format!(
                    "The file {path} of {name} cannot be read: {}.",
                    file.problems.join("; ")
                ),
                "Correct the file, or restore it from a copy.",
            ));
        }
    };
    Some(DoctorCheck::warning(
        TOPIC,
        format!("Drawbridge's entry in the file {path} of {name} {problem}."),
        format!(
            "Repair the entry on the Clients screen, or with `drawbridge config connect {id}`."
        ),
    ))
}

fn check_servers(hub: &Hub) -> Vec<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::Servers;
    let specs = hub.registry.specs();
    let mut checks: Vec<_> = specs
        .broken
        .iter()
        .map(|broken| {
            DoctorCheck::failure(
                TOPIC,
                format!(
                    "The spec {}:{}:{} cannot be read: {}.",
                    broken.file.display(),
                    broken.line,
                    broken.column,
                    broken.message
                ),
                "Correct the file; Drawbridge reads it again at once.",
            )
        })
        .collect();
    checks.extend(
        specs
            .servers
            .values()
            .map(|server| check_server(hub, server)),
    );
    let are_all_built_in = specs
        .servers
        .values()
        .all(|server| server.spec.builtin.is_some());
    if specs.broken.is_empty() && are_all_built_in {
        checks.push(DoctorCheck::warning(
            TOPIC,
            "There are no servers yet.",
            "Add a server on the Servers screen, or with `drawbridge servers add`.",
        ));
    }
    checks
}

fn check_server(hub: &Hub, server: &RegisteredServer) -> DoctorCheck {
    const TOPIC: DoctorTopic = DoctorTopic::Servers;
    let (state, reason, remedy) = servers::explain_state(hub, server);
    let label = state.label().to_lowercase();
    let mut text = format!("{}: {label}", server.id);
    if !reason.is_empty() {
        text = format!("{text}: {reason}");
    }
    text.push('.');
    match state {
        ServerState::Idle
        | ServerState::Initializing
        | ServerState::Active
        | ServerState::Closed
        | ServerState::Disabled => DoctorCheck::ok(TOPIC, text),
        ServerState::NeedsAcceptance | ServerState::NeedsSignIn => {
            DoctorCheck::warning(TOPIC, text, remedy)
        }
        ServerState::Error | ServerState::NeedsSecret => DoctorCheck::failure(TOPIC, text, remedy),
    }
}

async fn check_database(hub: &Hub) -> Vec<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::Database;
    const REMEDY: &str = "Stop Drawbridge, copy drawbridge.db to a safe place, and restore a backup with `drawbridge backup restore FILE.zip`. If you have no backup, move drawbridge.db, drawbridge.db-wal, drawbridge.db-shm, audit.key and audit.head away, as far as they exist: Drawbridge then begins with an empty database.";
    let version = match hub.store.schema_version().await {
        Ok(version) => DoctorCheck::ok(TOPIC, format!("The database has schema {version}.")),
        Err(error) => DoctorCheck::failure(TOPIC, format!("{error}."), REMEDY),
    };
    let integrity = match hub.store.find_damage().await {
        Ok(None) => DoctorCheck::ok(TOPIC, "The database is intact."),
        Ok(Some(damage)) => {
            DoctorCheck::failure(TOPIC, format!("The database is damaged: {damage}."), REMEDY)
        }
        Err(error) => DoctorCheck::failure(TOPIC, format!("{error}."), REMEDY),
    };
    vec![version, integrity]
}

async fn check_clock(hub: &Hub) -> Option<DoctorCheck> {
    const TOPIC: DoctorTopic = DoctorTopic::Clock;
    // The check of the database reports a failure to read it.
    let newest = hub.store.newest_record().await.ok()?;
    let ahead = newest.map_or(0, |newest| newest.0 - clock::now().0);
    Some(if ahead > CLOCK_TOLERANCE_MS {
        DoctorCheck::failure(
            TOPIC,
            format!(
                "The clock is {} s behind the newest record, so it was set back.",
                ahead / 1000
            ),
            "Set the clock of this computer. Until then, rules and approvals with an end last longer than you chose.",
        )
    } else {
        DoctorCheck::ok(TOPIC, "The clock is not behind the newest record.")
    })
}
