//! The accepted state of a server: the identity, spec, program and secrets that a person accepted.

use std::collections::BTreeSet;

use drawbridge_model::{
    acceptance::AcceptanceState,
    digest,
    ids::{ServerId, Timestamp},
    program::{Program, ProgramChange},
    reference::has_reference,
    spec::{RegisteredServer, ServerSpec, changes},
};
use drawbridge_store::{
    secrets,
    table::server::{AcceptedColumns, ServerRow},
};

use super::import;

/// The rights that a person gives a server together with its new spec.
#[derive(Debug, Clone, Default)]
pub struct Grant {
    /// The foreign secrets that the server may use.
    pub secrets: BTreeSet<String>,
    /// Whether the new spec differs only in how it refers to secrets, so that the accepted program
    /// is kept in any case. Otherwise, a spec that does not start the same command as before is
    /// accepted together with the program that it starts now.
    pub only_references_changed: bool,
}

impl From<BTreeSet<String>> for Grant {
    fn from(secrets: BTreeSet<String>) -> Self {
        Self {
            secrets,
            only_references_changed: false,
        }
    }
}

/// The accepted state of a server.
#[derive(Debug, Clone)]
pub(super) struct Accepted {
    pub(super) identity: String,
    /// The accepted spec, without literal secrets. If it is not known (`None`), the server has to
    /// be accepted again.
    pub(super) spec: Option<ServerSpec>,
    /// The accepted program of a local server. If it is not known (`None`), the first program that
    /// starts becomes the accepted program.
    pub(super) program: Option<Program>,
    /// Whether the store does not have the program yet, because the store could not be written.
    pub(super) is_program_unsaved: bool,
    /// Why the server's program does not count as the accepted program, or `None` if it does.
    pub(super) program_change: Option<ProgramChange>,
    pub(super) granted_secrets: BTreeSet<String>,
    /// When the server was first accepted, whatever its spec was then.
    pub(super) since: Timestamp,
}

impl Accepted {
    pub(super) fn new(
        server: &RegisteredServer,
        program: Option<Program>,
        granted_secrets: BTreeSet<String>,
        since: Timestamp,
    ) -> Self {
        Self {
            identity: server.identity.clone(),
            spec: Some(without_literal_secrets(&server.spec)),
            program,
            is_program_unsaved: false,
            program_change: None,
            granted_secrets,
            since,
        }
    }

    /// Returns the accepted state that the store holds, or `None` if nobody has accepted the
    /// server.
    pub(super) fn from_row(row: ServerRow) -> Option<Self> {
        let spec = row.accepted_spec.as_deref().map(serde_json::from_str);
        let program = row.accepted_program.as_deref().map(serde_json::from_str);
        let granted = row.granted_secrets.as_deref().map(serde_json::from_str);
        let program_change =
            matches!(program, Some(Err(_))).then_some(ProgramChange::UnreadableRecord);
        Some(Self {
            identity: row.accepted_identity?,
            spec: spec.and_then(Result::ok),
            program: program.and_then(Result::ok),
            is_program_unsaved: false,
            program_change,
            granted_secrets: granted.and_then(Result::ok).unwrap_or_default(),
            since: row.accepted_at.unwrap_or(Timestamp(0)),
        })
    }

    pub(super) fn state(&self, server: &RegisteredServer) -> AcceptanceState {
        let is_same = self.identity == server.identity
            && self.program_change.is_none()
            && self
                .spec
                .as_ref()
                .is_some_and(|accepted| !changes::needs_acceptance(accepted, &server.spec));
        if is_same {
            AcceptanceState::Accepted
        } else {
            AcceptanceState::Changed
        }
    }

    /// Returns whether a spec starts the accepted command, in the same way.
    pub(super) fn starts_same(&self, spec: &ServerSpec) -> bool {
        self.spec.as_ref().is_some_and(|accepted| {
            accepted.command == spec.command
                && accepted.args == spec.args
                && accepted.cwd == spec.cwd
                && accepted.env.get("PATH") == spec.env.get("PATH")
                && accepted.program_changes == spec.program_changes
        })
    }

    /// Passes the values of the store's columns to `write`.
    pub(super) async fn with_columns<T>(
        &self,
        write: impl AsyncFnOnce(AcceptedColumns<'_>) -> T,
    ) -> T {
        let spec = serde_json::to_string(&self.spec).expect("a spec can be written as JSON");
        let program = self.program.as_ref().map(|program| {
            serde_json::to_string(program).expect("a program can be written as JSON")
        });
        let granted =
            serde_json::to_string(&self.granted_secrets).expect("names can be written as JSON");
        write(AcceptedColumns {
            identity: &self.identity,
            spec: &spec,
            program: program.as_deref(),
            granted_secrets: &granted,
        })
        .await
    }
}

/// Returns the spec for the store and for comparison with a stored spec. The store never holds the
/// value of a secret, so a literal value that is likely to be a secret is replaced by its digest.
/// Unknown members are removed: otherwise they would count as accepted once a later version of
/// Drawbridge knows them.
pub(super) fn without_literal_secrets(spec: &ServerSpec) -> ServerSpec {
    let mut spec = spec.clone();
    for name in import::likely_secrets(&spec) {
        for members in [&mut spec.env, &mut spec.headers] {
            if let Some(value) = members.get_mut(&name) {
                *value = describe_literal(value);
            }
        }
    }
    let client_secret = spec
        .oauth
        .as_mut()
        .and_then(|client| client.client_secret.as_mut());
    for value in spec.bearer_token.as_mut().into_iter().chain(client_secret) {
        if !has_reference(value) {
            *value = describe_literal(value);
        }
    }
    spec.other.clear();
    spec
}

fn describe_literal(value: &str) -> String {
    let digest = digest::sha256(value.as_bytes());
    format!("(a value in the spec file; SHA-256 {}…)", &digest[..8])
}

/// Returns the names of the secrets in a spec that are not the server's own.
pub fn foreign_secrets(id: &ServerId, spec: &ServerSpec) -> BTreeSet<String> {
    spec.values_with_references()
        .flat_map(|text| secrets::referenced_names(text))
        .filter(|name| !secrets::is_own_secret(id, name))
        .collect()
}
