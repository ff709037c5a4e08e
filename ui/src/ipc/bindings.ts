// Written by `cargo xtask bindings` from src-tauri/hub/src/api. Do not edit.

/**
 * `servers.accept_definitions`: accepts new or changed definitions of a server, as the person saw
 * them.
 */
export type AcceptDefinitions = { id: ServerId, definitions: Array<DefinitionId>, };

/**
 * `servers.accept`: accepts a server as it is shown now, so that it may start.
 */
export type AcceptServer = { id: ServerId, 
/**
 * The identity that the person saw. The verb fails if the server has another identity now.
 */
identity: string, 
/**
 * The foreign secrets that the server may use. All secrets in `foreign_secrets` have to be
 * named, because a person grants each of them.
 */
grant_secrets: Array<string>, };

/**
 * Whether a person has accepted the current version of a definition or of a server. The version of
 * a server is its spec, together with what it starts or connects to.
 */
export type AcceptanceState = "accepted" | "new" | "changed";

/**
 * The report of the latest recorded run of a server.
 */
export type AccessReport = { 
/**
 * The identity of the server when the run began.
 */
identity: string, 
/**
 * When the run began.
 */
recorded_at: Timestamp, 
/**
 * The sandbox of the run.
 */
sandbox: Sandbox | null, access: RecordedAccess, 
/**
 * Whether the run led to a connection. If not, the next run is recorded too.
 */
has_connected: boolean, };

/**
 * The files, addresses and programs that a local server used in its latest recorded run.
 */
export type AccessReportView = { 
/**
 * Whether a run of this server can be recorded: the server has to be local, and run on Linux.
 */
can_record: boolean, 
/**
 * Whether a recorded run is in progress.
 */
is_recording: boolean, 
/**
 * The report; null if no run has been recorded yet.
 */
report: AccessReport | null, 
/**
 * Whether the report is about the server's present identity, not about an earlier identity.
 */
is_current: boolean, 
/**
 * A sandbox for everything that the server used in the run, and the used paths that the
 * sandbox excludes. Null if there is no report, if the run could not be recorded, if this
 * system has no sandboxes, or if no valid sandbox follows from the report.
 */
proposal: SandboxProposal | null, };

/**
 * The files, addresses and programs that the processes of a server used.
 */
export type AccessSummary = { 
/**
 * Sorted by path, without the files that every sandbox includes.
 */
files: Array<FileUse>, addresses: Array<AddressUse>, programs: Array<ProgramUse>, 
/**
 * The refused system calls that name no file or address.
 */
refused_calls: Array<RefusedCall>, 
/**
 * How often files that every sandbox includes were opened: files of the system, of the program
 * itself, or of the server's own folder.
 */
ordinary: number, 
/**
 * How many addresses and programs are left out, because there were too many.
 */
omitted: number, 
/**
 * How many system calls of processes in another root folder, such as a container, are left
 * out.
 */
elsewhere: number, 
/**
 * How many system calls could not be read, because the process ended or is protected.
 */
unreadable: number, 
/**
 * Whether a process used io_uring, through which it can open files unseen.
 */
uses_io_uring: boolean, };

/**
 * `bundles.add`: unpacks a bundle into the data folder, and adds its server, which waits for
 * acceptance. If a value is missing or invalid, the error names it, and nothing is added.
 */
export type AddBundle = { source: BundleSource, 
/**
 * The name for the server. If it is absent, the bundle's title is used.
 */
name: string | null, 
/**
 * Maps each input's name to its value, including secrets. The values of an input with several
 * values are separated by line breaks. A missing entry uses the default; an empty entry leaves
 * the input unset.
 */
values: { [key in string]: string }, 
/**
 * Like `values`, for values that go to the secret store even if the bundle does not mark them
 * as sensitive.
 */
secrets: { [key in string]: string }, };

/**
 * `clients.add`: adds a client and creates its token. The name may be that of a revoked client, or
 * of a client that has no token because it connects over the stdio bridge.
 */
export type AddClient = { name: ClientName, 
/**
 * A token of the person's choice, with at least 32 characters; a random token if absent.
 */
token: string | null, 
/**
 * The user to whom the client belongs. If absent, the client belongs to the user of the
 * earlier client of this name, or else to `default`.
 */
user: UserName | null, 
/**
 * How long the token is valid, in seconds, at least 1; without end if absent.
 */
lifetime_s: number | null, 
/**
 * The profile that limits what the client sees. If it is absent, the client keeps the profile
 * that was assigned to its name, or sees everything.
 */
profile: string | null, };

/**
 * `folders.add`: shares a folder, or changes how a shared folder is shared. Also enables the
 * built-in server `folders`, unless a person has enabled or disabled it before.
 */
export type AddFolder = { 
/**
 * An absolute path on the hub's computer. Links in it are resolved.
 */
path: string, 
/**
 * Whether to share hidden files too, and files whose names suggest that they hold secrets.
 */
all_files: boolean, };

/**
 * `hooks.add`: adds a hook.
 */
export type AddHook = { hook: Hook, 
/**
 * The position in the order of all hooks, counted from 0; the end if absent.
 */
position: number | null, 
/**
 * Values of variables or headers, by their names. The values are stored in the secret store,
 * and the hook refers to them.
 */
secret_values?: { [key in string]: string }, };

/**
 * `memory.add`: stores an entry for a user. If the user has an entry with the same content in the
 * same category already, the new tags replace the tags of that entry.
 */
export type AddMemory = { user: UserName, content: string, 
/**
 * `general` if absent.
 */
category: string | null, tags: Array<string>, };

/**
 * `servers.add`: adds a server, and writes its spec file. The id is derived from the spec's name.
 */
export type AddServer = { spec: ServerSpec, secrets: SecretValues, 
/**
 * Whether the server has to wait for acceptance. By default, the server is accepted, because a
 * person adds it.
 */
pending: boolean, 
/**
 * The foreign secrets that the server may use. Unless the server is pending, exactly the
 * foreign secrets to which the spec refers have to be named.
 */
grant_secrets: Array<string>, };

/**
 * How a process used an address.
 */
export type AddressKind = "connect" | "bind" | "udp" | "local_socket";

/**
 * An address that a process used.
 */
export type AddressUse = { kind: AddressKind, 
/**
 * An IP address, or the path or name of a local socket.
 */
address: string, 
/**
 * The port; 0 for a local socket.
 */
port: number, refused: boolean, };

/**
 * `approvals.allow_retry`: allows one identical retry of a request that nobody decided in time.
 * The verb itself runs nothing: the sender has to send the request again.
 */
export type AllowRetry = { id: CallId, 
/**
 * The digest of the request that the person saw.
 */
digest: string, };

/**
 * A host that requests may name in `Host` and `Origin`: a name or an IP address, compared exactly.
 * There are no wildcards, because a wildcard would also cover names that others control.
 */
export type AllowedHost = string;

/**
 * A server's hints about its tool (`ToolAnnotations` of MCP 2025-03-26). They are unverified.
 */
export type Annotations = { read_only: boolean | null, destructive: boolean | null, idempotent: boolean | null, open_world: boolean | null, };

/**
 * `pairing.answer`: approves or denies the pairing of a client. A client that was denied cannot
 * ask again for ten minutes.
 */
export type AnswerPairing = { id: PairingId, approve: boolean, 
/**
 * The name of the new client; the suggested name if absent.
 */
name: ClientName | null, 
/**
 * The profile that limits what the new client sees; if absent, the client sees everything.
 */
profile: string | null, };

/**
 * Why a verb failed: a code for programs and a message for people.
 */
export type ApiError = { code: ErrorCode, message: string, };

/**
 * `config.apply`: makes the changes of a preview, if the files have not changed since the preview.
 */
export type ApplyConfig = { 
/**
 * The id of the preview.
 */
id: string, 
/**
 * Whether to restore the entry, without asking a person, if another program removes or changes
 * it. Refused if the entry contains a token.
 */
restores: boolean, };

/**
 * `policy.apply_preset`: sets the default for calls of tools, and adds the preset's rules for
 * whole servers. Removes every other allow or ask rule for all tools of one server or of all
 * servers, unless the rule is limited to a client, a user or a kind, has conditions, or concerns
 * results. All other rules stay, except that the preset's rule for a server replaces a plain deny
 * rule of this server.
 */
export type ApplyPreset = { preset: PolicyPreset, };

/**
 * A request or a result that waits for a person.
 */
export type ApprovalRequest = { id: CallId, method: GuardedMethod, kind: RequestKind, 
/**
 * The client that sent the request. For a request of a server, the client that receives it.
 */
client: ClientName, server: ServerId, server_name: string, 
/**
 * The project folder in which the client works, if it works in one.
 */
project: string | null, 
/**
 * The server's own name of the tool or prompt, the URI of the resource, or empty if the
 * request names nothing.
 */
tool: string, tool_title: string | null, 
/**
 * The name or URI as the client knows it.
 */
exposed_name: string, 
/**
 * The server's description of the tool, prompt or resource; untrusted text.
 */
description: string, annotations: Annotations, 
/**
 * The exact JSON text of the arguments, or of the params if this is no call, as it will be
 * sent.
 */
arguments: string, 
/**
 * The hooks that changed the arguments that the client sent, in order.
 */
request_hooks?: Array<string>, 
/**
 * The params besides the name and the arguments, as JSON text. They are sent too.
 */
extra: string | null, 
/**
 * The result as JSON text, if the call has run and its result waits for release. `None` if the
 * call itself waits.
 */
result: string | null, 
/**
 * The flags of suspicious content in the result or, if the call itself waits, in the tool's
 * definition.
 */
flags?: Array<ContentFlag>, 
/**
 * The model and the provider that answer a server's sampling request, because the client
 * cannot: "gpt-5-mini at api.openai.com". `None` if the client answers.
 */
sampling_provider: string | null, 
/**
 * Whether the person fills in a server's request for input in Drawbridge, because the client
 * cannot ask the person. The arguments then contain the message, and either the schema of the
 * form or the URL.
 */
is_filled_in_by_person: boolean, 
/**
 * Whether this is the client's first call of the tool. `false` if the history cannot be read.
 */
is_first: boolean, 
/**
 * The earlier allow that would apply if the tool and its server had not changed.
 */
suspended: SuspendedAllow | null, 
/**
 * The accepted definition of the tool, which clients still see, and the offered definition,
 * as JSON text. Set if they differ; the call can then only be approved once.
 */
changed: [string, string] | null, 
/**
 * The client session of the call.
 */
session: SessionId, 
/**
 * The server's identity: the digest of what its spec starts or connects to.
 */
identity: string, 
/**
 * The digest of the definition of the tool or prompt; empty if there is none.
 */
definition_digest: string, 
/**
 * The digest to which a decision is bound, in hex: SHA-256 over the method, the client, the
 * server's identity, the definition, the params and, if there are any, `sampling_provider` and
 * the result.
 */
digest: string, asked_at: Timestamp, expires_at: Timestamp, 
/**
 * The timeout of the decision, in milliseconds.
 */
timeout_ms: number, 
/**
 * The time that remained when this value was made, in milliseconds.
 */
remaining_ms: number, };

/**
 * The URL that a server asks a person to visit.
 */
export type ApprovalUrl = { url: string, };

/**
 * `profiles.assign`: gives a client a profile, or removes the client's profile. The change applies
 * at once, including to open sessions.
 */
export type AssignProfile = { client: ClientName, 
/**
 * The profile's name; if absent, the client has no profile and sees everything.
 */
profile: string | null, };

/**
 * A break of the audit log's chain.
 */
export type AuditBreak = { 
/**
 * The number of the entry at which the chain breaks, or the number after the last entry if the
 * break is at the end or a call was added.
 */
seq: number, 
/**
 * The reason in plain words, with the call of the entry, if that is known.
 */
reason: string, };

/**
 * A page of entries.
 */
export type AuditEntries = { entries: Array<AuditEntryView>, 
/**
 * The `before` of the next page, which may be empty; null if this page is the last.
 */
next: number | null, };

/**
 * An entry of the audit log.
 */
export type AuditEntryView = { 
/**
 * The number of the entry in the chain.
 */
seq: number, at: Timestamp, kind: AuditKind, 
/**
 * The call, if the entry concerns one.
 */
call: CallId | null, 
/**
 * The details, an object whose members depend on the kind; null if the entry concerns a call.
 */
body: unknown, };

/**
 * The kind of an entry of the audit log.
 */
export type AuditKind = "began" | "broken" | "decided" | "ended" | "policy_changed" | "server_added" | "server_changed" | "server_removed" | "server_accepted" | "definition_changed" | "definition_accepted" | "spec_verified" | "retry_allowed" | "paused" | "resumed" | "client_added" | "client_revoked" | "client_changed" | "pairing_requested" | "pairing_approved" | "pairing_denied" | "client_files_changed" | "profile_changed" | "hook_changed" | "settings_changed" | "secret_set" | "secret_removed" | "secret_store_changed" | "signed_in" | "signed_out" | "browser_signed_in" | "browser_signed_out" | "browser_refused" | "token_refused" | "replacement_prepared" | "backup_restored" | "pruned";

/**
 * A page of an export.
 */
export type AuditPage = { calls: Array<AuditedCall>, 
/**
 * The `after` of the next page, which may be empty; null if this page is the last.
 */
next: CallId | null, };

/**
 * The result of verifying the audit log.
 */
export type AuditReport = { 
/**
 * The number of entries.
 */
entries: number, 
/**
 * The time of the first entry; `None` if there are no entries.
 */
from: Timestamp | null, 
/**
 * The time of the last entry; `None` if there are no entries.
 */
to: Timestamp | null, 
/**
 * The first break of the chain; `None` if the chain is intact.
 */
broken: AuditBreak | null, };

/**
 * A call with its part of the audit log.
 */
export type AuditedCall = { 
/**
 * The SHA-256 of the tool's definition, in hex.
 */
definition_digest: string, 
/**
 * The SHA-256 of the arguments as they were sent, in hex.
 */
arguments_digest: string, 
/**
 * The number of the entry with the call's decision; `None` if the call is older than the audit
 * log.
 */
seq: number | null, 
/**
 * The hash of that entry, in hex.
 */
hash: string | null, id: CallId, at: Timestamp, method: GuardedMethod, 
/**
 * The client that sent the request. For a request of a server, the client that receives it.
 */
client: ClientName, 
/**
 * The client's session, as in "approve for this session". `None` if the request belongs to no
 * session, and for calls that an earlier version recorded.
 */
session?: SessionId, 
/**
 * The server, or an empty id if no server has the tool.
 */
server: ServerId, 
/**
 * The server's own name of the tool or prompt, the URI of the resource, or empty if the
 * request names nothing. For a request about a task, the tool of the call that started it.
 */
tool: string, 
/**
 * The name or URI as the client knows it.
 */
exposed_name: string, decision: Decision, 
/**
 * Whether a person, a rule, the default or the hub decided.
 */
decided_by: DecidedBy, 
/**
 * The rule that decided; `None` if no rule did.
 */
rule: RuleId | null, 
/**
 * Whether a person changed the arguments and approved the changed arguments.
 */
is_edited: boolean, 
/**
 * The reason for the decision: the person's, the rule in words, or Drawbridge's; may be empty.
 */
reason: string, 
/**
 * The outcome; `running` until the call ends.
 */
outcome: Outcome, 
/**
 * The error in words; empty if there is none.
 */
error: string, 
/**
 * The time from the client's request to the decision, in milliseconds.
 */
waited_ms: number, 
/**
 * The time from the decision to the end of the call, in milliseconds. `None` while the call
 * runs, and if it was not sent.
 */
duration_ms: number | null, 
/**
 * The arguments as JSON text, with secrets replaced by `•••`. They are set only in exports and
 * in the view of a single call, never in lists and events, and only up to 16 KiB.
 */
arguments?: string, 
/**
 * The params besides the name and the arguments, stored and shown like `arguments`.
 */
extra?: string, 
/**
 * The arguments that the client sent, if a person or a hook changed them; stored and shown
 * like `arguments`.
 */
original_arguments?: string, 
/**
 * The hooks that changed the arguments before the decision, in order.
 */
request_hooks?: Array<string>, 
/**
 * The hooks that replaced the result, in order.
 */
result_hooks?: Array<string>, 
/**
 * The flags of suspicious content in the result.
 */
flags?: Array<ContentFlag>, 
/**
 * The result, if the settings say that results are kept. It is set only in exports and in the
 * view of a single call.
 */
result?: KeptResult, };

/**
 * `servers.await_sign_in`: waits for the end of the attempt to sign in, at most two minutes, and
 * returns the attempt's state.
 */
export type AwaitSignIn = { id: ServerId, };

/**
 * A backup in the data folder.
 */
export type BackupFile = { 
/**
 * The path of the archive.
 */
file: string, 
/**
 * The size of the archive.
 */
bytes: number, };

/**
 * An archive, as its manifest describes it.
 */
export type BackupView = { 
/**
 * The path of the archive.
 */
file: string, 
/**
 * The version of Drawbridge that made the backup.
 */
version: string, created_at: Timestamp, 
/**
 * How many files the backup has.
 */
files: number, };

/**
 * The backups in the data folder, and whether a replacement is prepared.
 */
export type BackupsView = { 
/**
 * The backups, newest first.
 */
backups: Array<BackupFile>, 
/**
 * Whether the next start restores a backup, or deletes parts of the data folder.
 */
is_replacement_prepared: boolean, };

/**
 * A spec file that cannot be used, with the position of its fault. Other servers are not affected.
 */
export type BrokenSpec = { 
/**
 * The file's path.
 */
file: string, 
/**
 * The line of the fault, counted from 1; 0 if the fault has no position.
 */
line: number, column: number, message: string, };

/**
 * The id of a browser that is signed in to the screens.
 */
export type BrowserId = string;

/**
 * A browser that is signed in to the screens.
 */
export type BrowserView = { id: BrowserId, 
/**
 * The address at which the browser signed in, and the only address for which its token is
 * valid.
 */
address: string, 
/**
 * The `User-Agent` that the browser sent: untrusted plain text.
 */
user_agent: string | null, signed_in_at: Timestamp, last_used_at: Timestamp, 
/**
 * When the browser's sign-in ends if nobody uses the browser until then.
 */
expires_at: Timestamp, };

/**
 * A server that is built into Drawbridge.
 */
export type BuiltIn = "memory" | "folders" | "docling";

/**
 * Drawbridge's own tools that clients can see: the tools of its built-in servers, and
 * `tool_search` and `tool_call` if a server is deferred.
 */
export type BuiltinTools = { total: number, names: Array<string>, };

/**
 * `doctor.bundle`: collects the data that help somebody else find a fault (versions, settings,
 * clients, specs, health, recent log lines, reports of internal errors, and the report of the
 * doctor). Secrets, and values that may be secrets, are masked.
 */
export type BundleDiagnostics = Record<symbol, never>;

/**
 * A file in the archive.
 */
export type BundleFile = { name: string, 
/**
 * A description of the file's content.
 */
content: string, bytes: number, };

/**
 * The kind of a bundle's server.
 */
export type BundleServerType = "node" | "python" | "binary" | "uv";

/**
 * The source of a bundle.
 */
export type BundleSource = { "path": string } | { "base64": string };

/**
 * A tool that a bundle announces.
 */
export type BundleTool = { name: string, description: string, };

/**
 * A bundle as its author describes it.
 */
export type BundleView = { name: string, 
/**
 * The default name of the server in Drawbridge.
 */
title: string, version: string, description: string, author: string, server_type: BundleServerType, tools: Array<BundleTool>, 
/**
 * Whether the server may have more tools than `tools`.
 */
tools_generated: boolean, 
/**
 * The command that starts the server, and the values that it needs.
 */
choice: ManifestChoice, 
/**
 * The status of the server's runtime on this computer; null if it needs no known runtime.
 */
runtime: RuntimeStatus | null, 
/**
 * Which versions of the runtime the server needs; empty if its author does not say.
 */
runtime_version: string, };

/**
 * A call, or another guarded request, with its decision and its outcome.
 */
export type Call = { id: CallId, at: Timestamp, method: GuardedMethod, 
/**
 * The client that sent the request. For a request of a server, the client that receives it.
 */
client: ClientName, 
/**
 * The client's session, as in "approve for this session". `None` if the request belongs to no
 * session, and for calls that an earlier version recorded.
 */
session?: SessionId, 
/**
 * The server, or an empty id if no server has the tool.
 */
server: ServerId, 
/**
 * The server's own name of the tool or prompt, the URI of the resource, or empty if the
 * request names nothing. For a request about a task, the tool of the call that started it.
 */
tool: string, 
/**
 * The name or URI as the client knows it.
 */
exposed_name: string, decision: Decision, 
/**
 * Whether a person, a rule, the default or the hub decided.
 */
decided_by: DecidedBy, 
/**
 * The rule that decided; `None` if no rule did.
 */
rule: RuleId | null, 
/**
 * Whether a person changed the arguments and approved the changed arguments.
 */
is_edited: boolean, 
/**
 * The reason for the decision: the person's, the rule in words, or Drawbridge's; may be empty.
 */
reason: string, 
/**
 * The outcome; `running` until the call ends.
 */
outcome: Outcome, 
/**
 * The error in words; empty if there is none.
 */
error: string, 
/**
 * The time from the client's request to the decision, in milliseconds.
 */
waited_ms: number, 
/**
 * The time from the decision to the end of the call, in milliseconds. `None` while the call
 * runs, and if it was not sent.
 */
duration_ms: number | null, 
/**
 * The arguments as JSON text, with secrets replaced by `•••`. They are set only in exports and
 * in the view of a single call, never in lists and events, and only up to 16 KiB.
 */
arguments?: string, 
/**
 * The params besides the name and the arguments, stored and shown like `arguments`.
 */
extra?: string, 
/**
 * The arguments that the client sent, if a person or a hook changed them; stored and shown
 * like `arguments`.
 */
original_arguments?: string, 
/**
 * The hooks that changed the arguments before the decision, in order.
 */
request_hooks?: Array<string>, 
/**
 * The hooks that replaced the result, in order.
 */
result_hooks?: Array<string>, 
/**
 * The flags of suspicious content in the result.
 */
flags?: Array<ContentFlag>, 
/**
 * The result, if the settings say that results are kept. It is set only in exports and in the
 * view of a single call.
 */
result?: KeptResult, };

/**
 * An entry of the audit log about a call, and whether it is intact.
 */
export type CallAuditEntry = { 
/**
 * The number of the entry in the chain.
 */
seq: number, at: Timestamp, kind: AuditKind, 
/**
 * The hash of the entry, in hex.
 */
hash: string, 
/**
 * Why the entry, the record of the call or the entry before it is not as it was written.
 * `None` if the hash matches all three. The rest of the chain is not checked.
 */
fault: string | null, };

/**
 * The stats of the calls of a client, a server or a tool.
 */
export type CallGroupView = { 
/**
 * The client's name, the server's id, or the server's own name of the tool.
 */
name: string, 
/**
 * The server of a tool. Empty if no server has the tool, or if the group is no tool.
 */
server: string, stats: CallStats, 
/**
 * One entry for each step, oldest first. Only the six groups with the most calls have a
 * series.
 */
series: Array<CallStats>, };

/**
 * The id of a call, or of another guarded request. Its approval request has the same id.
 */
export type CallId = string;

/**
 * The latest progress of a running call, as its server reported it.
 */
export type CallProgress = { 
/**
 * How much is done, in the server's own unit.
 */
progress: number, 
/**
 * How much there is to do, if the server knows.
 */
total: number | null, 
/**
 * The server's text, of at most 500 characters; may be empty.
 */
message: string, };

/**
 * Counts and durations of calls of tools.
 */
export type CallStats = { calls: number, 
/**
 * Calls that failed: the tool reported an error, or there was no usable answer.
 */
errors: number, 
/**
 * Calls that were cancelled while they ran.
 */
cancelled: number, 
/**
 * Calls that were not sent, because a rule, a person or Drawbridge did not allow them, or
 * because nobody decided.
 */
not_allowed: number, 
/**
 * Calls that needed a person's decision. Not all of them count as `approved`, `denied` or
 * `timed_out`, for instance if the client disconnected.
 */
asked: number, approved: number, denied: number, 
/**
 * Calls that nobody decided in time, or that no screen showed.
 */
timed_out: number, 
/**
 * The median duration of the calls that were sent and have ended, in milliseconds. `None` if
 * there was no such call.
 */
p50_ms: number | null, 
/**
 * The 95th percentile of the durations of the same calls, in milliseconds. `None` if there was
 * no such call.
 */
p95_ms: number | null, 
/**
 * The median wait of the calls that needed a person's decision, in milliseconds. `None` if
 * there was no such call.
 */
wait_p50_ms: number | null, 
/**
 * About how many tokens the arguments had: a quarter of their bytes.
 */
sent_tokens: number, 
/**
 * About how many tokens the results had: a quarter of their bytes.
 */
received_tokens: number, };

/**
 * The stats of calls in a span of time.
 */
export type CallStatsView = { since: Timestamp, 
/**
 * The length of a step of the series, in milliseconds.
 */
step_ms: number, total: CallStats, 
/**
 * One entry for each step, oldest first. The last step is not over yet.
 */
series: Array<CallStats>, 
/**
 * The groups with the most calls, at most 50.
 */
groups: Array<CallGroupView>, 
/**
 * The number of further groups.
 */
omitted_groups: number, 
/**
 * Whether the limit of 200,000 counted calls was reached, so that older calls may be missing.
 */
is_partial: boolean, };

/**
 * `tools.call`: calls a tool by hand, as a client named `command-line`. The policy applies as for
 * any other client.
 */
export type CallTool = { 
/**
 * The exposed name.
 */
name: string, 
/**
 * A JSON object.
 */
arguments: unknown, 
/**
 * The shape of the answer.
 */
format?: ResultFormat, };

/**
 * `calls.cancel`: cancels a running call at its server. The client gets a failed result that says
 * that the user cancelled the call.
 */
export type CancelCall = { id: CallId, };

/**
 * `backup.cancel`: cancels a prepared restore or reset.
 */
export type CancelReplacement = Record<symbol, never>;

/**
 * `servers.cancel_sign_in`: cancels the attempt to sign in to a server if it is in progress, and
 * removes the record of the attempt.
 */
export type CancelSignIn = { id: ServerId, };

/**
 * The catalog's copy of a server's lists: the definitions as the server sent them, with the
 * server's own names.
 */
export type CapabilitiesView = { id: ServerId, sync_status: SyncStatus, last_synced_at: Timestamp | null, tools: Array<unknown>, prompts: Array<unknown>, resources: Array<unknown>, templates: Array<unknown>, 
/**
 * The prompts, resources and templates, in the order of their lists, with their acceptance and
 * the effect of the policy. `servers.show` has the tools.
 */
entries: Array<CapabilityView>, };

/**
 * A kind of capability.
 */
export type CapabilityKind = "tools" | "prompts" | "resources" | "templates";

/**
 * A prompt, resource or template of a server, and the effect of the policy on its requests.
 */
export type CapabilityView = { kind: Exclude<CapabilityKind, "tools">, 
/**
 * The server's own name of a prompt, the URI of a resource, or the URI template.
 */
name: string, 
/**
 * The name or URI that clients use; empty if clients cannot see the entry.
 */
exposed_name: string, 
/**
 * Why no client can see the entry; empty if clients can see it.
 */
hidden: string, acceptance: AcceptanceState, 
/**
 * The definition as the server sent it.
 */
definition: unknown, 
/**
 * The SHA-256 of the definition, in hex.
 */
digest: string, 
/**
 * The effect of the policy on requests of a client that has no rule of its own.
 */
effect: Effect, 
/**
 * The suspicious parts of the definition.
 */
flags: Array<ContentFlag>, };

/**
 * `sampling.change`: changes the settings that are present in the request. If the new URL is empty
 * or has another origin, the key is removed, because it belongs to the old provider.
 */
export type ChangeSampling = { enabled: boolean | null, 
/**
 * An https URL, or an http URL of this computer; empty for none.
 */
url: string | null, 
/**
 * At most 20 names.
 */
models: Array<string> | null, images: boolean | null, tools: boolean | null, 
/**
 * 5 to 300 seconds.
 */
timeout_s: number | null, 
/**
 * 0 means no limit.
 */
requests_per_day: number | null, 
/**
 * 0 means no limit.
 */
tokens_per_day: number | null, 
/**
 * The key, which is stored in the secret store; empty to remove it.
 */
key: string | null, };

/**
 * `settings.change`: changes the settings that are present in the request.
 */
export type ChangeSettings = { 
/**
 * 5 to 600 seconds.
 */
approval_timeout_s: number | null, 
/**
 * 10 to 86,400 seconds.
 */
cache_ttl_s: number | null, 
/**
 * An https URL with a path and without a fragment; empty for none.
 */
oauth_client_metadata_url: string | null, 
/**
 * 1 to 3,650 days; 0 means forever.
 */
audit_retention_days: number | null, 
/**
 * 64 to 1,000,000 MiB; 0 means no limit.
 */
records_max_mib: number | null, 
/**
 * If this is turned off, the results that were kept earlier stay for `kept_results_days`.
 */
keep_results: boolean | null, 
/**
 * 1 to 1,024 KiB.
 */
kept_result_kib: number | null, 
/**
 * 1 to 365 days.
 */
kept_results_days: number | null, 
/**
 * 1 to 3,650 days; 0 means forever.
 */
log_retention_days: number | null, 
/**
 * 10 to 1,000,000 MiB; 0 means no limit.
 */
logs_max_mib: number | null, 
/**
 * An http or https URL; empty to turn traces off. Traces are sent to this URL with
 * `/v1/traces` at its end, which is added if it is missing.
 */
otlp_endpoint: string | null, 
/**
 * At most 20 headers, which replace the present headers. A value refers to a secret as
 * `${keyring:otlp.NAME}`.
 */
otlp_headers: { [key in string]: string } | null, otlp_content: boolean | null, 
/**
 * A free port from 1 to 65,535. The endpoint of a running hub moves to this port at once.
 */
port: number | null, 
/**
 * At most 32 hosts, which replace the present hosts at once.
 */
allowed_hosts: Array<string> | null, 
/**
 * At most 50 folders, as absolute paths or `file://` URLs.
 */
roots: Array<string> | null, elicitation_forms: boolean | null, 
/**
 * The https URL of the official registry or of another registry with the same API, or an http
 * URL on this computer; empty to turn the registry off.
 */
official_registry_url: string | null, };

/**
 * `backup.check`: reads the manifest of an archive. Nothing is changed.
 */
export type CheckBackup = { 
/**
 * The path of the archive on the computer of the hub.
 */
file: string, };

/**
 * `screens.check_code`: whether a browser has signed in with a code, and which browser it is.
 */
export type CheckCode = { code: string, };

/**
 * `policy.check_rule`: the reasons to let a person confirm a rule before it is saved. Nothing is
 * saved.
 */
export type CheckRule = { rule: RuleSpec, };

/**
 * `servers.check_runtimes`: checks for the programs that start packages.
 */
export type CheckRuntimes = Record<symbol, never>;

/**
 * `sampling.check`: sends a test request to the provider. The request counts towards the budget.
 */
export type CheckSampling = Record<symbol, never>;

/**
 * `servers.preflight`: checks whether a server is enabled and accepted, and everything that it
 * needs to start: its program, runtime, version, variables, secrets, address, sign-in and sandbox.
 * Does not start the server. Runs its runtime to find the version, and sends at most one request
 * to the address of a remote server that may run.
 */
export type CheckServer = { id: ServerId, };

/**
 * `servers.check_spec`: reads the JSON of a spec, and checks the spec. Saves nothing.
 */
export type CheckSpec = { text: string, };

/**
 * The outcome of a check.
 */
export type CheckStatus = "ok" | "warning" | "failure";

/**
 * The spec that a text contains, or its fault.
 */
export type CheckedSpec = { 
/**
 * The spec; null if the text has a fault.
 */
spec: ServerSpec | null, fault: SpecFault | null, 
/**
 * The members that Drawbridge does not know, which are kept and have no effect.
 */
unknown_fields: Array<string>, };

/**
 * A server to import.
 */
export type ChosenServer = { 
/**
 * The `name` with which `config.find_servers` returned the server.
 */
name: string, 
/**
 * The values that the person entered, by the ids of the inputs.
 */
inputs: { [key in string]: string }, };

/**
 * The purpose of a change of clients' files.
 */
export type ClientAction = "connect" | "disconnect" | "import" | "restore";

/**
 * A new client and its token, which is shown once and stored only as an HMAC.
 */
export type ClientAdded = { name: ClientName, token: string, 
/**
 * The URL of the endpoint, such as `http://127.0.0.1:8765/mcp`. If there are allowed hosts,
 * the URL has the first allowed host.
 */
url: string, 
/**
 * The `mcpServers` JSON for HTTP, with the token, to paste into the client's settings.
 */
config: unknown, 
/**
 * The `mcpServers` JSON for a client that supports only stdio, without a token.
 */
stdio_config: unknown, };

/**
 * A change that Drawbridge made to files of clients.
 */
export type ClientChangeView = { id: string, made_at: Timestamp, action: ClientAction, 
/**
 * The kind of client; null for an import.
 */
kind: string | null, files: Array<string>, 
/**
 * The servers that were imported.
 */
servers: Array<ServerId>, undone_at: Timestamp | null, };

/**
 * Where the servers of a file apply.
 */
export type ClientFileScope = "global" | "profile" | "project";

/**
 * The state of Drawbridge's entry in a file.
 */
export type ClientFileState = "not_connected" | "connected" | "outdated" | "changed" | "removed" | "broken";

/**
 * A configuration file of a client, which may not exist yet.
 */
export type ClientFileView = { path: string, scope: ClientFileScope, exists: boolean, state: ClientFileState, 
/**
 * The name of Drawbridge's entry, if there is one.
 */
entry: string | null, 
/**
 * How the entry differs from the entry that Drawbridge writes, or why the file cannot be read.
 */
problems: Array<string>, 
/**
 * How Drawbridge keeps the entry up to date; null if Drawbridge does not manage it.
 */
managed: ManagedEntry | null, };

/**
 * A kind of client, and its files on this computer.
 */
export type ClientKindView = { 
/**
 * The id, such as `claude-code`.
 */
id: string, name: string, 
/**
 * Whether the client or one of its files was found on this computer.
 */
is_installed: boolean, supports_http: boolean, 
/**
 * Whether single projects can have a file of their own.
 */
supports_projects: boolean, 
/**
 * The settings that make the client leave approval to Drawbridge, in words; empty if the
 * client has none.
 */
ask_once: Array<string>, 
/**
 * Sentences about steps that only the person can take, and facts that the person should know.
 */
notes: Array<string>, 
/**
 * A link that opens the client and adds Drawbridge.
 */
install_link: string | null, 
/**
 * The maximum number of characters that Drawbridge may use for a tool's name.
 */
max_tool_name: number, files: Array<ClientFileView>, };

/**
 * A mute of a client: its requests that need a decision are refused, because nobody decided its
 * last requests.
 */
export type ClientMute = { 
/**
 * When the mute ends by itself.
 */
until: Timestamp, 
/**
 * The time that remained when this value was made, in milliseconds, at least 1.
 */
remaining_ms: number, };

/**
 * The name that the user gave a client.
 */
export type ClientName = string;

/**
 * The new token of a client, which is shown once.
 */
export type ClientRotated = { name: ClientName, token: string, 
/**
 * As in `clients.add`.
 */
url: string, 
/**
 * The `mcpServers` JSON for HTTP, with the token, to paste into the client's settings.
 */
config: unknown, 
/**
 * The files of the client that have the new token.
 */
updated_files: Array<string>, 
/**
 * The files that still have the old token, and why.
 */
failed_files: Array<FailedFile>, };

/**
 * How a client reaches Drawbridge.
 */
export type ClientTransport = "bridge" | "http";

/**
 * The answer to `clients.unmute`.
 */
export type ClientUnmuted = { 
/**
 * Whether the client was muted until now.
 */
was_muted: boolean, };

/**
 * A client that a person added or paired, or that connected without a token.
 */
export type ClientView = { name: ClientName, 
/**
 * The user to whom the client belongs, and whose memory it reads and writes.
 */
user: UserName, 
/**
 * Whether the client has a token. A client of the stdio bridge has none.
 */
has_token: boolean, 
/**
 * How many calls the client may make in a minute; null if the number is not limited.
 */
calls_per_minute: number | null, 
/**
 * When the token expires; null if it does not expire.
 */
token_expires_at: Timestamp | null, 
/**
 * When the old token expires after a rotation, if nobody uses the new token before.
 */
old_token_until: Timestamp | null, created_at: Timestamp, last_seen_at: Timestamp | null, revoked_at: Timestamp | null, 
/**
 * The number of client sessions that are open now.
 */
sessions: number, 
/**
 * The name and version that the client reported, such as `claude-code 2.1.329`.
 */
software: string | null, 
/**
 * The `User-Agent` of the last request with the client's token: untrusted plain text.
 */
user_agent: string | null, 
/**
 * The profile that limits what the client sees; null if the client sees everything, or if its
 * profile was removed.
 */
profile: string | null, 
/**
 * Whether the client's profile was removed. The client then sees nothing until a person
 * assigns another profile, or chooses that the client has no profile.
 */
profile_removed: boolean, 
/**
 * The number of calls that the client abandoned before a decision, in the last 24 hours.
 */
abandoned_calls: number, 
/**
 * The longest time that the client waited before it abandoned one of these calls, in
 * milliseconds.
 */
longest_wait_ms: number, 
/**
 * Whether a legacy session of the client was notified of changed tools more than a minute ago,
 * and has not read the list of tools since.
 */
ignores_tool_changes: boolean, 
/**
 * The client's mute; null if the client is not muted. A client is muted for a minute if nobody
 * decides three of its requests in a row.
 */
mute: ClientMute | null, };

/**
 * Whether a browser has signed in with a code.
 */
export type CodeState = { "state": "waiting" } | { "state": "used", browser: BrowserView, } | { "state": "expired" };

/**
 * A condition of a rule on the arguments.
 */
export type Condition = { 
/**
 * A JSON pointer (RFC 6901) into the arguments, such as `/path`.
 */
pointer: string, is: Predicate, };

/**
 * A change of a client's file.
 */
export type ConfigAction = "connect" | "disconnect";

/**
 * The kinds of clients, and the changes that Drawbridge made to their files.
 */
export type ConfigOverview = { kinds: Array<ClientKindView>, 
/**
 * The changes, newest first.
 */
changes: Array<ClientChangeView>, };

/**
 * The effect that a change would have.
 */
export type ConfigPreview = { 
/**
 * The id to pass to `config.apply`; null if there is nothing to do. If the file has a correct
 * entry that Drawbridge does not manage yet, there is an id, but no file has to change.
 */
id: string | null, files: Array<FileDiffView>, 
/**
 * Sentences about steps that only the person can take, and facts that the person should know.
 */
notes: Array<string>, };

/**
 * The configuration for a client, to paste.
 */
export type ConfigSnippet = { kind: string, 
/**
 * The name for a file with the configuration, such as `mcp.json`.
 */
file_name: string, 
/**
 * The configuration in the client's own format.
 */
text: string, 
/**
 * The configuration as JSON.
 */
config: unknown, install_link: string | null, notes: Array<string>, };

/**
 * The result of testing a client's entry.
 */
export type ConfigTestView = { path: string, 
/**
 * The command line or URL of the entry.
 */
command_or_url: string, 
/**
 * The failure and its remedy; null if the tools could be listed.
 */
problem: string | null, 
/**
 * The number of tools that the client would get.
 */
tools: number, duration_ms: number, };

/**
 * The handling of suspicious texts of a server. No text of the server is ever changed.
 */
export type ContentDefence = "off" | "mark" | "ask";

/**
 * A suspicious part of a server's text.
 */
export type ContentFlag = { kind: FlagKind, 
/**
 * A JSON pointer to the text, such as `/content/0/text`. It ends with `~` if the text is the
 * name of a member.
 */
place: string, 
/**
 * The suspicious part, of at most 120 characters; a hidden character is written as `U+200B`.
 */
excerpt: string, };

/**
 * `backup.create`: saves the data folder, without secrets, in an archive in its folder `backups`.
 */
export type CreateBackup = Record<symbol, never>;

/**
 * The stats of one day in UTC.
 */
export type DayStats = { 
/**
 * The first moment of the day.
 */
at: Timestamp, approved: number, denied: number, 
/**
 * Calls that timed out, or for which no screen was open.
 */
missed: number, };

/**
 * `approvals.decide`: decides a request in the queue. The first decision wins; a later decision is
 * a `conflict`.
 */
export type DecideApproval = { id: CallId, 
/**
 * The digest of the request that the person saw. A request with another digest is not decided.
 */
digest: string, verdict: Verdict, };

/**
 * The author of a decision.
 */
export type DecidedBy = "person" | "rule" | "default" | "hub";

/**
 * Whether a call may be sent, or why not.
 */
export type Decision = "allowed" | "denied" | "timed_out" | "no_screen" | "paused" | "queue_full" | "muted" | "abandoned";

/**
 * The effect on requests that no rule matches, for each kind.
 */
export type DefaultEffects = { tools: Effect, prompts: Effect, resources: Effect, sampling: Effect, elicitation: Effect, roots: Effect, };

/**
 * Names one version of a server's definition.
 */
export type DefinitionId = { kind: DefinitionKind, 
/**
 * The server's own name of a tool or a prompt, the URI of a resource, the URI template, or
 * `instructions`.
 */
name: string, 
/**
 * The SHA-256 of the definition, in hex.
 */
digest: string, };

/**
 * The kind of a definition that a person accepts.
 */
export type DefinitionKind = "instructions" | "tool" | "prompt" | "template" | "resource";

/**
 * The handling of definitions that a server adds or changes after a person has accepted the
 * server.
 */
export type DefinitionPolicy = "ask" | "keep" | "trust";

/**
 * A version of a definition.
 */
export type DefinitionVersion = { 
/**
 * The SHA-256 of the definition, in hex.
 */
digest: string, first_seen_at: Timestamp, 
/**
 * When a person accepted this version; null if nobody has accepted it.
 */
accepted_at: Timestamp | null, 
/**
 * Whether the server offers this version to at least one client now.
 */
offered: boolean, definition: unknown, 
/**
 * The differences from the latest accepted earlier version or, if no earlier version was
 * accepted, from the previous version; empty for the first version.
 */
changes: Array<FieldChange>, };

/**
 * `memory.delete`: deletes at most 500 entries for good.
 */
export type DeleteMemory = { ids: Array<number>, };

/**
 * `policy.delete_rule`: removes one rule.
 */
export type DeleteRule = { id: RuleId, };

/**
 * An archive of diagnostics, and a description of its content.
 */
export type DiagnosticsBundle = { 
/**
 * The report of the doctor. Unlike the report in the archive, it is not masked.
 */
report: DoctorReport, files: Array<BundleFile>, 
/**
 * The ZIP archive in base64.
 */
zip: string, };

/**
 * `hooks.disable`: stops running a hook, without removing the hook.
 */
export type DisableHook = { name: string, };

/**
 * `policy.disable_rule`: disables one rule. The rule matches nothing until it is enabled again.
 */
export type DisableRule = { id: RuleId, };

/**
 * A check and its outcome.
 */
export type DoctorCheck = { topic: DoctorTopic, status: CheckStatus, 
/**
 * The finding, as a sentence.
 */
text: string, 
/**
 * The remedy; empty if the status is `ok`.
 */
remedy: string, };

/**
 * The outcomes of all checks.
 */
export type DoctorReport = { 
/**
 * The version of Drawbridge that ran the checks.
 */
version: string, checked_at: Timestamp, checks: Array<DoctorCheck>, };

/**
 * The subject of a check.
 */
export type DoctorTopic = "hub" | "environment" | "runtimes" | "keyring" | "listeners" | "clients" | "servers" | "database" | "disk" | "clock" | "data_folder" | "desktop";

/**
 * The answer of a verb that returns nothing if it succeeds.
 */
export type Done = Record<symbol, never>;

/**
 * Whether all calls are paused.
 */
export type DrawbridgeState = { paused: boolean, 
/**
 * When the pause ends by itself; null if calls are not paused, or if a person has to
 * resume them.
 */
resumes_at: Timestamp | null, };

/**
 * The past calls that a rule would have matched.
 */
export type DryRun = { 
/**
 * How many past calls of the rule's scope were examined: the newest, 1,000 at most.
 */
examined: number, matched: number, 
/**
 * How many calls cannot be matched, because their arguments were not stored, their server was
 * removed, or the rule refers to the project folder, which is not stored.
 */
unknown: number, 
/**
 * The newest of the calls that matched.
 */
newest: Array<Call>, };

/**
 * `hooks.edit`: replaces a hook, which keeps its position and may get another name. Removes the
 * secrets that Drawbridge stored for the hook and that no hook uses any more.
 */
export type EditHook = { 
/**
 * The present name of the hook.
 */
name: string, hook: Hook, 
/**
 * As in `hooks.add`.
 */
secret_values?: { [key in string]: string }, };

/**
 * `memory.edit`: changes an entry. A parameter that is absent leaves its part of the entry as it
 * is.
 */
export type EditMemory = { id: number, content: string | null, category: string | null, tags: Array<string> | null, };

/**
 * The effect of the policy on a request.
 */
export type Effect = "allow" | "deny" | "ask";

/**
 * `hooks.enable`: lets a disabled hook run again.
 */
export type EnableHook = { name: string, };

/**
 * `policy.enable_rule`: enables one rule. The rule stays bound to its server and its tool as they
 * were when the rule was made.
 */
export type EnableRule = { id: RuleId, };

/**
 * `servers.enable`: turns a server on or off.
 */
export type EnableServer = { id: ServerId, enabled: boolean, };

/**
 * The parts of a running server's sandbox that depend on the kernel and not on the spec.
 */
export type EnforcedSandbox = { 
/**
 * The version of Landlock that the kernel has.
 */
landlock: number, 
/**
 * Whether the server can send signals only to its own processes (from Linux 6.12).
 */
signals: boolean, };

/**
 * The kind of a failure. A program may branch on the code, never on the message.
 */
export type ErrorCode = "invalid" | "not_found" | "conflict" | "forbidden" | "unavailable" | "timeout" | "internal";

/**
 * An event. A front end that missed events (`lagged`) reads everything again.
 */
export type Event = { "kind": "server_changed", id: ServerId, } | { "kind": "session_changed", server: ServerId, transition: Transition, } | { "kind": "sign_in_changed", id: SignInId, server: ServerId, state: SignInState, } | { "kind": "approval_requested", request: ApprovalRequest, } | { "kind": "approval_ended", id: CallId, } | { "kind": "call_changed", call: Call, } | { "kind": "call_progressed", id: CallId, progress: CallProgress, } | { "kind": "clients_changed" } | { "kind": "client_muted", client: ClientName, mute: ClientMute, } | { "kind": "client_unmuted", client: ClientName, } | { "kind": "memory_changed" } | { "kind": "pairing_requested", request: PairingRequest, } | { "kind": "pairing_ended", id: PairingId, } | { "kind": "client_files_changed" } | { "kind": "policy_changed" } | { "kind": "drawbridge_changed", paused: boolean, 
/**
 * When the pause ends by itself; null if calls are not paused, or if a person has to
 * resume them.
 */
resumes_at: Timestamp | null, } | { "kind": "profiles_changed" } | { "kind": "official_registry_changed" } | { "kind": "hooks_changed" } | { "kind": "browsers_changed" } | { "kind": "settings_changed" } | { "kind": "log_added", line: LogLine, } | { "kind": "lagged" };

/**
 * Up to 100 excluded entries of a server's lists, and the number of further entries.
 */
export type ExcludedEntries = { entries: Array<ExcludedEntry>, 
/**
 * The number of excluded entries that are not named here.
 */
more: number, };

/**
 * An excluded entry of a server's list, with the reason.
 */
export type ExcludedEntry = { kind: CapabilityKind, 
/**
 * The server's own name of the entry, or the entry's place in the list if it has no name, such
 * as `entry 3 of tools/list`.
 */
name: string, 
/**
 * The reason in plain words.
 */
reason: string, };

/**
 * A path that is not proposed.
 */
export type ExcludedPath = { path: string, access: FileAccess, reason: ExclusionReason, };

/**
 * The reason why a path is not proposed.
 */
export type ExclusionReason = "private" | "too_broad" | "system" | "own" | "missing";

/**
 * `audit.export`: calls, oldest first, a page at a time.
 */
export type ExportAudit = { 
/**
 * Only calls at or after this moment.
 */
since: Timestamp | null, 
/**
 * Only calls before this moment.
 */
until: Timestamp | null, 
/**
 * Only calls after this call: the `next` of the previous page.
 */
after: CallId | null, 
/**
 * The maximum number of calls to return: 500 by default, and 500 at most.
 */
limit: number | null, };

/**
 * `policy.export`: the policy as a readable file, without the rules that hold for one session.
 */
export type ExportPolicy = Record<symbol, never>;

/**
 * `tools.export`: the tools of all servers as function tools in the format of the OpenAI API.
 */
export type ExportTools = { 
/**
 * The client whose profile limits the tools; all tools if absent.
 */
client: ClientName | null, };

/**
 * A file of a client that could not be changed.
 */
export type FailedFile = { path: string, error: string, };

/**
 * A field that differs between two versions.
 */
export type FieldChange = { 
/**
 * A JSON pointer, such as `/inputSchema/properties/path/description`.
 */
field: string, 
/**
 * The previous value; null if the field is new.
 */
before: unknown, 
/**
 * The new value; null if the field was removed.
 */
after: unknown, };

/**
 * How a process used a file.
 */
export type FileAccess = "read" | "write";

/**
 * The difference in one file.
 */
export type FileDiffView = { path: string, 
/**
 * Whether the file does not exist yet.
 */
is_new: boolean, 
/**
 * A unified diff without the values of secrets.
 */
diff: string, };

/**
 * The state of a file after a change was undone.
 */
export type FileOutcome = "restored" | "removed" | "own_changes_undone" | "gone";

/**
 * A file or folder that a process used, or a folder that stands for the files in it.
 */
export type FileUse = { 
/**
 * The absolute path, without links.
 */
path: string, access: FileAccess, is_folder: boolean, 
/**
 * How many different files this entry stands for.
 */
files: number, 
/**
 * Whether the sandbox of the run refuses this access.
 */
refused: boolean, };

/**
 * `servers.fill_manifest`: builds a spec from one choice of a manifest. Saves nothing. If a value
 * is missing or invalid, the error names its input.
 */
export type FillManifest = { source: ManifestSource, 
/**
 * The index of the choice, counted from 0.
 */
choice: number, 
/**
 * The name for the server. If it is absent, the `title` of the manifest is used.
 */
name: string | null, 
/**
 * Maps each input's name to its value, including secrets. The values of an input with several
 * values are separated by line breaks. A missing entry uses the default; an empty entry leaves
 * the input unset.
 */
values: { [key in string]: string }, 
/**
 * Like `values`, for values that go to the secret store even if the manifest does not mark
 * them as secret.
 */
secrets: { [key in string]: string }, };

/**
 * A spec built from a manifest's choice and the entered values, with its secrets, ready for
 * `servers.add`.
 */
export type FilledManifest = { spec: ServerSpec, secrets: SecretValues, };

/**
 * `config.find_servers`: the servers in the files of all clients, or of one kind of client.
 */
export type FindServers = { kind: string | null, 
/**
 * The absolute paths of projects whose files are read too.
 */
projects: Array<string>, environment: { [key in string]: string }, };

/**
 * Why a text is flagged.
 */
export type FlagKind = "instructions" | "concealment" | "role_tag" | "private_file" | "tool_call" | "exfiltration" | "hidden_characters" | "look_alike" | "unchecked";

/**
 * A shared folder.
 */
export type FolderView = { path: string, 
/**
 * Whether hidden files and likely secrets are shared too.
 */
all_files: boolean, 
/**
 * Why the folder cannot be read now, in plain words; empty if there is no problem.
 */
problem: string, };

/**
 * The shared folders.
 */
export type FoldersView = { 
/**
 * Whether the built-in server `folders` is enabled. `servers.enable` changes this.
 */
enabled: boolean, folders: Array<FolderView>, };

/**
 * The values that a person has entered for a server, as the JSON text of an object. They are never
 * stored, and `Debug` does not show them.
 */
export type FormContent = string;

/**
 * A file of a client that has an entry for a server.
 */
export type FoundAtView = { 
/**
 * The id of the kind of client, such as `claude-code`.
 */
kind: string, 
/**
 * The name of the kind of client.
 */
kind_name: string, file: string, };

/**
 * A preset that a search has found. `servers.presets` describes the preset.
 */
export type FoundPreset = { id: string, 
/**
 * The registered servers that start the same package, or connect to the same URL.
 */
added: Array<ServerId>, };

/**
 * A server that was found in the files of clients.
 */
export type FoundServerView = { 
/**
 * The name that the server would get. No other server that was found has the same name.
 */
name: string, 
/**
 * The command line or the URL, without the values of secrets; empty if the entry cannot be
 * imported.
 */
command: string, 
/**
 * Why the entry cannot be imported; null if it can.
 */
problem: string | null, found_at: Array<FoundAtView>, 
/**
 * The names of the values that would move to the secret store.
 */
secrets: Array<string>, 
/**
 * The values that the person has to enter.
 */
inputs: Array<InputView>, notes: Array<string>, 
/**
 * The registered server with the same command line or URL, and the same names of variables
 * and headers; null if there is no such server. The import does not add a registered server
 * again.
 */
known_as: ServerId | null, 
/**
 * How many processes of the server run on this computer now, outside Drawbridge, without the
 * processes that these processes started.
 */
processes: number, 
/**
 * The memory of these processes and of all processes that they started, in KiB.
 */
memory_kib: number, };

/**
 * The servers that a search has found.
 */
export type FoundServers = { 
/**
 * The presets, on the first page only.
 */
presets: Array<FoundPreset>, servers: Array<PublishedServerView>, 
/**
 * How many servers of the official registry match.
 */
total: number, 
/**
 * The `offset` of the next page; null if this page is the last.
 */
next: number | null, registry: OfficialRegistryView, };

/**
 * All servers that were found.
 */
export type FoundServersView = { servers: Array<FoundServerView>, 
/**
 * The files that could not be read, with the reason.
 */
unreadable: Array<UnreadableFileView>, 
/**
 * The memory that would be saved if all clients shared one copy of each server, in KiB.
 */
saved_kib: number, };

/**
 * The function of a function tool.
 */
export type Function = { 
/**
 * The exposed name.
 */
name: string, description: string, 
/**
 * The JSON Schema of the arguments, without `$schema`.
 */
parameters: unknown, };

/**
 * A function tool of the OpenAI API.
 */
export type FunctionTool = { 
/**
 * Always `function`.
 */
type: string, function: Function, };

/**
 * `prompts.get`: gets a prompt by hand, as a client named `command-line`. The policy applies as
 * for any other client.
 */
export type GetPrompt = { 
/**
 * The exposed name.
 */
name: string, 
/**
 * A JSON object whose values are texts.
 */
arguments: unknown, };

/**
 * A method whose requests the policy decides. Every such request has a record.
 */
export type GuardedMethod = "tools/call" | "prompts/get" | "resources/read" | "resources/subscribe" | "completion/complete" | "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result" | "tasks/list" | "sampling/createMessage" | "elicitation/create" | "roots/list";

/**
 * The result of checking a part of the hub.
 */
export type HealthCheck = { 
/**
 * `database`, `listeners`, `registry` or `disk`.
 */
name: string, ok: boolean, 
/**
 * The fault, in words; empty if `ok`, or if the caller is not an administrator.
 */
error: string, };

export type HealthStatus = "ok" | "degraded" | "down";

/**
 * The answer of `health.show` and of `GET /health`.
 */
export type HealthView = { status: HealthStatus, 
/**
 * Always `drawbridge`.
 */
service: string, version: string, builtin_tools: BuiltinTools, registry: RegistryHealth, storage: StorageHealth, 
/**
 * Whether all checks pass.
 */
ready: boolean, checks: Array<HealthCheck>, 
/**
 * The listeners at which clients can connect.
 */
transports: Array<ListenerHealth>, 
/**
 * The number of client sessions that are open now.
 */
sessions: number, servers: ServersHealth, };

/**
 * A hook as a person wrote it.
 */
export type Hook = { 
/**
 * Unique among the hooks: 1 to 64 characters, without commas, braces and control characters,
 * and without white space at its beginning or end.
 */
name: string, 
/**
 * The events on which the hook runs, at least one.
 */
events: Array<HookEvent>, mode: HookMode, 
/**
 * The server whose events the hook gets; all servers if it is absent.
 */
server: ServerId | null, 
/**
 * The server's own name of the tool whose calls the hook gets; all events if it is absent.
 */
tool: string | null, 
/**
 * How long one run may take, in milliseconds: 100 to 60,000.
 */
timeout_ms: number, on_failure: OnFailure, 
/**
 * Whether an observing hook gets the contents of results. A blocking hook always gets them.
 */
with_result: boolean, enabled: boolean, target: HookTarget, };

/**
 * The effect of a run of a hook on its event.
 */
export type HookEffect = "continued" | "changed_arguments" | "denied" | "replaced_result" | "failed";

/**
 * An event on which hooks run.
 */
export type HookEvent = "server_connected" | "server_disconnected" | "tool_requested" | "tool_executed";

/**
 * Whether Drawbridge waits for a hook.
 */
export type HookMode = "observe" | "blocking";

/**
 * One run of a hook.
 */
export type HookRun = { at: Timestamp, hook: string, event: HookEvent, server: ServerId, 
/**
 * The server's own name of the tool; empty for an event of a server.
 */
tool: string, effect: HookEffect, 
/**
 * Why the run failed, or why the hook denied the call; empty otherwise.
 */
reason: string, duration_ms: number, 
/**
 * Whether a person tried the hook, so that no call was affected.
 */
is_trial: boolean, };

/**
 * A payload of an event with made-up values.
 */
export type HookSample = { event: HookEvent, payload: string, };

/**
 * How a hook has run since Drawbridge started.
 */
export type HookState = { runs: number, failures: number, 
/**
 * How many events an observing hook missed because the hook is too slow.
 */
dropped: number, last: HookRun | null, };

/**
 * The program or webhook that a hook runs.
 */
export type HookTarget = { "kind": "command", program: string, args: Array<string>, 
/**
 * Variables of its environment. A value may contain `${keyring:NAME}`.
 */
env: { [key in string]: string }, } | { "kind": "webhook", 
/**
 * An https URL, or an http URL of this computer. It may contain `${keyring:NAME}`.
 */
url: string, 
/**
 * Headers of the request. A value may contain `${keyring:NAME}`.
 */
headers: { [key in string]: string }, };

/**
 * The result of a trial of a hook.
 */
export type HookTrial = { 
/**
 * The input of the hook, as JSON text.
 */
input: string, 
/**
 * The output of the hook, with secrets masked, up to 64 KiB.
 */
output: string, 
/**
 * The effect that the hook would have on a call.
 */
effect: HookEffect, 
/**
 * Why the hook would deny the call, or why the hook failed; empty otherwise.
 */
reason: string, duration_ms: number, };

/**
 * A hook, and how it has run.
 */
export type HookView = { state: HookState, 
/**
 * Unique among the hooks: 1 to 64 characters, without commas, braces and control characters,
 * and without white space at its beginning or end.
 */
name: string, 
/**
 * The events on which the hook runs, at least one.
 */
events: Array<HookEvent>, mode: HookMode, 
/**
 * The server whose events the hook gets; all servers if it is absent.
 */
server: ServerId | null, 
/**
 * The server's own name of the tool whose calls the hook gets; all events if it is absent.
 */
tool: string | null, 
/**
 * How long one run may take, in milliseconds: 100 to 60,000.
 */
timeout_ms: number, on_failure: OnFailure, 
/**
 * Whether an observing hook gets the contents of results. A blocking hook always gets them.
 */
with_result: boolean, enabled: boolean, target: HookTarget, };

/**
 * `policy.import`: adds the rules of a policy file. If `replace` is set, these rules replace all
 * present rules, and the file's defaults, if it has any, replace the present defaults. Otherwise,
 * a plain rule in the file replaces only the present plain rule of the same scope. If any rule is
 * invalid, no rule is imported.
 */
export type ImportPolicy = { 
/**
 * The content of the file, in JSON.
 */
text: string, 
/**
 * Whether to replace the present rules and, if the file has defaults, the present defaults.
 */
replace: boolean, };

/**
 * The effect that an import would have.
 */
export type ImportPreview = { 
/**
 * The id to pass to `config.import`.
 */
id: string, 
/**
 * The names of the servers that would be added.
 */
servers: Array<string>, 
/**
 * The names of the values that would move to the secret store.
 */
secrets: Array<string>, 
/**
 * The changes of clients' files.
 */
files: Array<FileDiffView>, 
/**
 * The files that the import would not change although it should, each with the reason.
 */
problems: Array<string>, };

/**
 * The result of importing a policy file.
 */
export type ImportResult = { 
/**
 * The number of rules in the file.
 */
rules: number, };

/**
 * `config.import`: imports the servers of a preview, if the files have not changed since the
 * preview.
 */
export type ImportServers = { 
/**
 * The id of the preview.
 */
id: string, 
/**
 * Whether to restore the clients' entries, without asking a person, if another program removes
 * or changes them.
 */
restores: boolean, };

/**
 * The result of an import.
 */
export type ImportedView = { 
/**
 * The servers that were added.
 */
servers: Array<ServerId>, 
/**
 * The import as a change, which `config.undo` can undo.
 */
change: ClientChangeView, };

/**
 * The format of a value.
 */
export type InputFormat = "text" | "number" | "boolean" | "path";

/**
 * The place to which an input's value is written.
 */
export type InputKind = "env" | "header" | "argument" | "url";

/**
 * A value that the person has to enter.
 */
export type InputView = { id: string, description: string, 
/**
 * The values to choose from; empty if the person can enter any value.
 */
choices: Array<string>, is_secret: boolean, };

/**
 * The clients that share a session with a server.
 */
export type Isolation = "shared" | "per_client";

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/**
 * The result of a call as it is stored.
 */
export type KeptResult = { 
/**
 * The result that the client got, as JSON text with secrets replaced by `•••`. If the result
 * was cut, the beginning of this text; empty if the result was so long that none of it was
 * kept.
 */
text: string, is_cut: boolean, 
/**
 * The length of the whole result in bytes.
 */
bytes: number, };

export type Level = "trace" | "debug" | "info" | "warn" | "error";

/**
 * The lifetime of a local server's process.
 */
export type Lifecycle = "singleton" | "transient";

/**
 * The lifetime of a rule.
 */
export type Lifetime = { "kind": "until_deleted" } | { "kind": "until", at: Timestamp, } | { "kind": "session", session: SessionId, } | { "kind": "calls", count: number, };

/**
 * `clients.limit`: limits how many calls a client may make in a minute, effective at once. Other
 * guarded requests of the client count like calls. Requests about a task do not count, because the
 * call that started the task did.
 */
export type LimitClient = { name: ClientName, 
/**
 * The limit, at least 1; no limit if absent.
 */
calls_per_minute: number | null, };

/**
 * `approvals.list`: the requests in the queue, oldest first.
 */
export type ListApprovals = Record<symbol, never>;

/**
 * `audit.list`: entries, newest first, a page at a time. Entries about calls are returned only if
 * their kind is named, because `calls.list` has the calls.
 */
export type ListAudit = { 
/**
 * Only entries of this kind. If it is absent, all entries that are not about a call.
 */
kind: AuditKind | null, 
/**
 * Only entries at or after this moment.
 */
since: Timestamp | null, 
/**
 * Only entries before the entry with this number: the `next` of the previous page.
 */
before: number | null, 
/**
 * The maximum number of entries to return: 500 by default, and 500 at most.
 */
limit: number | null, };

/**
 * `backup.list`: the backups in the data folder, and whether a replacement is prepared.
 */
export type ListBackups = Record<symbol, never>;

/**
 * `browsers.list`: the browsers that are signed in, the latest sign-in first.
 */
export type ListBrowsers = Record<symbol, never>;

/**
 * `calls.list`: calls and other guarded requests, newest first.
 */
export type ListCalls = { client: ClientName | null, 
/**
 * Only calls of this client session.
 */
session: SessionId | null, server: ServerId | null, 
/**
 * Only calls of tools that their server lists under this name. Also matches the name of a
 * prompt and the URI of a resource.
 */
tool: string | null, 
/**
 * Only calls that a person had to decide, including calls that nobody decided: the
 * history of approvals.
 */
needed_approval: boolean, 
/**
 * Only calls that contain this text in their method, tool, exposed name, reason, error or
 * params. ASCII letters match in either case.
 */
text: string | null, decision: Decision | null, outcome: Outcome | null, 
/**
 * Only calls that are older than this call: the last call of the previous page.
 */
before: CallId | null, 
/**
 * Only calls at or after this moment.
 */
since: Timestamp | null, 
/**
 * Only calls before this moment.
 */
until: Timestamp | null, 
/**
 * The maximum number of calls to return: 200 by default, and 1,000 at most.
 */
limit: number | null, };

/**
 * `clients.list`: all clients, by name.
 */
export type ListClients = Record<symbol, never>;

/**
 * `config.list`: all kinds of clients that Drawbridge can connect, with their files, and the
 * changes that Drawbridge made.
 */
export type ListConfigs = { 
/**
 * The absolute path of a project whose files are listed too.
 */
project: string | null, environment: { [key in string]: string }, };

/**
 * `folders.list`: the shared folders, by path.
 */
export type ListFolders = Record<symbol, never>;

/**
 * `hooks.log`: the latest runs of hooks, at most 200, newest first. Drawbridge keeps the
 * latest 50 runs of each hook in memory.
 */
export type ListHookRuns = { 
/**
 * Only runs of this hook.
 */
name: string | null, };

/**
 * `hooks.samples`: a payload of each event with made-up values, as JSON text.
 */
export type ListHookSamples = Record<symbol, never>;

/**
 * `hooks.list`: all hooks, in the order in which they run.
 */
export type ListHooks = Record<symbol, never>;

/**
 * `approvals.last_calls`: the last five recorded requests of the client session to which a request
 * in the queue belongs, newest first. Empty if the request belongs to no session.
 */
export type ListLastCalls = { id: CallId, };

/**
 * `logs.list`: the newest lines that match, oldest first, and where the next older page begins.
 * Searches the lines in memory and the log files, but only a part of the files at once.
 */
export type ListLogs = { 
/**
 * Only lines of this server; the lines of the hub and of all servers if absent.
 */
server: ServerId | null, 
/**
 * Only lines of the hub's own log.
 */
hub_only: boolean, 
/**
 * Only lines that belong to this call.
 */
call: CallId | null, 
/**
 * Only lines of this kind.
 */
kind: LogKind | null, 
/**
 * No lines of this kind.
 */
except: LogKind | null, 
/**
 * Only lines of this level or a more serious level.
 */
level: Level | null, 
/**
 * Only lines that contain this text, in upper or lower case.
 */
text: string | null, 
/**
 * Only lines at or after this moment.
 */
since: Timestamp | null, 
/**
 * Only lines before this moment.
 */
until: Timestamp | null, 
/**
 * Only lines with a lower number: the `older` of the previous page.
 */
before: number | null, 
/**
 * The maximum number of lines to return: 500 by default, and 5,000 at most.
 */
limit: number | null, };

/**
 * `memory.list`: a page of entries, the newest first or, with a query, the best matches first.
 */
export type ListMemory = { 
/**
 * Only entries of this user.
 */
user: UserName | null, 
/**
 * Only entries whose content, category or tags contain at least one of these words. A word of
 * three letters or more also finds longer words that begin with this word.
 */
query: string | null, 
/**
 * Only entries of this category.
 */
category: string | null, 
/**
 * Only entries with all of these tags.
 */
tags: Array<string>, 
/**
 * Only entries that were last stored or changed at or after this moment.
 */
since: Timestamp | null, 
/**
 * Only entries that were last stored or changed before this moment.
 */
until: Timestamp | null, 
/**
 * The `next` of the previous page.
 */
cursor: MemoryCursor | null, 
/**
 * The maximum number of entries to return: 500 by default, and 500 at most.
 */
limit: number | null, };

/**
 * `memory.categories`: the categories of all users, by user and name.
 */
export type ListMemoryCategories = Record<symbol, never>;

/**
 * `approvals.missed`: the requests that nobody decided in time, and for which a person can
 * still allow an identical retry.
 */
export type ListMissed = Record<symbol, never>;

/**
 * `pairing.list`: the clients that ask to be paired, oldest first.
 */
export type ListPairings = Record<symbol, never>;

/**
 * `policy.list`: the defaults, and all rules that have not expired, oldest first.
 */
export type ListPolicy = Record<symbol, never>;

/**
 * `servers.presets`: the presets, and whether their prerequisites are present.
 */
export type ListPresets = Record<symbol, never>;

/**
 * `profiles.list`: all profiles, by name.
 */
export type ListProfiles = Record<symbol, never>;

/**
 * `calls.running`: the running calls of tools, oldest first.
 */
export type ListRunningCalls = Record<symbol, never>;

/**
 * `secrets.list`: the secrets to which specs, hooks, and headers for the collector of traces
 * refer.
 */
export type ListSecrets = Record<symbol, never>;

/**
 * `servers.list`: all servers, sorted by id.
 */
export type ListServers = Record<symbol, never>;

/**
 * `tools.list`: the tools that clients can see, of all accepted and enabled servers, in the order
 * in which clients get them.
 */
export type ListTools = Record<symbol, never>;

/**
 * A tool that clients can see, with the schema of its arguments.
 */
export type ListedTool = { input_schema: unknown, server: ServerId, 
/**
 * The server's own name of the tool.
 */
name: string, 
/**
 * The exposed name, such as `server__tool`: at most 64 characters of `[A-Za-z0-9_-]`. For a
 * hidden tool this is the name that the tool would have.
 */
exposed_name: string, 
/**
 * Why no client can see or call the tool; empty if clients can see it.
 */
hidden: string, 
/**
 * The acceptance state of the definition.
 */
acceptance: AcceptanceState, 
/**
 * About how many tokens a model spends on the tool's definition in a list.
 */
tokens: number, title: string | null, description: string, 
/**
 * Whether a call has to contain arguments. `tools.schema` has their schema.
 */
needs_arguments: boolean, annotations: Annotations, 
/**
 * The SHA-256 of the definition as the server sent it, in hex.
 */
digest: string, 
/**
 * The effect of the policy on calls of a client that has no rule of its own.
 */
effect: Effect, 
/**
 * The effect of the plain rule for exactly this tool and all clients, if there is one.
 */
own_effect: Effect | null, 
/**
 * The suspicious parts of the tool's definition.
 */
flags?: Array<ContentFlag>, };

/**
 * The state of a listener.
 */
export type ListenerHealth = { 
/**
 * `http` or `local`.
 */
name: string, 
/**
 * The URL of `http`, or the path of the socket of `local`.
 */
address: string, listening: boolean, 
/**
 * Why the listener does not listen; empty if it does.
 */
error: string, };

/**
 * JSON text as it was written, so that a number keeps its digits.
 */
export type Literal = unknown;

/**
 * Who wrote a line of the log, and how.
 */
export type LogKind = "hub" | "message" | "stderr" | "stdout";

/**
 * A line of the log.
 */
export type LogLine = { 
/**
 * The number of the line. The next line has the next number.
 */
seq: number, at: Timestamp, level: Level, 
/**
 * The server that wrote the line, or that the line concerns; `None` for a line about the hub.
 */
server: ServerId | null, kind: LogKind, 
/**
 * The part of the hub that wrote the line, or the name of the kind if the server wrote it.
 */
area: string, 
/**
 * The call to which the line belongs, if that is known.
 */
call?: CallId, 
/**
 * The text without line breaks. Secrets are masked, and control characters are escaped.
 */
text: string, };

/**
 * A part of the log.
 */
export type LogPage = { 
/**
 * The newest lines that match, oldest first. There may be fewer lines than requested, or none,
 * because one request searches only a part of the files.
 */
lines: Array<LogLine>, 
/**
 * The `before` of the next older page, or `None` if no older line matches.
 */
older: number | null, };

/**
 * An entry that Drawbridge keeps up to date.
 */
export type ManagedEntry = { 
/**
 * The name under which Drawbridge knows the client.
 */
client: ClientName, transport: ClientTransport, 
/**
 * Whether the entry tells the client to leave approval to Drawbridge.
 */
asks_once: boolean, 
/**
 * Whether Drawbridge restores the entry, without asking a person, if another program removes
 * or changes it.
 */
restores: boolean, connected_at: Timestamp, };

/**
 * A package or a remote of a manifest.
 */
export type ManifestChoice = { 
/**
 * A short label, such as `npx @scope/server@1.2.3` or a URL.
 */
label: string, 
/**
 * The whole command line or URL, with `<name>` in place of an input's value.
 */
preview: string, 
/**
 * The runtime that starts the package; null for a remote, or if Drawbridge does not know the
 * runtime.
 */
runtime: Runtime | null, inputs: Array<ManifestInput>, 
/**
 * Why the choice cannot be used, in plain words; empty if it can.
 */
problem: string, };

/**
 * An input, whose value a person enters or leaves empty.
 */
export type ManifestInput = { 
/**
 * The name, unique among the inputs of the same package or remote of the manifest.
 */
name: string, kind: InputKind, 
/**
 * The purpose, in the words of the manifest; may be empty.
 */
description: string, 
/**
 * Whether the server cannot be added without a value. A `default` counts as a value.
 */
required: boolean, 
/**
 * Whether the value is stored in the secret store and nowhere else.
 */
secret: boolean, 
/**
 * Whether several values may be entered, one per line.
 */
repeated: boolean, 
/**
 * The value that is used if none is entered.
 */
default: string | null, 
/**
 * The possible values; empty if any value is possible.
 */
choices: Array<string>, 
/**
 * An example to show in an empty field; may be empty.
 */
placeholder: string, format: InputFormat, 
/**
 * The smallest number that is allowed.
 */
min: number | null, 
/**
 * The largest number that is allowed.
 */
max: number | null, };

/**
 * The source of a manifest.
 */
export type ManifestSource = { "preset": string } | { "published": string } | { "text": string } | { "path": string };

/**
 * A server as its author describes it.
 */
export type ManifestView = { 
/**
 * The name in the manifest, such as `io.github.owner/server`.
 */
name: string, 
/**
 * The default name of the server in Drawbridge.
 */
title: string, description: string, version: string, 
/**
 * The packages and remotes of the server: at least one, but possibly none that can be used.
 */
choices: Array<ManifestChoice>, };

/**
 * A category of a user's entries.
 */
export type MemoryCategory = { user: UserName, name: string, 
/**
 * The number of entries.
 */
entries: number, 
/**
 * When an entry of the category was last stored or changed.
 */
updated_at: Timestamp, };

/**
 * The position of the next page of entries. Entries that are stored later do not appear on the
 * pages and do not shift them.
 */
export type MemoryCursor = { offset: number, 
/**
 * The highest id that existed when the first page was read.
 */
max_id: number, };

/**
 * The result of deleting entries.
 */
export type MemoryDeleted = { 
/**
 * The number of entries that were deleted. Ids without an entry are ignored.
 */
deleted: number, };

/**
 * An entry of the memory.
 */
export type MemoryEntry = { 
/**
 * No other entry ever gets this id, even after the entry is deleted.
 */
id: number, user: UserName, 
/**
 * The client that stored the entry; null if a person did.
 */
client: ClientName | null, content: string, category: string, 
/**
 * Sorted, without duplicates.
 */
tags: Array<string>, created_at: Timestamp, updated_at: Timestamp, };

/**
 * A page of entries.
 */
export type MemoryPage = { entries: Array<MemoryEntry>, 
/**
 * The position of the next page; null if this page is the last.
 */
next: MemoryCursor | null, };

/**
 * `servers.move_literals`: moves the values of a server's spec that look like secrets to the
 * secret store, and writes references in their place. An accepted server stays accepted.
 */
export type MoveLiterals = { id: ServerId, };

/**
 * An OAuth client that a person registered, for servers whose authorization server does not let
 * programs register themselves.
 */
export type OauthClient = { client_id: string, 
/**
 * The secret, if the client has one; preferably a `${keyring:NAME}`.
 */
client_secret?: string | null, 
/**
 * The port of the client's registered redirect URI `http://127.0.0.1:PORT/callback`. If it is
 * absent, any port is used, as authorization servers allow for native apps (RFC 8252).
 */
callback_port?: number | null, };

/**
 * The state of the copy of the official registry's list.
 */
export type OfficialRegistryView = { 
/**
 * The registry's address; empty if it is turned off.
 */
url: string, 
/**
 * When the list was refreshed last; null if it never was.
 */
refreshed_at: Timestamp | null, 
/**
 * Whether the whole list was read.
 */
complete: boolean, 
/**
 * Whether the list should be refreshed.
 */
stale: boolean, refreshing: boolean, 
/**
 * How many entries of the list Drawbridge cannot use.
 */
skipped: number, 
/**
 * Why the last refresh failed; empty if it did not.
 */
error: string, };

/**
 * Whether a call continues if a blocking hook fails.
 */
export type OnFailure = "allow" | "deny";

/**
 * `approvals.open_url`: accepts a server's request that the person visit a URL, and returns the
 * URL. The desktop app opens the URL in the browser.
 */
export type OpenApprovalUrl = { id: CallId, 
/**
 * The digest of the request that the person saw.
 */
digest: string, };

/**
 * `bundles.open`: reads and checks a bundle. Saves nothing and starts nothing.
 */
export type OpenBundle = { source: BundleSource, };

/**
 * `screens.open`: a link with a one-time code that signs a browser in to the screens. The code is
 * valid for one use within five minutes.
 */
export type OpenScreen = Record<symbol, never>;

/**
 * The outcome of a call.
 */
export type Outcome = "not_sent" | "running" | "ok" | "server_error" | "client_error" | "unreachable" | "unknown" | "timed_out" | "cancelled" | "withheld";

/**
 * The calls of tools since a moment.
 */
export type OverviewView = { since: Timestamp, calls: CallStats, 
/**
 * Whether the limit of 200,000 counted calls was reached, so that older calls may be missing.
 */
is_partial: boolean, };

/**
 * The result of answering a client that asks to be paired.
 */
export type PairingAnswered = { 
/**
 * The client that was added; null if the pairing was denied.
 */
client: ClientName | null, };

/**
 * The id of a client's request to be paired.
 */
export type PairingId = string;

/**
 * The program at the other end of a connection.
 */
export type PairingProgram = { pid: number, 
/**
 * The path of the executable file.
 */
executable: string, 
/**
 * The folder in which the program works; `None` if the system does not reveal the folder.
 */
folder: string | null, };

/**
 * A client that asks to be added.
 */
export type PairingRequest = { id: PairingId, 
/**
 * The name that the client gave itself. Any program may give any name.
 */
name: string, 
/**
 * The name that the client gets if the person enters no other name: the client's own name,
 * with a number if another client has that name.
 */
suggested_name: ClientName, 
/**
 * Whether the client sent a token of its own, which it keeps if the person approves. A client
 * that sent no token gets a new token.
 */
has_token: boolean, 
/**
 * The revoked client to which the token belonged; `None` if the token belonged to no client.
 */
revoked_client: ClientName | null, 
/**
 * The program that asks; `None` if the system does not reveal the program.
 */
program: PairingProgram | null, asked_at: Timestamp, 
/**
 * How long the request still waits, in milliseconds.
 */
remaining_ms: number, };

/**
 * A spec that was read from a text, or why the entry is invalid.
 */
export type ParsedSpec = { name: string, spec: ServerSpec | null, 
/**
 * Why the entry is invalid; empty if `spec` is set.
 */
problem: string, 
/**
 * The names in `env` and `headers` whose values are plain text and look like secrets.
 */
likely_secrets: Array<string>, 
/**
 * Sentences about values that were changed or ignored.
 */
notes: Array<string>, };

/**
 * `drawbridge.pause`: blocks all calls. Calls that wait for approval are denied, and calls in
 * flight are aborted. If calls are paused already, only the end of the pause changes.
 */
export type PauseCalls = { 
/**
 * How many seconds the pause lasts, from 1 to a week. If absent, the pause lasts until a
 * person resumes calls.
 */
for_s: number | null, };

/**
 * `servers.pin`: finds which versions of the `floating` packages and images are in use now, and
 * writes these versions or digests into the spec. If the server is accepted, so is the new spec.
 */
export type PinServer = { id: ServerId, };

/**
 * A policy file.
 */
export type PolicyFile = { 
/**
 * The content of the file, in JSON.
 */
text: string, };

/**
 * A policy for calls of tools: their default, and rules for all tools of a server.
 */
export type PolicyPreset = { "kind": "ask_all" } | { "kind": "ask_writes", trusted: Array<ServerId>, } | { "kind": "ask_listed", listed: Array<ServerId>, };

/**
 * Stats about the questions to a person.
 */
export type PolicyStats = { 
/**
 * One entry for each day, oldest first, including days on which nobody was asked.
 */
days: Array<DayStats>, suggestions: Array<Suggestion>, 
/**
 * Whether there were too many requests to examine all. Older requests are then missing.
 */
is_partial: boolean, };

/**
 * The rules, and the defaults for requests that no rule matches. Deny takes precedence over allow,
 * and allow over ask.
 */
export type PolicyView = { defaults: DefaultEffects, rules: Array<RuleView>, };

/**
 * The predicate of a condition on one value of the arguments. If the value is a list, all
 * predicates but `equals` test its entries: for an allow, every entry has to match; for a deny or
 * an ask, one entry.
 */
export type Predicate = { "equals": Literal } | { "one_of": Array<Literal> } | { "path_within": string } | { "host": string } | { "between": { min?: Literal | null, max?: Literal | null, } } | { "matches": string };

/**
 * A check of a server and its outcome.
 */
export type PreflightCheck = { topic: PreflightTopic, status: CheckStatus, 
/**
 * The finding, as a sentence.
 */
text: string, 
/**
 * The remedy; empty if the status is `ok`.
 */
remedy: string, };

/**
 * The subject of a preflight check.
 */
export type PreflightTopic = "enabled" | "acceptance" | "program" | "runtime" | "version" | "variables" | "secrets" | "address" | "sign_in" | "sandbox";

/**
 * A preset: a server that is ready to be added.
 */
export type PresetView = { id: string, title: string, 
/**
 * The purpose of the server, in one sentence.
 */
description: string, choice: ManifestChoice, 
/**
 * The status of the server's runtime on this computer; null if it needs no runtime.
 */
runtime: RuntimeStatus | null, };

/**
 * `config.preview`: the changes that connecting or disconnecting a client would make. Changes
 * nothing.
 */
export type PreviewConfig = { kind: string, action: ConfigAction, 
/**
 * The path of the file, as `config.list` returns it; the client's global file if absent.
 */
path: string | null, 
/**
 * The absolute path of a project. If it is present, the client's file in this project is
 * meant, and `path` is ignored.
 */
project: string | null, 
/**
 * The name under which Drawbridge should know the client. If absent, Drawbridge uses the name
 * in the file's managed entry, or else the id of the kind.
 */
name: ClientName | null, transport: ClientTransport, 
/**
 * Whether to tell the client to leave approval to Drawbridge.
 */
ask_once: boolean, environment: { [key in string]: string }, };

/**
 * `config.preview_import`: the changes that importing these servers would make. Changes nothing.
 */
export type PreviewImport = { servers: Array<ChosenServer>, 
/**
 * Whether to remove the servers from the clients' files, and to connect the clients.
 */
connect: boolean, 
/**
 * Whether to tell the clients to leave approval to Drawbridge.
 */
ask_once: boolean, 
/**
 * The `kind`, `projects` and `environment` with which the servers were found.
 */
kind: string | null, projects: Array<string>, environment: { [key in string]: string }, };

/**
 * `policy.preview`: a dry run of a rule on past calls. Nothing is saved.
 */
export type PreviewRule = { rule: RuleSpec, };

/**
 * `approvals.preview`: the rule that a verdict on a request in the queue would make, and the past
 * calls that the rule would have matched. Nothing is decided.
 */
export type PreviewVerdict = { id: CallId, verdict: Verdict, };

/**
 * A named selection of servers and tools. A client that has this profile, or that works in the
 * profile's folder, can see nothing else.
 */
export type Profile = { name: string, 
/**
 * The tools of each server, by the server's own names. `None` stands for all tools, including
 * future tools.
 */
servers: { [key in ServerId]: Array<string> | null }, 
/**
 * The absolute path of the project folder to which the profile belongs, if it belongs to one.
 */
folder: string | null, };

/**
 * A profile, its clients, and the size of the list of its tools.
 */
export type ProfileView = { 
/**
 * The clients that use the profile.
 */
clients: Array<ClientName>, 
/**
 * The number of tools that the profile's clients see in their lists now.
 */
tools: number, 
/**
 * About how many tokens a model spends on the list of these tools.
 */
tokens: number, name: string, 
/**
 * The tools of each server, by the server's own names. `None` stands for all tools, including
 * future tools.
 */
servers: { [key in ServerId]: Array<string> | null }, 
/**
 * The absolute path of the project folder to which the profile belongs, if it belongs to one.
 */
folder: string | null, };

/**
 * The program of a local server.
 */
export type Program = { 
/**
 * The path at which the command was found; `None` if it was not found.
 */
path: string | null, 
/**
 * The path after all links are followed, if it differs from `path`.
 */
link_target: string | null, 
/**
 * The files whose content a person accepts: the program, unless it is a well-known runtime
 * such as `node` or `npx`, and the scripts among the arguments.
 */
files: Array<ProgramFile>, };

/**
 * A file, and the digest of its content.
 */
export type ProgramFile = { path: string, 
/**
 * The digest in hex; empty if the file cannot be read.
 */
sha256: string, };

/**
 * A program that a process started.
 */
export type ProgramUse = { path: string, refused: boolean, };

/**
 * How a published server is installed or reached.
 */
export type PublishedKind = "npm" | "pypi" | "oci" | "nuget" | "mcpb" | "remote" | "other";

/**
 * A server of the official registry, its manifest, and the runtimes that it needs.
 */
export type PublishedServerDetails = { server: PublishedServerView, manifest: ManifestView, 
/**
 * The runtimes of the choices, as they were found on this computer.
 */
runtimes: Array<RuntimeStatus>, };

/**
 * A server of the official registry.
 */
export type PublishedServerView = { 
/**
 * The full name, such as `io.github.owner/server`.
 */
name: string, title: string, 
/**
 * The namespace that the registry has checked, such as `io.github.owner`.
 */
publisher: string, description: string, version: string, kinds: Array<PublishedKind>, 
/**
 * Whether the server cannot be used without a secret.
 */
needs_secret: boolean, 
/**
 * Whether the publisher advises against using the server.
 */
deprecated: boolean, updated_at: Timestamp | null, 
/**
 * The address of the source code; empty if there is none, or if a browser may not open it.
 */
repository_url: string, 
/**
 * The address of the website; empty if there is none, or if a browser may not open it.
 */
website_url: string, 
/**
 * The registered servers that start the same package, or connect to the same URL.
 */
added: Array<ServerId>, 
/**
 * Why the server cannot be added, in plain words; empty if it can.
 */
problem: string, };

/**
 * `profiles.put`: saves a profile, replacing a profile of the same name. The change applies at
 * once.
 */
export type PutProfile = { profile: Profile, };

/**
 * `servers.read_manifest`: reads a manifest. Saves nothing and starts nothing.
 */
export type ReadManifest = { source: ManifestSource, };

/**
 * `resources.read`: reads a resource by hand, as a client named `command-line`. The policy applies
 * as for any other client.
 */
export type ReadResource = { 
/**
 * The URI of a listed resource, or a URI that matches a resource template.
 */
uri: string, };

/**
 * `servers.read_specs`: reads the `mcpServers` JSON of any client, the object of one server, or a
 * command line into specs. Saves nothing.
 */
export type ReadSpecs = { text: string, };

/**
 * `servers.record`: restarts a local server, and records everything that the server uses until the
 * server ends.
 */
export type RecordServer = { id: ServerId, };

/**
 * The recorded access of a run, or the reason why there is no record.
 */
export type RecordedAccess = { "summary": AccessSummary } | { "unavailable": string };

/**
 * `registry.refresh`: fetches the changes of the official registry's list, or the whole list. If
 * the copy is less than a day old, does nothing unless `force` is set. If another refresh runs,
 * only waits for its end.
 */
export type RefreshRegistry = { force: boolean, };

/**
 * A system call that a sandbox refuses, whatever its target is.
 */
export type RefusedCall = "internet_socket" | "local_socket" | "other_socket" | "io_uring";

/**
 * The servers in the registry, without the built-in servers.
 */
export type RegistryHealth = { servers_total: number, servers_enabled: number, };

/**
 * `folders.remove`: stops sharing a folder.
 */
export type RemoveFolder = { path: string, };

/**
 * `hooks.remove`: removes a hook, and the secrets that Drawbridge stored for the hook and that no
 * other hook uses.
 */
export type RemoveHook = { name: string, };

/**
 * `policy.remove`: removes the rules with exactly this scope.
 */
export type RemovePolicy = { server: ServerId | null, 
/**
 * The server's own name of the tool; only together with `server`.
 */
tool: string | null, client: ClientName | null, 
/**
 * The user to whom the client belongs.
 */
user: UserName | null, 
/**
 * The kind of requests; not together with `tool`.
 */
kind: RequestKind | null, };

/**
 * `profiles.remove`: removes a profile. Each client with this profile sees nothing until a person
 * assigns another profile, or chooses that the client has no profile.
 */
export type RemoveProfile = { name: string, };

/**
 * `secrets.remove`: deletes a secret's value from the secret store.
 */
export type RemoveSecret = { name: string, 
/**
 * Whether the value is deleted even if something refers to it.
 */
even_if_used?: boolean, };

/**
 * `servers.remove`: ends a server's sessions, and removes the server's spec file and everything
 * that is stored for the server: secrets, sign-in, rules, copy, access report, log and unpacked
 * bundles. Secrets to which something else refers stay, and so does a sign-in that another server
 * shares.
 */
export type RemoveServer = { id: ServerId, };

/**
 * `secrets.rename`: gives a secret another name in the secret store, and changes the references of
 * all servers. An accepted server stays accepted. A secret cannot be renamed if a hook or a header
 * for the collector of traces refers to it.
 */
export type RenameSecret = { name: string, new_name: string, };

/**
 * `hooks.reorder`: moves a hook to another position in the order in which hooks run.
 */
export type ReorderHook = { name: string, 
/**
 * The new position, counted from 0.
 */
position: number, };

/**
 * The kind of a guarded request. Each kind has its own default, and a rule may cover one kind
 * only.
 */
export type RequestKind = "tools" | "prompts" | "resources" | "sampling" | "elicitation" | "roots";

/**
 * `backup.reset`: deletes secrets at once, and prepares the deletion of the other parts for the
 * next start, which keeps the replaced contents in a folder `replaced-…`.
 */
export type ResetDataFolder = { 
/**
 * The parts to delete; at least one.
 */
parts: Array<ResetPart>, };

/**
 * A part of Drawbridge's data that a reset can delete.
 */
export type ResetPart = "records" | "settings" | "rules" | "clients" | "servers" | "memory" | "secrets";

/**
 * `servers.restart`: ends the server's session and starts a new one.
 */
export type RestartServer = { id: ServerId, };

/**
 * `backup.restore`: checks a whole archive, and prepares its restore, which the next start
 * performs.
 */
export type RestoreBackup = { 
/**
 * The path of the archive on the computer of the hub.
 */
file: string, };

/**
 * The effect of the policy on the result of a call.
 */
export type ResultEffect = "mask" | "hold";

/**
 * The shape in which `tools.call` answers.
 */
export type ResultFormat = "mcp" | "unified";

/**
 * `drawbridge.resume`: allows calls again.
 */
export type ResumeCalls = Record<symbol, never>;

/**
 * The permission to retry a request.
 */
export type RetryAllowed = { 
/**
 * How long the permission lasts, in seconds.
 */
seconds: number, };

/**
 * `clients.revoke`: ends a client's token and sessions at once. Also deletes the client's rules,
 * its assignment to a profile, and the lists and results that Drawbridge keeps for the client.
 */
export type RevokeClient = { name: ClientName, };

/**
 * `clients.rotate`: gives a client a new token, and writes it to the files that Drawbridge manages
 * for this client. The old token is valid until the new token is used, at most for 24 hours.
 */
export type RotateClient = { name: ClientName, 
/**
 * A token of the person's choice, with at least 32 characters; a random token if absent.
 */
token: string | null, 
/**
 * How long the new token is valid, in seconds, or 0 for a token without an end. If it is
 * absent, the new token gets the lifetime that the old token had.
 */
lifetime_s: number | null, };

/**
 * The id of a rule of the policy.
 */
export type RuleId = string;

/**
 * A rule as a person writes it.
 */
export type RuleSpec = { 
/**
 * Whether the rule covers only tools that their server marks read-only.
 */
read_only: boolean, 
/**
 * The conditions, all of which have to hold.
 */
conditions: Array<Condition>, 
/**
 * The effect on the call; `None` leaves it to other rules.
 */
effect: Effect | null, 
/**
 * The effect on the result; `None` leaves it to other rules.
 */
result: ResultEffect | null, lifetime: Lifetime, 
/**
 * The user's note.
 */
note: string, 
/**
 * Whether a person switched the rule off. The rule then matches nothing.
 */
disabled?: boolean, server: ServerId | null, 
/**
 * The server's own name of the tool; only together with `server`.
 */
tool: string | null, client: ClientName | null, 
/**
 * The user to whom the client belongs.
 */
user: UserName | null, 
/**
 * The kind of requests; not together with `tool`.
 */
kind: RequestKind | null, };

/**
 * A rule and its present state.
 */
export type RuleView = { id: RuleId, 
/**
 * Whether the rule covers only tools that their server marks read-only.
 */
read_only: boolean, conditions: Array<Condition>, 
/**
 * The effect on requests; null if the rule leaves it to other rules.
 */
effect: Effect | null, 
/**
 * The effect on results; null if the rule leaves it to other rules.
 */
result: ResultEffect | null, lifetime: Lifetime, note: string, 
/**
 * The rule in words, on one line.
 */
text: string, created_at: Timestamp, 
/**
 * How many more calls the rule can decide; null if their number is not limited.
 */
remaining: number | null, 
/**
 * Whether the rule allows calls, but its tool or server has changed since the rule was made.
 * The rule then allows nothing until a person accepts the change.
 */
suspended: boolean, 
/**
 * Whether a person switched the rule off.
 */
disabled: boolean, server: ServerId | null, 
/**
 * The server's own name of the tool; only together with `server`.
 */
tool: string | null, client: ClientName | null, 
/**
 * The user to whom the client belongs.
 */
user: UserName | null, 
/**
 * The kind of requests; not together with `tool`.
 */
kind: RequestKind | null, };

/**
 * A reason to ask again before a rule is saved.
 */
export type RuleWarning = { "kind": "allows_all_tools" } | { "kind": "unknown_server", server: ServerId, 
/**
 * The id of the server whose id or name is most similar.
 */
similar: ServerId | null, } | { "kind": "unknown_tool", server: ServerId, tool: string, 
/**
 * The most similar name.
 */
similar: string | null, };

/**
 * `doctor.run`: runs all checks. Takes a few seconds, because it starts each runtime once.
 */
export type RunDoctor = Record<symbol, never>;

/**
 * A running call.
 */
export type RunningCallView = { call: Call, 
/**
 * How long the call has run, in milliseconds.
 */
running_ms: number, 
/**
 * The latest progress that the server reported. Servers report progress only if the client
 * asks for it.
 */
progress: CallProgress | null, };

export type Runtime = "npx" | "uvx" | "docker" | "node" | "python" | "dnx";

/**
 * A runtime, as Drawbridge found it in the environment of servers.
 */
export type RuntimeStatus = { runtime: Runtime, 
/**
 * The path of the program, if it is installed.
 */
path: string | null, version: string | null, 
/**
 * The reason in plain words why the runtime cannot be used; empty if it can.
 */
problem: string, 
/**
 * A remedy for the problem; empty if there is none to suggest.
 */
remedy: string, };

/**
 * The provider's answer to the test request.
 */
export type SamplingCheck = { 
/**
 * The model as the provider names it.
 */
model: string, text: string, 
/**
 * The tokens that the provider counted; 0 if it counts none.
 */
tokens: number, };

/**
 * The provider without its key, the limits of the budget, and today's use of the budget.
 */
export type SamplingView = { 
/**
 * Whether the provider may answer, if it is set up.
 */
enabled: boolean, 
/**
 * The base URL; empty for none.
 */
url: string, 
/**
 * The models that servers may use, the default model first.
 */
models: Array<string>, 
/**
 * Whether the models see images.
 */
images: boolean, 
/**
 * Whether the models get the tools of servers' requests.
 */
tools: boolean, 
/**
 * How long the provider may send nothing while it answers, in seconds.
 */
timeout_s: number, 
/**
 * Whether the secret store has the provider's key; null if the store cannot be read.
 */
has_key: boolean | null, 
/**
 * Whether the provider is set up and enabled.
 */
is_on: boolean, 
/**
 * The maximum number of requests in a day; 0 means no limit.
 */
requests_per_day: number, 
/**
 * The maximum number of tokens in a day; 0 means no limit.
 */
tokens_per_day: number, requests_today: number, tokens_today: number, 
/**
 * When the budget is reset: the next midnight in UTC.
 */
resets_at: Timestamp, };

/**
 * The restrictions of a local server and of everything that it starts. An unknown member makes the
 * spec invalid, because a restriction that is not understood would not be enforced.
 */
export type Sandbox = { files: SandboxFiles, 
/**
 * Files and folders that the server may read, as absolute paths or beginning with `~/`.
 */
read?: Array<string>, 
/**
 * Files and folders that the server may read and write.
 */
write?: Array<string>, network: SandboxNetwork, 
/**
 * The TCP ports to which the server may connect.
 */
connect?: Array<number>, 
/**
 * The TCP ports on which the server may listen.
 */
bind?: Array<number>, 
/**
 * Whether the server may connect to the local sockets of other programs, such as the session
 * bus or Docker. These programs can do for the server what the sandbox forbids.
 */
local_sockets?: boolean, };

/**
 * The files that a server in a sandbox may use.
 */
export type SandboxFiles = "listed" | "all";

/**
 * The network that a server in a sandbox may use.
 */
export type SandboxNetwork = "all" | "listed" | "none";

/**
 * A sandbox for a server, proposed from the paths and addresses that a recorded run used.
 */
export type SandboxProposal = { sandbox: Sandbox, 
/**
 * The paths that the server used and the sandbox does not allow. A person may add them.
 */
excluded: Array<ExcludedPath>, };

/**
 * `policy.save`: adds a rule, or replaces a rule. The rule is bound to its server and its tool as
 * they are now.
 */
export type SaveRule = { 
/**
 * The rule to replace; a new rule if absent.
 */
id: RuleId | null, rule: RuleSpec, };

/**
 * A link that signs a browser in to the screens, and its code.
 */
export type ScreenLink = { 
/**
 * `http://HOST:PORT/#login=CODE`
 */
url: string, 
/**
 * The code in the link. A person can also type it on the sign-in page.
 */
code: string, };

/**
 * `registry.search`: searches the presets and the stored copy of the official registry's list.
 * Does not use the network.
 */
export type SearchRegistry = { 
/**
 * Words that all have to occur in the name, the title or the description.
 */
text: string, 
/**
 * Only servers with a package or remote of this kind.
 */
kind: PublishedKind | null, 
/**
 * Only servers that cannot (`true`) or can (`false`) be used without a secret.
 */
needs_secret: boolean | null, offset: number, 
/**
 * At most 100; 30 by default.
 */
limit: number | null, };

/**
 * The result of changing the store of the secrets.
 */
export type SecretStoreChange = { store: SecretStoreView, 
/**
 * The names of the secrets that were moved, or that are in the file that got another key.
 */
moved: Array<string>, 
/**
 * The names under which the keyring may have secrets that were not moved, because no keyring
 * runs.
 */
unread: Array<string>, 
/**
 * The names of the secrets that were moved but could not be removed from the keyring.
 */
not_removed: Array<string>, 
/**
 * The spec files that cannot be read. The names of their secrets are not known, so these
 * secrets were not moved.
 */
broken_files: Array<string>, };

/**
 * A kind of secret store.
 */
export type SecretStoreKind = "keyring" | "file";

/**
 * The state of the secret store.
 */
export type SecretStoreStatus = "ready" | "locked" | "absent" | "unusable";

/**
 * The secret store, and whether secrets can be read.
 */
export type SecretStoreView = { kind: SecretStoreKind, status: SecretStoreStatus, 
/**
 * The path of the encrypted file, if it is in use.
 */
file: string | null, 
/**
 * Why no secret can be read; empty if secrets can be read.
 */
problem: string, 
/**
 * How to solve the problem; empty if there is none.
 */
remedy: string, 
/**
 * Whether the file is locked until a person types its passphrase.
 */
needs_passphrase: boolean, };

/**
 * Values for the secret store, grouped by their destination in the spec: environment variables,
 * headers, and the OAuth client. The spec gets `${keyring:NAME}` in place of each value. The
 * values are never logged, and never written to the spec file.
 */
export type SecretValues = { env: { [key in string]: string }, headers: { [key in string]: string }, 
/**
 * The secret of the spec's OAuth client.
 */
oauth_client?: string | null, 
/**
 * Whether to move the values in the spec that look like secrets to the secret store too.
 */
move_literals?: boolean, };

/**
 * A secret that something refers to as `${keyring:NAME}`.
 */
export type SecretView = { name: string, 
/**
 * Whether the secret store has a value; null if the store cannot be read.
 */
present: boolean | null, 
/**
 * The servers that refer to the secret.
 */
servers: Array<ServerId>, 
/**
 * The part of `servers` that may not read the secret now, because nobody has accepted these
 * servers as they are.
 */
not_granted?: Array<ServerId>, 
/**
 * The hooks that refer to the secret.
 */
hooks?: Array<string>, 
/**
 * Whether a header for the collector of traces refers to the secret.
 */
traces: boolean, };

/**
 * The state of a server.
 */
export type ServerHealth = { id: ServerId, state: ServerState, };

/**
 * The id of a server, in `[a-z0-9_-]`: the name of its spec file without `.json`, or the id of
 * a built-in server, which has no file.
 */
export type ServerId = string;

/**
 * The sign-in state of a server.
 */
export type ServerSignIn = { "kind": "none" } | { "kind": "needed" } | { "kind": "signed_in", issuer: string, 
/**
 * The moment when the token expires. Drawbridge refreshes it earlier if the authorization
 * server issued a refresh token.
 */
expires_at: Timestamp | null, };

/**
 * A server as its spec file describes it. A local server has a `command`, and a remote server a
 * `url`. A spec that has both, and a `transport`, describes a program that Drawbridge starts and
 * that serves this URL on this computer.
 *
 * References to secrets, such as `${keyring:NAME}`, may be in the values of `env`, `headers` and
 * `args`, in `bearer_token`, in the OAuth client secret, and in the user, password, path and query
 * of `url`. Drawbridge replaces the references when it starts the server or connects to it, and
 * never writes the secrets to the file.
 */
export type ServerSpec = { 
/**
 * The name to show to people. The id is the file's name.
 */
name?: string, command?: string | null, args?: Array<string>, env?: { [key in string]: string }, 
/**
 * The variables of `env` without which the server must not start, as its manifest declares.
 */
required_env?: Array<string>, 
/**
 * The working folder; if it is absent, the user's home, or the server's own folder if
 * `sandbox.files` is `listed`.
 */
cwd?: string | null, url?: string | null, headers?: { [key in string]: string }, 
/**
 * Sent as `Authorization: Bearer …`; preferably a `${keyring:NAME}`.
 */
bearer_token?: string | null, 
/**
 * The client that a person registered for Drawbridge at the server's authorization server.
 */
oauth?: OauthClient | null, 
/**
 * Inferred from `command` or `url` if it is absent: `http` for a URL.
 */
transport?: TransportKind | null, 
/**
 * The protocol revision to use with the server, such as `2025-06-18`. Negotiated if it is
 * absent.
 */
protocol_version?: string | null, 
/**
 * The program that runs the server, such as `npx`. The program has to be installed, and may
 * download the server at the first start. Inferred from `command` if it is absent.
 */
runtime_hint?: Runtime | null, 
/**
 * Whether a person replaces the program or script on purpose, for instance while developing
 * it. A replaced program then starts without being accepted again.
 */
program_changes?: boolean, 
/**
 * The restrictions of a local server's processes. If they are absent, the processes may use
 * everything that the user may use.
 */
sandbox?: Sandbox | null, enabled?: boolean, lifecycle?: Lifecycle, isolation?: Isolation, timeouts?: Timeouts, 
/**
 * How often a failed start is tried again, with growing delays. After the last failure, the
 * server is not started until the next call.
 */
retries?: number, visibility?: Visibility, definitions?: DefinitionPolicy, validate?: Validate, 
/**
 * How Drawbridge treats suspicious texts of the server.
 */
content_defence?: ContentDefence, 
/**
 * The tools that clients may see and call, by the server's own names; all tools if it is
 * absent.
 */
allowed_tools?: Array<string> | null, 
/**
 * The text before `__` in the exposed names of the server's tools and prompts; the server's id
 * if it is absent. An empty prefix exposes the bare names. If two servers want the same bare
 * name, the server that was accepted first has the name.
 */
prefix?: string | null, 
/**
 * The servers whose tool of the same name is tried, in this order, if this server cannot be
 * reached.
 */
fallback?: Array<ServerId>, 
/**
 * How long the catalog's copy of the server counts as fresh, in milliseconds. If it is absent,
 * the setting for all servers applies.
 */
cache_ttl_ms?: number | null, 
/**
 * How long Drawbridge may answer from its cache instead of reading a resource again or calling
 * a read-only, idempotent tool again, in milliseconds; 0 for not at all.
 */
cache_results_ms?: number, 
/**
 * The built-in server that the spec describes. Only Drawbridge sets this field. A spec from
 * anywhere else is invalid if it has the field.
 */
builtin?: BuiltIn | null, };

/**
 * The state of a server session, or the reason why there can be no session.
 */
export type ServerState = "idle" | "initializing" | "active" | "error" | "closed" | "disabled" | "needs_acceptance" | "needs_secret" | "needs_sign_in";

/**
 * The present usage of a local server's processes and of all processes that they started.
 */
export type ServerUsage = { id: ServerId, 
/**
 * The number of processes.
 */
processes: number, 
/**
 * The resident memory in KiB. Memory that several processes share counts for each of them.
 */
memory_kib: number, 
/**
 * The CPU usage since the previous measurement, in percent of one core; 0 at the first
 * measurement. The previous measurement may have been for another caller.
 */
cpu_percent: number, };

/**
 * The spec and the state of a server.
 */
export type ServerView = { id: ServerId, name: string, spec: ServerSpec, 
/**
 * The path of the server's spec file; empty for a built-in server, which has none.
 */
file: string, acceptance: AcceptanceState, 
/**
 * The digest of all that a person accepts: the spec and what it starts or connects to. A
 * request to `servers.accept` has to contain the digest.
 */
identity: string, 
/**
 * The program of a local server: the accepted program or, if the server is not accepted, the
 * program that would start now. Null for a remote server, or if the program is not known yet.
 */
program: Program | null, 
/**
 * The packages and images that the spec starts without an exact version: another version may
 * run at the next start.
 */
floating: Array<string>, 
/**
 * How the spec differs from the spec that a person accepted last; empty if nobody has accepted
 * a spec. A change that only narrows what the server can do is listed, but need not be
 * accepted.
 */
changes: Array<SpecChange>, 
/**
 * The secrets to which the spec refers and that are not the server's own: their names do not
 * begin with the server's id and a dot. A person has to grant each of them.
 */
foreign_secrets: Array<string>, 
/**
 * The places in the spec, such as `argument 2`, with a plain text that looks like a secret.
 */
literal_secrets: Array<string>, state: ServerState, 
/**
 * Why the server is in this state, in plain words; empty if there is nothing to report.
 */
reason: string, 
/**
 * The action for a person to take; empty if there is nothing to do.
 */
remedy: string, 
/**
 * When the server may be started again after a failure.
 */
retry_at: Timestamp | null, 
/**
 * Whether the server crashed so often that no request starts it before `retry_at`.
 */
crashed_often: boolean, 
/**
 * The latest state transitions of the server's sessions, oldest first.
 */
transitions: Array<Transition>, 
/**
 * The sign-in state of the server.
 */
sign_in: ServerSignIn, 
/**
 * The latest attempt to sign in, if there is one.
 */
signing_in: SignIn | null, 
/**
 * The process id of a running local server.
 */
pid: number | null, 
/**
 * The restrictions that are enforced besides those in the spec, for a local server that runs
 * in a sandbox now.
 */
sandbox: EnforcedSandbox | null, sync_status: SyncStatus, last_synced_at: Timestamp | null, 
/**
 * Whether the catalog's copy of the server is outdated or older than its time to live. Clients
 * get a stale copy while a refresh runs in the background.
 */
stale: boolean, 
/**
 * The name that the server reported.
 */
server_name: string | null, server_version: string | null, protocol_version: string | null, 
/**
 * The instructions for a model that the server sent when it was connected, at most 16 KiB.
 */
instructions: string | null, tools: Array<ToolView>, 
/**
 * About how many tokens a model spends on the list of the server's tools that clients see; 0
 * if the server is deferred, because its tools are then not listed.
 */
tokens: number, 
/**
 * The new and changed definitions that a person has not accepted yet.
 */
unaccepted: Array<UnacceptedDefinition>, 
/**
 * The entries of the server's lists that are not in the catalog, each with the reason. Tools
 * that the spec's `allowed_tools` excludes are not among them.
 */
excluded: ExcludedEntries, 
/**
 * The number of non-JSON-RPC lines on the server's stdout since the hub started.
 */
non_jsonrpc_lines: number, 
/**
 * How often the server was started since the hub started.
 */
starts: number, };

export type ServersHealth = { 
/**
 * The number of servers in the state `active`.
 */
connected: number, 
/**
 * The number of servers that are in the state `error`, or that need a secret or a sign-in,
 * plus the number of spec files that cannot be read.
 */
errors: number, 
/**
 * The state of each server. The list is empty if the caller is not an administrator.
 */
states: Array<ServerHealth>, };

/**
 * All servers, and the spec files that cannot be read.
 */
export type ServersView = { servers: Array<ServerView>, broken: Array<BrokenSpec>, };

/**
 * The id of a client session.
 */
export type SessionId = string;

/**
 * `clients.set_user`: gives a client to another user. The client's sessions end, and the lists and
 * results that Drawbridge keeps for the client are deleted, because they may contain data of the
 * previous user.
 */
export type SetClientUser = { name: ClientName, user: UserName, };

/**
 * `policy.set_default`: sets the effect on requests of a kind that no rule matches.
 */
export type SetDefaultPolicy = { effect: Effect, 
/**
 * The kind of request; calls of tools if absent.
 */
kind: RequestKind | null, };

/**
 * `policy.set`: sets the plain rule of a scope, replacing the previous plain rule. A plain rule
 * has an effect on requests and nothing else: no conditions, no limit to read-only tools, no
 * effect on results, and no end.
 */
export type SetPolicy = { effect: Effect, server: ServerId | null, 
/**
 * The server's own name of the tool; only together with `server`.
 */
tool: string | null, client: ClientName | null, 
/**
 * The user to whom the client belongs.
 */
user: UserName | null, 
/**
 * The kind of requests; not together with `tool`.
 */
kind: RequestKind | null, };

/**
 * `config.set_restores`: sets whether Drawbridge restores an entry, without asking a person, if
 * another program removes or changes it. An entry that contains a token cannot be restored.
 */
export type SetRestores = { path: string, restores: boolean, };

/**
 * `secrets.set`: stores a value in the secret store.
 */
export type SetSecret = { name: string, value: string, };

/**
 * The settings, and general facts about this hub.
 */
export type SettingsView = { 
/**
 * The effect on a call of a tool that no rule matches.
 */
default_policy: Effect, 
/**
 * The time that a person has to decide, in seconds.
 */
approval_timeout_s: number, 
/**
 * How long the cached lists of a server count as fresh, in seconds.
 */
cache_ttl_s: number, 
/**
 * The https URL of a document that describes Drawbridge to authorization servers (a client
 * id metadata document). If the URL is empty, Drawbridge registers itself.
 */
oauth_client_metadata_url: string, 
/**
 * How many days calls and other audit entries are kept; 0 means forever.
 */
audit_retention_days: number, 
/**
 * How many MiB calls and other audit entries may take on the disk; 0 means no limit.
 */
records_max_mib: number, 
/**
 * Whether the results of calls are kept.
 */
keep_results: boolean, 
/**
 * How many KiB of a result are kept.
 */
kept_result_kib: number, 
/**
 * How many days results are kept.
 */
kept_results_days: number, 
/**
 * How many days log files are kept; 0 means forever.
 */
log_retention_days: number, 
/**
 * How many MiB all log files may take on the disk; 0 means no limit.
 */
logs_max_mib: number, 
/**
 * The URL of the collector that gets traces (OTLP over HTTP); empty if traces are off.
 */
otlp_endpoint: string, 
/**
 * The headers of requests to the collector. Secrets are references, `${keyring:otlp.NAME}`.
 */
otlp_headers: { [key in string]: string }, 
/**
 * Whether traces contain arguments and results.
 */
otlp_content: boolean, 
/**
 * The port to which clients connect, unless the hub was started with another port.
 */
port: number, 
/**
 * The hosts, besides this computer's own, under which the endpoint answers: `NAME` (with the
 * port of the listener) or `NAME:PORT`.
 */
allowed_hosts: Array<AllowedHost>, 
/**
 * The hosts with which the hub was started. These hosts are not stored.
 */
started_with_hosts: Array<AllowedHost>, 
/**
 * The folders that servers get as roots if the client offers no roots, as `file://` URLs.
 */
roots: Array<string>, 
/**
 * Whether Drawbridge asks a person for the input that a server requests, if the client cannot
 * ask.
 */
elicitation_forms: boolean, 
/**
 * The address of the official registry; empty if it is turned off.
 */
official_registry_url: string, version: string, data_dir: string, 
/**
 * The URL to which clients connect; null if the endpoint does not listen for HTTP.
 */
url: string | null, 
/**
 * Whether the secrets can be read, from the keyring or from the encrypted file.
 */
secret_store_status: SecretStoreStatus, 
/**
 * How to make the secrets readable; empty if they can be read.
 */
secret_store_remedy: string, 
/**
 * The place and the state of the secret store. Its `status` is `secret_store_status`.
 */
secret_store: SecretStoreView, 
/**
 * The path of the `drawbridge` command on the computer of the hub; null if it is not in the
 * folder of the program that runs the hub.
 */
command: string | null, 
/**
 * Whether a terminal with the `PATH` of the hub finds that command by its name.
 */
command_in_path: boolean, };

/**
 * `servers.access_report`: the files, addresses and programs that a local server used in its
 * latest recorded run, and a proposed sandbox. The first run of a new or changed server is
 * recorded, and each following run until one of these runs leads to a connection. `servers.record`
 * records another run.
 */
export type ShowAccessReport = { id: ServerId, };

/**
 * `approvals.show`: one request in the queue.
 */
export type ShowApproval = { id: CallId, };

/**
 * `calls.show`: one call, with its arguments as they are stored.
 */
export type ShowCall = { id: CallId, };

/**
 * `calls.stats`: the counts and durations of calls of tools in a period, in total, for each step
 * of the period, and by client, server or tool.
 */
export type ShowCallStats = { period: StatsPeriod, 
/**
 * How the calls are grouped.
 */
group_by: StatsGroup, client: ClientName | null, server: ServerId | null, 
/**
 * The server's own name of the tool.
 */
tool: string | null, };

/**
 * `servers.capabilities`: the definitions that a server offered at the latest refresh. Starts no
 * server.
 */
export type ShowCapabilities = { id: ServerId, };

/**
 * `config.show`: the configuration for a client, to paste. The configuration contains no token,
 * because the client starts the stdio bridge, which needs none.
 */
export type ShowConfig = { kind: string, };

/**
 * `servers.definition_history`: the versions of a definition, newest first.
 */
export type ShowDefinitionHistory = { id: ServerId, kind: DefinitionKind, 
/**
 * The server's own name of a tool or a prompt, the URI of a resource, the URI template of a
 * resource template, or `instructions`.
 */
name: string, };

/**
 * `drawbridge.show`: whether all calls are paused.
 */
export type ShowDrawbridge = Record<symbol, never>;

/**
 * `health.show`: the health of the hub.
 */
export type ShowHealth = Record<symbol, never>;

/**
 * `memory.show`: one entry.
 */
export type ShowMemory = { id: number, };

/**
 * `overview.show`: the calls of tools since a moment, such as the beginning of the person's day.
 * The hub does not know the person's time zone.
 */
export type ShowOverview = { 
/**
 * At most two days ago; an earlier moment counts as two days ago.
 */
since: Timestamp, };

/**
 * `policy.stats`: stats of the latest calls that a person had to decide, and the rules that
 * these calls suggest.
 */
export type ShowPolicyStats = { 
/**
 * The number of days, including today: 14 by default, and 90 at most.
 */
days: number | null, };

/**
 * `registry.show`: one server of the official registry, from the stored copy.
 */
export type ShowPublishedServer = { name: string, };

/**
 * `sampling.show`: the provider and its budget.
 */
export type ShowSampling = Record<symbol, never>;

/**
 * `secrets.show_store`: where secrets are stored, and whether they can be read.
 */
export type ShowSecretStore = Record<symbol, never>;

/**
 * `servers.show`: one server.
 */
export type ShowServer = { id: ServerId, };

/**
 * `settings.show`: the settings, and general facts about this hub.
 */
export type ShowSettings = Record<symbol, never>;

/**
 * `tools.schema`: the JSON Schema of a tool's arguments, as the server sent it at the latest
 * refresh. Starts no server.
 */
export type ShowToolSchema = { server: ServerId, 
/**
 * The server's own name of the tool.
 */
name: string, };

/**
 * `servers.usage`: the usage of each local server that runs. To follow the usage, repeat the
 * request every second or two.
 */
export type ShowUsage = Record<symbol, never>;

/**
 * An attempt to sign in to a server. A server has at most one attempt at a time.
 */
export type SignIn = { id: SignInId, 
/**
 * The page on which the person signs in, to be opened in a browser.
 */
url: string, state: SignInState, };

/**
 * The id of an attempt to sign in to a server.
 */
export type SignInId = string;

/**
 * `servers.sign_in`: starts an attempt to sign in to a remote server, or returns the attempt that
 * is in progress. A person has to open the answer's URL in a browser; the desktop app and the
 * command line open the URL themselves.
 */
export type SignInServer = { id: ServerId, };

/**
 * The state of an attempt.
 */
export type SignInState = { "kind": "waiting_for_browser" } | { "kind": "exchanging" } | { "kind": "done" } | { "kind": "failed", reason: string, };

/**
 * `browsers.sign_out_all`: signs all browsers out.
 */
export type SignOutAllBrowsers = Record<symbol, never>;

/**
 * `browsers.sign_out`: signs a browser out. The browser's token becomes invalid and its open pages
 * are disconnected at once.
 */
export type SignOutBrowser = { id: BrowserId, };

/**
 * `servers.sign_out`: deletes the tokens of a server and ends its session.
 */
export type SignOutServer = { id: ServerId, };

/**
 * A field of a spec that differs from the accepted spec.
 */
export type SpecChange = { 
/**
 * A JSON pointer into the file, such as `/args` or `/env/TOKEN`.
 */
field: string, 
/**
 * The accepted value; null if the field was not set.
 */
accepted: unknown, 
/**
 * The offered value; null if the field is not set.
 */
offered: unknown, };

/**
 * A fault of a spec's text, and its position.
 */
export type SpecFault = { 
/**
 * The line of the fault, counted from 1; 0 if the fault has no position.
 */
line: number, column: number, message: string, };

export type StatsGroup = "client" | "server" | "tool";

/**
 * A span of time, and the steps of its series. The last step contains the present moment.
 */
export type StatsPeriod = "hour" | "day" | "week" | "month";

export type StorageHealth = { 
/**
 * The number of users who have a client with an open session.
 */
active_users: number, };

/**
 * A rule that would have given the same answers as the person.
 */
export type Suggestion = { rule: RuleSpec, 
/**
 * The rule in words.
 */
text: string, 
/**
 * How many of the person's approvals the rule would have saved.
 */
approved: number, 
/**
 * How many past calls the rule would have matched: of the newest 1,000 of its scope.
 */
matched: number, };

/**
 * An allow that no longer applies because the tool or its server has changed.
 */
export type SuspendedAllow = { rule: RuleId, 
/**
 * The rule in words.
 */
rule_text: string, 
/**
 * Whether the server would now start or connect to something else.
 */
is_server_changed: boolean, 
/**
 * The tool's definition for which the allow was given, and the current definition, as JSON
 * text. `None` if they are the same, or if the earlier definition is not stored.
 */
definitions: [string, string] | null, };

/**
 * `servers.sync`: refreshes the catalog's copy of a server.
 */
export type SyncServer = { id: ServerId, };

/**
 * The state of the catalog's copy of a server.
 */
export type SyncStatus = "NEVER_SYNCED" | "SYNCING" | "SYNCED" | "FAILED";

/**
 * `config.test`: uses the entry in a client's file as the client would, and lists the tools.
 */
export type TestConfig = { kind: string, 
/**
 * As in `config.preview`.
 */
path: string | null, 
/**
 * As in `config.preview`.
 */
project: string | null, environment: { [key in string]: string }, };

/**
 * Timeouts in milliseconds.
 */
export type Timeouts = { 
/**
 * The time from the start to the answer to `initialize`.
 */
initialize_ms: number, 
/**
 * The time from sending a call to its answer, or to its next progress notification.
 */
call_ms: number, 
/**
 * The time from sending a call to its answer, regardless of progress. A longer `call_ms`, or a
 * longer value of the tool in `tools`, applies instead.
 */
total_ms: number, 
/**
 * Replaces `call_ms` for single tools, by the server's own names.
 */
tools: { [key in string]: number }, 
/**
 * The time without a request or a subscription after which the session ends.
 */
idle_ms: number, 
/**
 * The interval of pings to an idle server of the legacy era; 0 for no pings.
 */
ping_ms: number, 
/**
 * The time that a local server has to end by itself before it is killed.
 */
stop_ms: number, };

/**
 * A moment, in milliseconds since 1970-01-01 UTC.
 */
export type Timestamp = number;

/**
 * The result of a call of a tool through a client's entry.
 */
export type ToolResultView = { 
/**
 * The text blocks of the result, and the types of all other blocks.
 */
text: string, 
/**
 * Whether the tool or the call failed, or the call was denied.
 */
is_error: boolean, duration_ms: number, };

/**
 * A tool of a server, and the effect of the policy on its calls.
 */
export type ToolView = { server: ServerId, 
/**
 * The server's own name of the tool.
 */
name: string, 
/**
 * The exposed name, such as `server__tool`: at most 64 characters of `[A-Za-z0-9_-]`. For a
 * hidden tool this is the name that the tool would have.
 */
exposed_name: string, 
/**
 * Why no client can see or call the tool; empty if clients can see it.
 */
hidden: string, 
/**
 * The acceptance state of the definition.
 */
acceptance: AcceptanceState, 
/**
 * About how many tokens a model spends on the tool's definition in a list.
 */
tokens: number, title: string | null, description: string, 
/**
 * Whether a call has to contain arguments. `tools.schema` has their schema.
 */
needs_arguments: boolean, annotations: Annotations, 
/**
 * The SHA-256 of the definition as the server sent it, in hex.
 */
digest: string, 
/**
 * The effect of the policy on calls of a client that has no rule of its own.
 */
effect: Effect, 
/**
 * The effect of the plain rule for exactly this tool and all clients, if there is one.
 */
own_effect: Effect | null, 
/**
 * The suspicious parts of the tool's definition.
 */
flags?: Array<ContentFlag>, };

/**
 * A state transition of a server session.
 */
export type Transition = { at: Timestamp, 
/**
 * The client to which the session belongs; `None` if clients share the session.
 */
client: ClientName | null, 
/**
 * The new state: `idle`, `initializing`, `active`, `error` or `closed`.
 */
state: ServerState, 
/**
 * The reason in plain words.
 */
reason: string, };

/**
 * A transport between Drawbridge and a server.
 */
export type TransportKind = "stdio" | "http" | "sse";

/**
 * `hooks.try`: runs a hook, which need not be saved, and shows what the hook would do to a call.
 * No call is affected.
 */
export type TryHook = { hook: Hook, event: HookEvent, 
/**
 * The payload as JSON text; a sample if absent.
 */
payload: string | null, };

/**
 * `config.try_tool`: uses the entry in a client's file as the client would, and calls a tool.
 * The policy applies as for any call of this client.
 */
export type TryTool = { kind: string, 
/**
 * As in `config.preview`.
 */
path: string | null, server: ServerId, 
/**
 * The server's own name of the tool.
 */
tool: string, 
/**
 * A JSON object.
 */
arguments: unknown, environment: { [key in string]: string }, };

/**
 * A definition that waits for acceptance.
 */
export type UnacceptedDefinition = { 
/**
 * `new` or `changed`.
 */
acceptance: AcceptanceState, 
/**
 * The suspicious parts of the definition's texts.
 */
flags?: Array<ContentFlag>, 
/**
 * Whether the definition has to be accepted on its own, because it is flagged.
 */
needs_own_acceptance: boolean, kind: DefinitionKind, 
/**
 * The server's own name of a tool or a prompt, the URI of a resource, the URI template, or
 * `instructions`.
 */
name: string, 
/**
 * The SHA-256 of the definition, in hex.
 */
digest: string, };

/**
 * `config.undo`: undoes a change, removes the servers that were imported with it, and revokes the
 * client that was added with it. If the client existed before without a token, only its token
 * becomes invalid. If the change replaced the client's token, the new token stays valid, and the
 * old token, which is in the file again, may be invalid. If a file cannot be restored, the servers
 * stay until another attempt restores the file. Without `change`, undoes the latest change of this
 * kind of client, or the latest import if `kind` is absent too.
 */
export type UndoConfig = { change: string | null, kind: string | null, };

/**
 * How the change of one file was undone.
 */
export type UndoneFileView = { path: string, 
/**
 * Null if the change was not undone.
 */
outcome: FileOutcome | null, 
/**
 * Why the change was not undone; null if it was.
 */
error: string | null, };

/**
 * The result of undoing a change.
 */
export type UndoneView = { change: ClientChangeView, files: Array<UndoneFileView>, };

/**
 * `secrets.unlock`: unlocks the encrypted file with its passphrase, until the hub ends.
 */
export type UnlockSecrets = { passphrase: string, };

/**
 * `clients.unmute`: ends a client's mute at once.
 */
export type UnmuteClient = { name: ClientName, };

/**
 * A file that could not be read.
 */
export type UnreadableFileView = { file: string, reason: string, };

/**
 * `servers.update`: replaces a server's spec. The new spec is accepted unless `pending` is set.
 */
export type UpdateServer = { id: ServerId, spec: ServerSpec, secrets: SecretValues, 
/**
 * Whether the server has to wait for acceptance if the new spec lets the server do more.
 */
pending: boolean, 
/**
 * The foreign secrets that the server may use from now on, in addition to those that a person
 * granted to the server before.
 */
grant_secrets: Array<string>, };

/**
 * `secrets.use_store`: moves the secrets to the keyring, or to an encrypted file with this key. If
 * the secrets are in the file already, gives the file another key. The paths are paths on the
 * hub's computer. If no key for the file is given, the environment of the hub has to name one.
 */
export type UseSecretStore = { kind: SecretStoreKind, 
/**
 * An absolute path of an age identity, which is created if it does not exist.
 */
key_file?: string, 
/**
 * An absolute path of a file with a passphrase.
 */
passphrase_file?: string, 
/**
 * A passphrase that a person has to type again after each start of the hub.
 */
passphrase?: string, };

/**
 * The name of a user, to whom clients belong.
 */
export type UserName = string;

/**
 * How closely the arguments of a call have to match the tool's schema. The arguments are always
 * sent byte for byte.
 */
export type Validate = "strict" | "coercible" | "off";

/**
 * A person's decision about an approval request. `conditions` limit the further calls that a
 * verdict approves.
 */
export type Verdict = { "kind": "approve_once", 
/**
 * The arguments to send instead of the client's, as JSON text.
 */
arguments: string | null, } | { "kind": "approve_for", seconds: number, conditions: Array<Condition>, } | { "kind": "approve_calls", count: number, conditions: Array<Condition>, } | { "kind": "approve_session", conditions: Array<Condition>, } | { "kind": "approve_always", conditions: Array<Condition>, } | { "kind": "deny", reason: string, } | { "kind": "fill_in", content: FormContent | null, } | { "kind": "dismiss" };

/**
 * The effect of a verdict on calls other than the call that it decides.
 */
export type VerdictPreview = { 
/**
 * The rule in words; empty if the verdict makes no rule.
 */
rule: string, 
/**
 * The past calls that the rule would have matched.
 */
dry_run: DryRun, };

/**
 * The result of verifying a server.
 */
export type VerifiedView = { server_name: string | null, server_version: string | null, protocol_version: string, tools: Array<ToolView>, 
/**
 * The entries of the server's list of tools that would not be in the catalog, with the
 * reasons.
 */
excluded: ExcludedEntries, 
/**
 * The time from the start to the last page of tools, in milliseconds.
 */
duration_ms: number, };

/**
 * `audit.verify`: recomputes the chain over all entries and calls.
 */
export type VerifyAudit = Record<symbol, never>;

/**
 * `audit.verify_call`: verifies the entries about the decision on a call and about its end.
 * Returns no entries if the call is unknown or older than the audit log.
 */
export type VerifyCall = { id: CallId, };

/**
 * `servers.verify`: connects to a saved server in a separate session, lists its tools, and ends
 * the connection.
 */
export type VerifyServer = { id: ServerId, };

/**
 * `servers.verify_spec`: verifies a spec that is not saved. `secrets` are passed on to the server,
 * and not stored.
 */
export type VerifySpec = { 
/**
 * The server to which the spec belongs; null for a new server.
 */
id: ServerId | null, spec: ServerSpec, secrets: SecretValues, 
/**
 * The foreign secrets that the spec may use, in addition to those that a person granted to the
 * server before.
 */
grant_secrets: Array<string>, };

/**
 * Whether the catalog view of clients lists a server's tools.
 */
export type Visibility = "visible" | "deferred";

/** Every verb: its parameters and its answer. */
export interface Verbs {
  "approvals.allow_retry": { params: AllowRetry; answer: RetryAllowed };
  "approvals.decide": { params: DecideApproval; answer: Call };
  "approvals.last_calls": { params: ListLastCalls; answer: Array<Call> };
  "approvals.list": { params: ListApprovals; answer: Array<ApprovalRequest> };
  "approvals.missed": { params: ListMissed; answer: Array<ApprovalRequest> };
  "approvals.open_url": { params: OpenApprovalUrl; answer: ApprovalUrl };
  "approvals.preview": { params: PreviewVerdict; answer: VerdictPreview };
  "approvals.show": { params: ShowApproval; answer: ApprovalRequest };
  "audit.export": { params: ExportAudit; answer: AuditPage };
  "audit.list": { params: ListAudit; answer: AuditEntries };
  "audit.verify": { params: VerifyAudit; answer: AuditReport };
  "audit.verify_call": { params: VerifyCall; answer: Array<CallAuditEntry> };
  "backup.cancel": { params: CancelReplacement; answer: Done };
  "backup.check": { params: CheckBackup; answer: BackupView };
  "backup.create": { params: CreateBackup; answer: BackupView };
  "backup.list": { params: ListBackups; answer: BackupsView };
  "backup.reset": { params: ResetDataFolder; answer: Done };
  "backup.restore": { params: RestoreBackup; answer: BackupView };
  "browsers.list": { params: ListBrowsers; answer: Array<BrowserView> };
  "browsers.sign_out": { params: SignOutBrowser; answer: Done };
  "browsers.sign_out_all": { params: SignOutAllBrowsers; answer: Done };
  "bundles.add": { params: AddBundle; answer: ServerView };
  "bundles.open": { params: OpenBundle; answer: BundleView };
  "calls.cancel": { params: CancelCall; answer: Call };
  "calls.list": { params: ListCalls; answer: Array<Call> };
  "calls.running": { params: ListRunningCalls; answer: Array<RunningCallView> };
  "calls.show": { params: ShowCall; answer: Call };
  "calls.stats": { params: ShowCallStats; answer: CallStatsView };
  "clients.add": { params: AddClient; answer: ClientAdded };
  "clients.limit": { params: LimitClient; answer: Done };
  "clients.list": { params: ListClients; answer: Array<ClientView> };
  "clients.revoke": { params: RevokeClient; answer: Done };
  "clients.rotate": { params: RotateClient; answer: ClientRotated };
  "clients.set_user": { params: SetClientUser; answer: Done };
  "clients.unmute": { params: UnmuteClient; answer: ClientUnmuted };
  "config.apply": { params: ApplyConfig; answer: ClientChangeView };
  "config.find_servers": { params: FindServers; answer: FoundServersView };
  "config.import": { params: ImportServers; answer: ImportedView };
  "config.list": { params: ListConfigs; answer: ConfigOverview };
  "config.preview": { params: PreviewConfig; answer: ConfigPreview };
  "config.preview_import": { params: PreviewImport; answer: ImportPreview };
  "config.set_restores": { params: SetRestores; answer: Done };
  "config.show": { params: ShowConfig; answer: ConfigSnippet };
  "config.test": { params: TestConfig; answer: ConfigTestView };
  "config.try_tool": { params: TryTool; answer: ToolResultView };
  "config.undo": { params: UndoConfig; answer: UndoneView };
  "doctor.bundle": { params: BundleDiagnostics; answer: DiagnosticsBundle };
  "doctor.run": { params: RunDoctor; answer: DoctorReport };
  "drawbridge.pause": { params: PauseCalls; answer: DrawbridgeState };
  "drawbridge.resume": { params: ResumeCalls; answer: DrawbridgeState };
  "drawbridge.show": { params: ShowDrawbridge; answer: DrawbridgeState };
  "folders.add": { params: AddFolder; answer: FoldersView };
  "folders.list": { params: ListFolders; answer: FoldersView };
  "folders.remove": { params: RemoveFolder; answer: FoldersView };
  "health.show": { params: ShowHealth; answer: HealthView };
  "hooks.add": { params: AddHook; answer: Done };
  "hooks.disable": { params: DisableHook; answer: Done };
  "hooks.edit": { params: EditHook; answer: Done };
  "hooks.enable": { params: EnableHook; answer: Done };
  "hooks.list": { params: ListHooks; answer: Array<HookView> };
  "hooks.log": { params: ListHookRuns; answer: Array<HookRun> };
  "hooks.remove": { params: RemoveHook; answer: Done };
  "hooks.reorder": { params: ReorderHook; answer: Done };
  "hooks.samples": { params: ListHookSamples; answer: Array<HookSample> };
  "hooks.try": { params: TryHook; answer: HookTrial };
  "logs.list": { params: ListLogs; answer: LogPage };
  "memory.add": { params: AddMemory; answer: MemoryEntry };
  "memory.categories": { params: ListMemoryCategories; answer: Array<MemoryCategory> };
  "memory.delete": { params: DeleteMemory; answer: MemoryDeleted };
  "memory.edit": { params: EditMemory; answer: MemoryEntry };
  "memory.list": { params: ListMemory; answer: MemoryPage };
  "memory.show": { params: ShowMemory; answer: MemoryEntry };
  "overview.show": { params: ShowOverview; answer: OverviewView };
  "pairing.answer": { params: AnswerPairing; answer: PairingAnswered };
  "pairing.list": { params: ListPairings; answer: Array<PairingRequest> };
  "policy.apply_preset": { params: ApplyPreset; answer: Done };
  "policy.check_rule": { params: CheckRule; answer: Array<RuleWarning> };
  "policy.delete_rule": { params: DeleteRule; answer: Done };
  "policy.disable_rule": { params: DisableRule; answer: RuleView };
  "policy.enable_rule": { params: EnableRule; answer: RuleView };
  "policy.export": { params: ExportPolicy; answer: PolicyFile };
  "policy.import": { params: ImportPolicy; answer: ImportResult };
  "policy.list": { params: ListPolicy; answer: PolicyView };
  "policy.preview": { params: PreviewRule; answer: DryRun };
  "policy.remove": { params: RemovePolicy; answer: Done };
  "policy.save": { params: SaveRule; answer: RuleView };
  "policy.set": { params: SetPolicy; answer: Done };
  "policy.set_default": { params: SetDefaultPolicy; answer: Done };
  "policy.stats": { params: ShowPolicyStats; answer: PolicyStats };
  "profiles.assign": { params: AssignProfile; answer: Done };
  "profiles.list": { params: ListProfiles; answer: Array<ProfileView> };
  "profiles.put": { params: PutProfile; answer: Done };
  "profiles.remove": { params: RemoveProfile; answer: Done };
  "prompts.get": { params: GetPrompt; answer: JsonValue };
  "registry.refresh": { params: RefreshRegistry; answer: OfficialRegistryView };
  "registry.search": { params: SearchRegistry; answer: FoundServers };
  "registry.show": { params: ShowPublishedServer; answer: PublishedServerDetails };
  "resources.read": { params: ReadResource; answer: JsonValue };
  "sampling.change": { params: ChangeSampling; answer: SamplingView };
  "sampling.check": { params: CheckSampling; answer: SamplingCheck };
  "sampling.show": { params: ShowSampling; answer: SamplingView };
  "screens.check_code": { params: CheckCode; answer: CodeState };
  "screens.open": { params: OpenScreen; answer: ScreenLink };
  "secrets.list": { params: ListSecrets; answer: Array<SecretView> };
  "secrets.remove": { params: RemoveSecret; answer: Done };
  "secrets.rename": { params: RenameSecret; answer: Done };
  "secrets.set": { params: SetSecret; answer: Done };
  "secrets.show_store": { params: ShowSecretStore; answer: SecretStoreView };
  "secrets.unlock": { params: UnlockSecrets; answer: SecretStoreView };
  "secrets.use_store": { params: UseSecretStore; answer: SecretStoreChange };
  "servers.accept": { params: AcceptServer; answer: ServerView };
  "servers.accept_definitions": { params: AcceptDefinitions; answer: ServerView };
  "servers.access_report": { params: ShowAccessReport; answer: AccessReportView };
  "servers.add": { params: AddServer; answer: ServerView };
  "servers.await_sign_in": { params: AwaitSignIn; answer: SignIn };
  "servers.cancel_sign_in": { params: CancelSignIn; answer: Done };
  "servers.capabilities": { params: ShowCapabilities; answer: CapabilitiesView };
  "servers.check_runtimes": { params: CheckRuntimes; answer: Array<RuntimeStatus> };
  "servers.check_spec": { params: CheckSpec; answer: CheckedSpec };
  "servers.definition_history": { params: ShowDefinitionHistory; answer: Array<DefinitionVersion> };
  "servers.enable": { params: EnableServer; answer: ServerView };
  "servers.fill_manifest": { params: FillManifest; answer: FilledManifest };
  "servers.list": { params: ListServers; answer: ServersView };
  "servers.move_literals": { params: MoveLiterals; answer: ServerView };
  "servers.pin": { params: PinServer; answer: ServerView };
  "servers.preflight": { params: CheckServer; answer: Array<PreflightCheck> };
  "servers.presets": { params: ListPresets; answer: Array<PresetView> };
  "servers.read_manifest": { params: ReadManifest; answer: ManifestView };
  "servers.read_specs": { params: ReadSpecs; answer: Array<ParsedSpec> };
  "servers.record": { params: RecordServer; answer: AccessReportView };
  "servers.remove": { params: RemoveServer; answer: Done };
  "servers.restart": { params: RestartServer; answer: ServerView };
  "servers.show": { params: ShowServer; answer: ServerView };
  "servers.sign_in": { params: SignInServer; answer: SignIn };
  "servers.sign_out": { params: SignOutServer; answer: ServerView };
  "servers.sync": { params: SyncServer; answer: ServerView };
  "servers.update": { params: UpdateServer; answer: ServerView };
  "servers.usage": { params: ShowUsage; answer: Array<ServerUsage> };
  "servers.verify": { params: VerifyServer; answer: VerifiedView };
  "servers.verify_spec": { params: VerifySpec; answer: VerifiedView };
  "settings.change": { params: ChangeSettings; answer: SettingsView };
  "settings.show": { params: ShowSettings; answer: SettingsView };
  "tools.call": { params: CallTool; answer: JsonValue };
  "tools.export": { params: ExportTools; answer: Array<FunctionTool> };
  "tools.list": { params: ListTools; answer: Array<ListedTool> };
  "tools.schema": { params: ShowToolSchema; answer: JsonValue };
}

export const SERVER_STATE_LABELS: Record<ServerState, string> = {
  idle: "Idle",
  initializing: "Starting",
  active: "Active",
  error: "Error",
  closed: "Closed",
  disabled: "Disabled",
  needs_acceptance: "Needs acceptance",
  needs_secret: "Needs a secret",
  needs_sign_in: "Needs sign-in",
};

export const ACCEPTANCE_STATE_LABELS: Record<AcceptanceState, string> = {
  accepted: "Accepted",
  new: "New",
  changed: "Changed",
};

export const DECISION_LABELS: Record<Decision, string> = {
  allowed: "Allowed",
  denied: "Denied",
  timed_out: "Timed out",
  no_screen: "No screen",
  paused: "Paused",
  queue_full: "Queue full",
  muted: "Muted",
  abandoned: "Abandoned",
};

export const DECIDED_BY_LABELS: Record<DecidedBy, string> = {
  person: "by you",
  rule: "by a rule",
  default: "by default",
  hub: "by Drawbridge",
};

export const OUTCOME_LABELS: Record<Outcome, string> = {
  not_sent: "Not sent",
  running: "Running",
  ok: "OK",
  server_error: "Server error",
  client_error: "Client error",
  unreachable: "Unreachable",
  unknown: "Unknown",
  timed_out: "Timed out",
  cancelled: "Cancelled",
  withheld: "Withheld",
};

export const EFFECT_LABELS: Record<Effect, string> = {
  ask: "Ask",
  allow: "Allow",
  deny: "Deny",
};

export const KIND_LABELS: Record<RequestKind, string> = {
  tools: "Tools",
  prompts: "Prompts",
  resources: "Resources",
  sampling: "Sampling",
  elicitation: "Elicitation",
  roots: "Roots",
};

export const RESULT_EFFECT_LABELS: Record<ResultEffect, string> = {
  mask: "Mask",
  hold: "Hold",
};

export const FLAG_KIND_LABELS: Record<FlagKind, string> = {
  instructions: "instructions to a model",
  concealment: "a request to hide something from the user",
  role_tag: "a tag of a conversation's roles",
  private_file: "a request for private files",
  tool_call: "an order to call tools",
  exfiltration: "a request to send data away",
  hidden_characters: "hidden characters",
  look_alike: "a name that looks like another server's tool",
  unchecked: "more text than Drawbridge checks",
};
