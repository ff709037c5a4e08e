//! The preflight check of a server: checks everything that the server needs to start, without
//! starting it.

use std::time::Duration;

use drawbridge_model::{
    acceptance::AcceptanceState,
    check::CheckStatus,
    ids::ServerId,
    program::Program,
    sandbox::SandboxNetwork,
    sign_in::ServerSignIn,
    spec::{RegisteredServer, package},
};
use drawbridge_store::secrets;
use drawbridge_upstream::{
    Acceptances as _,
    http::{HttpClient, HttpRequest},
    transport::process::{program, runtime, sandbox},
};
use http::{Method, Request};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::{
    api::{ApiError, Verb},
    hub::Hub,
    registry,
};

const REACH_TIMEOUT: Duration = Duration::from_secs(5);

/// The subject of a preflight check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PreflightTopic {
    Enabled,
    Acceptance,
    Program,
    Runtime,
    Version,
    Variables,
    Secrets,
    Address,
    SignIn,
    Sandbox,
}

/// A check of a server and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PreflightCheck {
    pub topic: PreflightTopic,
    pub status: CheckStatus,
    /// The finding, as a sentence.
    pub text: String,
    /// The remedy; empty if the status is `ok`.
    pub remedy: String,
}

/// `servers.preflight`: checks whether a server is enabled and accepted, and everything that it
/// needs to start: its program, runtime, version, variables, secrets, address, sign-in and sandbox.
/// Does not start the server. Runs its runtime to find the version, and sends at most one request
/// to the address of a remote server that may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckServer {
    pub id: ServerId,
}

impl Verb for CheckServer {
    type Answer = Vec<PreflightCheck>;

    async fn run(self, hub: &Hub) -> Result<Vec<PreflightCheck>, ApiError> {
        let server = hub.registry.get(&self.id)?;
        let program = program::identify_program(&server.spec).await;
        let mut checks = vec![
            check_enabled(&server),
            check_acceptance(hub, &server, program.as_ref()),
        ];
        if server.spec.builtin.is_some() {
            return Ok(checks);
        }
        checks.extend(check_program(&server, program));
        checks.extend(check_runtime(&server).await);
        checks.extend(check_version(&server));
        checks.extend(check_variables(&server));
        checks.extend(check_secrets(hub, &server).await);
        checks.extend(check_address(hub, &server).await);
        checks.extend(check_sign_in(hub, &server));
        checks.extend(check_sandbox(&server));
        Ok(checks)
    }
}

fn ok(topic: PreflightTopic, text: impl Into<String>) -> PreflightCheck {
    PreflightCheck {
        topic,
        status: CheckStatus::Ok,
        text: text.into(),
        remedy: String::new(),
    }
}

fn warning(
    topic: PreflightTopic,
    text: impl Into<String>,
    remedy: impl Into<String>,
) -> PreflightCheck {
    PreflightCheck {
        status: CheckStatus::Warning,
        remedy: remedy.into(),
        ..ok(topic, text)
    }
}

fn failure(
    topic: PreflightTopic,
    text: impl Into<String>,
    remedy: impl Into<String>,
) -> PreflightCheck {
    PreflightCheck {
        status: CheckStatus::Failure,
        ..warning(topic, text, remedy)
    }
}

fn check_enabled(server: &RegisteredServer) -> PreflightCheck {
    const TOPIC: PreflightTopic = PreflightTopic::Enabled;
    if server.spec.enabled {
        ok(TOPIC, "The server is enabled.")
    } else {
        let remedy = format!(
            "Enable the server, or run `drawbridge servers enable {}`.",
            server.id
        );
        failure(TOPIC, "The server is disabled.", remedy)
    }
}

/// `program` is the program that the server would start now.
fn check_acceptance(
    hub: &Hub,
    server: &RegisteredServer,
    program: Option<&Program>,
) -> PreflightCheck {
    const TOPIC: PreflightTopic = PreflightTopic::Acceptance;
    let text = match hub.registry.acceptance(server) {
        AcceptanceState::Accepted => {
            // The hub notices a changed program only at the next start, so the server does not wait
            // for acceptance yet.
            let change =
                program.and_then(|program| hub.registry.find_program_change(&server.id, program));
            return match change {
                None => ok(TOPIC, "You accepted the server as it is."),
                Some(change) => failure(
                    TOPIC,
                    format!("The server does not start before you accept it again: {change}."),
                    format!(
                        "Restart the server, or run `drawbridge servers restart {}`. Then check what it would start, \
                         and accept it.",
                        server.id
                    ),
                ),
            };
        }
        AcceptanceState::New => "The server is new, and you have not accepted it.".to_owned(),
        AcceptanceState::Changed => match hub.registry.program_change(&server.id) {
            Some(change) => format!("The server waits for acceptance: {change}."),
            None => "The server has changed since you accepted it.".to_owned(),
        },
    };
    let remedy = format!(
        "Check what the server would start, and accept it, or run `drawbridge servers accept {}`.",
        server.id
    );
    failure(TOPIC, text, remedy)
}

fn check_program(server: &RegisteredServer, program: Option<Program>) -> Option<PreflightCheck> {
    const TOPIC: PreflightTopic = PreflightTopic::Program;
    let command = server.spec.command.as_deref()?;
    let found = program?;
    Some(match found.path {
        Some(path) => {
            let target = found
                .link_target
                .map(|target| format!(", which links to {target}"))
                .unwrap_or_default();
            ok(TOPIC, format!("The program is {path}{target}."))
        }
        None => failure(
            TOPIC,
            format!("There is no program `{command}`."),
            "Check the spelling of the command, install the program, or give its full path in the server's command. `drawbridge doctor` shows the PATH of servers.",
        ),
    })
}

async fn check_runtime(server: &RegisteredServer) -> Option<PreflightCheck> {
    const TOPIC: PreflightTopic = PreflightTopic::Runtime;
    let runtime = server.spec.command.as_ref().and(server.spec.runtime())?;
    let found = runtime::check_runtimes(&[runtime]).await.pop()?;
    if found.problem.is_empty() {
        let version = found.version.as_deref().unwrap_or("of unknown version");
        let text = format!("{} {version} is installed.", runtime.command());
        return Some(ok(TOPIC, text));
    }
    let text = format!("{}.", found.problem);
    // A command such as `bunx`, or a full path, does not need the usual program of its runtime.
    Some(
        if server.spec.command.as_deref() == Some(runtime.command()) {
            failure(TOPIC, text, found.remedy)
        } else {
            warning(TOPIC, text, found.remedy)
        },
    )
}

fn check_version(server: &RegisteredServer) -> Option<PreflightCheck> {
    const TOPIC: PreflightTopic = PreflightTopic::Version;
    server.spec.command.as_ref()?;
    let floating = package::floating_packages(&server.spec);
    if floating.is_empty() {
        return None;
    }
    let names: Vec<_> = floating.iter().map(|package| package.text).collect();
    Some(warning(
        TOPIC,
        format!(
            "No exact version is named for {}, so another version may run at the next start.",
            names.join(", ")
        ),
        format!(
            "Pin the version, or run `drawbridge servers pin {}`.",
            server.id
        ),
    ))
}

fn check_variables(server: &RegisteredServer) -> Option<PreflightCheck> {
    const TOPIC: PreflightTopic = PreflightTopic::Variables;
    let spec = &server.spec;
    if spec.required_env.is_empty() {
        return None;
    }
    let is_missing = |name: &&String| spec.env.get(*name).is_none_or(String::is_empty);
    let missing: Vec<_> = spec
        .required_env
        .iter()
        .filter(is_missing)
        .map(String::as_str)
        .collect();
    Some(if missing.is_empty() {
        let count = spec.required_env.len();
        let noun = if count == 1 {
            "variable has"
        } else {
            "variables have"
        };
        ok(TOPIC, format!("{count} required {noun} a value."))
    } else {
        failure(
            TOPIC,
            format!(
                "These required variables have no value: {}.",
                missing.join(", ")
            ),
            "Edit the server, and give each variable a value.",
        )
    })
}

async fn check_secrets(hub: &Hub, server: &RegisteredServer) -> Vec<PreflightCheck> {
    const TOPIC: PreflightTopic = PreflightTopic::Secrets;
    let mut names: Vec<String> = server
        .spec
        .values_with_references()
        .flat_map(|text| secrets::referenced_names(text))
        .collect();
    names.sort();
    names.dedup();
    let scope = hub.registry.secret_scope(&server.id);
    // Whether the server may use a secret is checked only for foreign secrets. A server that is not
    // accepted may not use its own secrets either, but `check_acceptance` reports this.
    let foreign = registry::foreign_secrets(&server.id, &server.spec);
    let mut checks = Vec::new();
    for name in &names {
        match hub.secrets.get(name).await {
            Err(error) => {
                // The secret store itself fails, so it would fail for every other secret too.
                checks.push(failure(TOPIC, format!("{error}."), error.remedy()));
                return checks;
            }
            Ok(None) => checks.push(failure(
                TOPIC,
                format!("The secret {name} is not in the secret store."),
                format!("Set the secret in Settings, or run `drawbridge secrets set {name}`."),
            )),
            Ok(Some(_)) if foreign.contains(name) && scope.check(name).is_err() => {
                checks.push(failure(
                    TOPIC,
                    format!("The server may not use the secret {name}, which is not its own."),
                    "Accept the server again, and grant it the secret.",
                ));
            }
            Ok(Some(_)) => {}
        }
    }
    if checks.is_empty() && !names.is_empty() {
        let text = format!("All secrets are in the secret store: {}.", names.join(", "));
        checks.push(ok(TOPIC, text));
    }
    checks
}

async fn check_address(hub: &Hub, server: &RegisteredServer) -> Option<PreflightCheck> {
    const TOPIC: PreflightTopic = PreflightTopic::Address;
    // A server with a command serves its URL itself, so the URL does not answer before the start.
    let url = server
        .spec
        .url
        .as_deref()
        .filter(|_| server.spec.command.is_none())?;
    if !hub.registry.may_run(server) {
        return Some(warning(
            TOPIC,
            "The address was not tried, because the server may not run.",
            "Enable and accept the server, then check again.",
        ));
    }
    if !secrets::referenced_names(url).is_empty() {
        return Some(ok(
            TOPIC,
            "The address was not tried, because it contains a secret.",
        ));
    }
    let request: Result<HttpRequest, _> = Request::builder()
        .method(Method::OPTIONS)
        .uri(url)
        .body(bytes::Bytes::new());
    let request = match request {
        Ok(request) => request,
        Err(error) => {
            let text = format!("The address {url} is invalid: {error}.");
            return Some(failure(TOPIC, text, "Correct the server's URL."));
        }
    };
    const REMEDY: &str = "Check the address and the network. If a proxy is needed, set HTTPS_PROXY in the environment of Drawbridge.";
    Some(
        match timeout(REACH_TIMEOUT, HttpClient::new().send(request)).await {
            Ok(Ok(response)) if response.status().is_server_error() => warning(
                TOPIC,
                format!("{url} answers, but with an error ({}).", response.status()),
                "Wait, or ask the person who runs the server.",
            ),
            // Other answers, such as 401 or 405, also show that a server is there.
            Ok(Ok(_)) => ok(TOPIC, format!("{url} answers.")),
            Ok(Err(error)) => failure(TOPIC, format!("{url} cannot be reached. {error}."), REMEDY),
            Err(_) => {
                let seconds = REACH_TIMEOUT.as_secs();
                failure(
                    TOPIC,
                    format!("{url} did not answer within {seconds} s."),
                    REMEDY,
                )
            }
        },
    )
}

fn check_sign_in(hub: &Hub, server: &RegisteredServer) -> Option<PreflightCheck> {
    const TOPIC: PreflightTopic = PreflightTopic::SignIn;
    server.spec.url.as_ref()?;
    match hub.authorizer.sign_in_state(&server.spec) {
        ServerSignIn::None => None,
        ServerSignIn::SignedIn { issuer, .. } => {
            Some(ok(TOPIC, format!("You are signed in with {issuer}.")))
        }
        ServerSignIn::Needed => {
            let reason = hub.authorizer.sign_in_reason(&server.spec);
            Some(failure(
                TOPIC,
                reason.map_or_else(|| "You have to sign in.".to_owned(), |r| format!("{r}.")),
                format!(
                    "Sign in, or run `drawbridge servers sign-in {}`.",
                    server.id
                ),
            ))
        }
    }
}

fn check_sandbox(server: &RegisteredServer) -> Option<PreflightCheck> {
    const TOPIC: PreflightTopic = PreflightTopic::Sandbox;
    server.spec.command.as_ref()?;
    let Some(restrictions) = &server.spec.sandbox else {
        return Some(ok(
            TOPIC,
            "The server has no sandbox: it may use everything that you may use.",
        ));
    };
    const REMEDY: &str =
        "Use a newer Linux kernel with Landlock, or remove the sandbox from the server.";
    Some(if !sandbox::is_available() {
        let text = "This system cannot enforce the server's sandbox, so the server does not start.";
        failure(TOPIC, text, REMEDY)
    } else if restrictions.network == SandboxNetwork::Listed && !sandbox::limits_ports() {
        let text = "This kernel cannot limit TCP ports, so the server does not start.";
        failure(TOPIC, text, REMEDY)
    } else {
        ok(TOPIC, "This system can enforce the server's sandbox.")
    })
}
