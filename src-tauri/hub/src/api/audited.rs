//! The kinds of entries that each verb leaves in the audit log. The test
//! `each_verb_leaves_the_entries_of_its_row` fails if a verb has no row.

use drawbridge_model::audit::AuditKind::{self, *};

/// The entries that a verb leaves in the audit log.
pub(crate) enum Audited {
    /// Entries of some or all of these kinds, if the verb has changed anything.
    Entries(&'static [AuditKind]),
    /// No entry, for this reason.
    Nothing(&'static str),
}

use Audited::{Entries, Nothing};

const READS: Audited = Nothing("changes nothing");
const USERS_DATA: Audited = Nothing("changes a user's data, but not who may do what");
const SAVES_NOTHING: Audited = Nothing("returns a spec, and saves nothing");

/// Each verb with the entries that it leaves, in the order of [`super::NAMES`].
pub(crate) const AUDITED: &[(&str, Audited)] = &[
    ("approvals.list", READS),
    ("approvals.show", READS),
    ("approvals.decide", Entries(&[Decided, PolicyChanged])),
    ("approvals.missed", READS),
    ("approvals.allow_retry", Entries(&[RetryAllowed])),
    ("approvals.preview", READS),
    ("approvals.open_url", Entries(&[Decided])),
    ("audit.verify", READS),
    ("audit.list", READS),
    ("audit.export", READS),
    ("browsers.list", READS),
    ("browsers.sign_out", Entries(&[BrowserSignedOut])),
    ("browsers.sign_out_all", Entries(&[BrowserSignedOut])),
    ("calls.list", READS),
    ("calls.show", READS),
    ("calls.running", READS),
    (
        "calls.cancel",
        Nothing("the record of the call has the cancellation as its outcome"),
    ),
    ("calls.stats", READS),
    ("clients.list", READS),
    ("clients.add", Entries(&[ClientAdded, ProfileChanged])),
    (
        "clients.rotate",
        Entries(&[ClientChanged, ClientFilesChanged]),
    ),
    ("clients.set_user", Entries(&[ClientChanged])),
    ("clients.limit", Entries(&[ClientChanged])),
    (
        "clients.revoke",
        Entries(&[ClientRevoked, PolicyChanged, ProfileChanged]),
    ),
    ("config.list", READS),
    ("config.show", READS),
    (
        "config.preview",
        Nothing("remembers a preview, and changes nothing"),
    ),
    ("config.apply", Entries(&[ClientFilesChanged, ClientAdded])),
    (
        "config.undo",
        Entries(&[
            ClientFilesChanged,
            ClientRevoked,
            ClientChanged,
            ProfileChanged,
            ServerRemoved,
            PolicyChanged,
            SecretRemoved,
            SignedOut,
        ]),
    ),
    ("config.set_restores", Entries(&[ClientFilesChanged])),
    ("config.test", Entries(&[SpecVerified])),
    ("config.try_tool", Entries(&[SpecVerified])),
    ("config.find_servers", READS),
    (
        "config.preview_import",
        Nothing("remembers a preview, and changes nothing"),
    ),
    (
        "config.import",
        Entries(&[ClientFilesChanged, ServerAdded, ServerAccepted, SecretSet]),
    ),
    ("doctor.run", READS),
    ("doctor.bundle", READS),
    ("drawbridge.show", READS),
    ("drawbridge.pause", Entries(&[Paused])),
    ("drawbridge.resume", Entries(&[Resumed])),
    ("folders.list", READS),
    ("folders.add", Entries(&[SettingsChanged, ServerChanged])),
    ("folders.remove", Entries(&[SettingsChanged])),
    ("health.show", READS),
    ("hooks.list", READS),
    ("hooks.add", Entries(&[HookChanged, SecretSet])),
    (
        "hooks.edit",
        Entries(&[HookChanged, SecretSet, SecretRemoved]),
    ),
    ("hooks.remove", Entries(&[HookChanged, SecretRemoved])),
    ("hooks.enable", Entries(&[HookChanged])),
    ("hooks.disable", Entries(&[HookChanged])),
    ("hooks.reorder", Entries(&[HookChanged])),
    ("hooks.try", Entries(&[HookChanged])),
    ("hooks.log", READS),
    ("hooks.samples", READS),
    ("logs.list", READS),
    ("memory.list", READS),
    ("memory.categories", READS),
    ("memory.show", READS),
    ("memory.add", USERS_DATA),
    ("memory.edit", USERS_DATA),
    ("memory.delete", USERS_DATA),
    ("pairing.list", READS),
    (
        "pairing.answer",
        Entries(&[PairingApproved, PairingDenied, ClientAdded, ProfileChanged]),
    ),
    ("policy.list", READS),
    ("policy.set", Entries(&[PolicyChanged])),
    ("policy.remove", Entries(&[PolicyChanged])),
    ("policy.set_default", Entries(&[PolicyChanged])),
    ("policy.save", Entries(&[PolicyChanged])),
    ("policy.delete_rule", Entries(&[PolicyChanged])),
    ("policy.enable_rule", Entries(&[PolicyChanged])),
    ("policy.disable_rule", Entries(&[PolicyChanged])),
    ("policy.check_rule", READS),
    ("policy.preview", READS),
    ("policy.export", READS),
    ("policy.import", Entries(&[PolicyChanged])),
    ("policy.apply_preset", Entries(&[PolicyChanged])),
    ("policy.stats", READS),
    ("profiles.list", READS),
    ("profiles.put", Entries(&[ProfileChanged])),
    ("profiles.remove", Entries(&[ProfileChanged])),
    ("profiles.assign", Entries(&[ProfileChanged])),
    ("registry.search", READS),
    ("registry.show", READS),
    (
        "registry.refresh",
        Nothing("reads a public list into a cache, and changes nothing else"),
    ),
    ("sampling.show", READS),
    (
        "sampling.change",
        Entries(&[SettingsChanged, SecretSet, SecretRemoved]),
    ),
    (
        "sampling.check",
        Nothing("sends a test request to the provider, and changes nothing that is audited"),
    ),
    (
        "screens.open",
        Nothing("creates a link; `BrowserSignedIn` is recorded when a browser uses it"),
    ),
    ("screens.check_code", READS),
    ("secrets.list", READS),
    ("secrets.set", Entries(&[SecretSet])),
    ("secrets.remove", Entries(&[SecretRemoved])),
    (
        "secrets.rename",
        Entries(&[SecretSet, ServerChanged, SecretRemoved]),
    ),
    ("secrets.show_store", READS),
    ("secrets.use_store", Entries(&[SecretStoreChanged])),
    (
        "secrets.unlock",
        Nothing("gives the running hub a passphrase, and changes nothing that is stored"),
    ),
    ("servers.list", READS),
    ("servers.show", READS),
    (
        "servers.add",
        Entries(&[ServerAdded, ServerAccepted, SecretSet]),
    ),
    (
        "servers.update",
        Entries(&[ServerChanged, ServerAccepted, SecretSet, SignedOut]),
    ),
    (
        "servers.remove",
        Entries(&[ServerRemoved, PolicyChanged, SecretRemoved, SignedOut]),
    ),
    // Enabling `docling-tools` also adds the server `docling` if it is missing.
    ("servers.enable", Entries(&[ServerChanged, ServerAdded])),
    ("servers.pin", Entries(&[ServerChanged, ServerAccepted])),
    (
        "servers.move_literals",
        Entries(&[SecretSet, ServerChanged, ServerAccepted]),
    ),
    ("servers.accept", Entries(&[ServerAccepted])),
    (
        "servers.verify",
        Nothing("starts a server that was accepted, and reads it"),
    ),
    ("servers.verify_spec", Entries(&[SpecVerified])),
    (
        "servers.sync",
        Entries(&[DefinitionAccepted, DefinitionChanged]),
    ),
    (
        "servers.restart",
        Entries(&[DefinitionAccepted, DefinitionChanged]),
    ),
    (
        "servers.record",
        Entries(&[DefinitionAccepted, DefinitionChanged]),
    ),
    ("servers.access_report", READS),
    ("servers.read_specs", SAVES_NOTHING),
    ("servers.usage", READS),
    ("servers.capabilities", READS),
    ("servers.definition_history", READS),
    ("servers.accept_definitions", Entries(&[DefinitionAccepted])),
    ("servers.read_manifest", SAVES_NOTHING),
    ("servers.fill_manifest", SAVES_NOTHING),
    ("servers.presets", READS),
    ("servers.check_runtimes", READS),
    ("servers.sign_in", Entries(&[SignedIn])),
    ("servers.await_sign_in", READS),
    (
        "servers.cancel_sign_in",
        Nothing("ends an attempt that has changed nothing"),
    ),
    ("servers.sign_out", Entries(&[SignedOut])),
    ("settings.show", READS),
    ("settings.change", Entries(&[SettingsChanged])),
    ("tools.list", READS),
    ("tools.export", READS),
    ("tools.call", Entries(&[ClientAdded, Decided, Ended])),
];
