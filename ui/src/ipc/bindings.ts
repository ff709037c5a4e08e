// Written by `cargo xtask bindings` from src-tauri/hub/src/api. Do not edit.

/**
 * `servers.accept`: the user accepts what the server's spec would start, as it stands now.
 */
export type AcceptServer = { id: ServerId, 
/**
 * The identity that the person saw. A server of another identity is not accepted.
 */
identity: string, };

/**
 * `servers.accept_tools`: the user accepts new or changed definitions of a server's tools, as they were shown.
 */
export type AcceptTools = { id: ServerId, tools: Array<ShownTool>, };

/**
 * Whether the user accepted what the server would start or connect to.
 */
export type Acceptance = "accepted" | "pending" | "changed";

/**
 * `clients.add`: a new client and its token. A revoked client's name can be added again.
 */
export type AddClient = { name: ClientName, 
/**
 * A given token of at least 32 characters; a random one where there is none.
 */
token: string | null, };

/**
 * `servers.add`: writes a new spec file; the id is made from the spec's name.
 */
export type AddServer = { spec: ServerSpec, secrets: SecretValues, 
/**
 * Leaves it waiting for the user's approval. What a person adds counts as accepted.
 */
pending: boolean, };

/**
 * `approvals.allow_retry`: lets an identical retry through of a call that nobody decided in time. It runs nothing by
 * itself.
 */
export type AllowRetry = { id: CallId, 
/**
 * The digest of the request that the person saw.
 */
digest: string, };

/**
 * A server's hints about its tool (MCP 2025-03-26 `ToolAnnotations`). Hints, not facts.
 */
export type Annotations = { read_only: boolean | null, destructive: boolean | null, idempotent: boolean | null, open_world: boolean | null, };

/**
 * Why a verb failed: a code to branch on and one sentence for a person.
 */
export type ApiError = { code: ErrorCode, message: string, };

/**
 * `policy.apply_preset`: sets the default and the plain rules of whole servers. Denies stay, and so do rules about
 * single tools or clients; allows of whole servers that the preset does not have go.
 */
export type ApplyPreset = { preset: Preset, };

/**
 * A call that waits for a person, or one whose result does.
 */
export type ApprovalRequest = { id: CallId, client: ClientName, server: ServerId, server_name: string, 
/**
 * The server's own name of the tool.
 */
tool: string, tool_title: string | null, exposed_name: string, 
/**
 * The server's words about the tool; untrusted text.
 */
description: string, annotations: Annotations, 
/**
 * The exact JSON text of the arguments, as it will be sent.
 */
arguments: string, 
/**
 * What is sent along beside name and arguments, as JSON text.
 */
extra: string | null, 
/**
 * The call has run, and this is its result, as JSON text: it waits to be passed on. None where the call waits.
 */
result: string | null, 
/**
 * The client has never called this tool.
 */
is_first: boolean, 
/**
 * The allow that would hold, had the tool or its server not changed since.
 */
suspended: SuspendedAllow | null, 
/**
 * The tool's definition that was accepted, which clients go on seeing, and the one of now, as JSON text. It can be
 * approved once only.
 */
changed: [string, string] | null, 
/**
 * The client session that the call came in.
 */
session: SessionId, 
/**
 * What the server would start or connect to, as a digest.
 */
identity: string, 
/**
 * The digest of the tool's definition.
 */
definition: string, 
/**
 * What a decision is bound to: SHA-256 over client, server identity, definition, params and result, hex.
 */
digest: string, asked_at: Timestamp, expires_at: Timestamp, 
/**
 * The whole time to decide, in milliseconds.
 */
timeout_ms: number, 
/**
 * What was left of it when this view was made, in milliseconds.
 */
left_ms: number, };

/**
 * `profiles.assign`: gives a client a profile, or takes it away. It holds at once, also for sessions that are open.
 */
export type AssignProfile = { client: ClientName, 
/**
 * None for none: then it sees all.
 */
profile: string | null, };

/**
 * Where the audit does not hold.
 */
export type AuditBreak = { 
/**
 * The first entry that was changed or is missing.
 */
seq: number, 
/**
 * In words, also of the call that it is about.
 */
why: string, };

/**
 * A page of an export.
 */
export type AuditPage = { calls: Array<AuditedCall>, 
/**
 * What the next page comes after; none behind the last one.
 */
next: CallId | null, };

/**
 * Whether the audit holds together.
 */
export type AuditReport = { 
/**
 * The entries that are there.
 */
entries: number, 
/**
 * When the first and the last of them were written; none where there are none.
 */
from: Timestamp | null, to: Timestamp | null, 
/**
 * The first place where it does not hold; none where all of it does.
 */
broken: AuditBreak | null, };

/**
 * A call with what the audit has of it.
 */
export type AuditedCall = { 
/**
 * SHA-256 of the tool's definition and of the arguments as they were sent, hex.
 */
definition_digest: string, arguments_digest: string, 
/**
 * The entry with its decision, and that one's hash, hex; none for calls from before there was an audit.
 */
seq: number | null, hash: string | null, id: CallId, at: Timestamp, client: ClientName, server: ServerId, 
/**
 * The server's own name of the tool.
 */
tool: string, exposed_name: string, decision: Decision, 
/**
 * Who or what decided: a person, a rule, the default, the clock.
 */
decided_by: DecidedBy, 
/**
 * The rule that decided, where one did.
 */
rule: RuleId | null, 
/**
 * A person changed the arguments, and approved what came of that.
 */
is_edited: boolean, 
/**
 * The person's reason, or the rule in words; may be empty.
 */
reason: string, 
/**
 * What came of it; `running` until it ended.
 */
outcome: Outcome, 
/**
 * What went wrong; empty where nothing did.
 */
error: string, 
/**
 * From the client's request until the decision, in milliseconds.
 */
waited_ms: number, 
/**
 * From sending it to the server until its answer; none while it runs and where it was not sent.
 */
duration_ms: number | null, 
/**
 * The arguments as JSON text with what is secret replaced by `•••`. Only where one call is shown and in an export;
 * never in lists and events, and none where they are longer than 16 KiB.
 */
arguments?: string, };

/**
 * How a server stands with OAuth.
 */
export type Authorization = { "kind": "none" } | { "kind": "needed" } | { "kind": "signed_in", issuer: string, 
/**
 * When the token runs out. It is renewed before, where the authorization server lets it.
 */
expires_at: Timestamp | null, };

/**
 * `servers.authorize`: begins to sign in to a remote server; the one attempt that runs, where one does. The
 * answer's URL is to be opened in a browser; the desktop app does that itself.
 */
export type AuthorizeServer = { id: ServerId, };

/**
 * `servers.await_sign_in`: waits until the attempt to sign in to a server has ended, at most two minutes;
 * how it stands then.
 */
export type AwaitSignIn = { id: ServerId, };

/**
 * A spec file that cannot be used, and where its fault is. It disturbs no other server.
 */
export type BrokenSpec = { 
/**
 * The file's path.
 */
file: string, 
/**
 * Counted from 1; 0 where the fault has no place.
 */
line: number, column: number, message: string, };

/**
 * Tools of the hub itself.
 */
export type BuiltinTools = { total: number, names: Array<string>, };

/**
 * One call.
 */
export type Call = { id: CallId, at: Timestamp, client: ClientName, server: ServerId, 
/**
 * The server's own name of the tool.
 */
tool: string, exposed_name: string, decision: Decision, 
/**
 * Who or what decided: a person, a rule, the default, the clock.
 */
decided_by: DecidedBy, 
/**
 * The rule that decided, where one did.
 */
rule: RuleId | null, 
/**
 * A person changed the arguments, and approved what came of that.
 */
is_edited: boolean, 
/**
 * The person's reason, or the rule in words; may be empty.
 */
reason: string, 
/**
 * What came of it; `running` until it ended.
 */
outcome: Outcome, 
/**
 * What went wrong; empty where nothing did.
 */
error: string, 
/**
 * From the client's request until the decision, in milliseconds.
 */
waited_ms: number, 
/**
 * From sending it to the server until its answer; none while it runs and where it was not sent.
 */
duration_ms: number | null, 
/**
 * The arguments as JSON text with what is secret replaced by `•••`. Only where one call is shown and in an export;
 * never in lists and events, and none where they are longer than 16 KiB.
 */
arguments?: string, };

/**
 * One `tools/call` that reached the door; an approval request has the id of its call.
 */
export type CallId = string;

/**
 * `tools.call`: calls a tool by hand, as a client named `command-line`. The policy holds for it as for any other.
 */
export type CallTool = { 
/**
 * The name at the door.
 */
name: string, 
/**
 * A JSON object.
 */
arguments: unknown, };

/**
 * `servers.cancel_sign_in`: ends the attempt to sign in to a server, and forgets how it went.
 */
export type CancelSignIn = { id: ServerId, };

/**
 * The catalog's copy of a server: definitions as the server sent them, with its own names.
 */
export type CapabilitiesView = { id: ServerId, sync_status: SyncStatus, last_synced_at: Timestamp | null, tools: Array<unknown>, prompts: Array<unknown>, resources: Array<unknown>, templates: Array<unknown>, };

/**
 * `settings.change`: changes what is given.
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
 * An https URL with a path; empty for none.
 */
oauth_client_metadata_url: string | null, 
/**
 * 1 to 3,650 days; 0 for ever.
 */
audit_retention_days: number | null, };

/**
 * `servers.check_runtimes`: looks for the programs with which packages are started.
 */
export type CheckRuntimes = Record<symbol, never>;

/**
 * The token of a new client: shown once, kept nowhere.
 */
export type ClientAdded = { name: ClientName, token: string, 
/**
 * The endpoint, such as `http://127.0.0.1:8765/mcp`.
 */
url: string, 
/**
 * The `mcpServers` JSON to paste into the client's settings, over HTTP.
 */
config: unknown, 
/**
 * The same for a client that only speaks stdio; it holds no token.
 */
stdio_config: unknown, };

/**
 * A client: the name that the user gave it.
 */
export type ClientName = string;

/**
 * A client that was added, or that came over the stdio bridge.
 */
export type ClientView = { name: ClientName, 
/**
 * Whether it has a token; one that came over the stdio bridge has none.
 */
has_token: boolean, created_at: Timestamp, last_seen_at: Timestamp | null, revoked_at: Timestamp | null, 
/**
 * Client sessions open now.
 */
sessions: number, 
/**
 * What the client called itself at `initialize`, such as `claude-code 2.1.329`.
 */
software: string | null, 
/**
 * The profile that says what it sees; none for all.
 */
profile: string | null, };

/**
 * What a rule asks of the arguments.
 */
export type Condition = { 
/**
 * JSON pointer (RFC 6901) into the arguments, such as `/path`.
 */
pointer: string, is: Test, };

/**
 * One day, UTC.
 */
export type Day = { 
/**
 * Its first moment.
 */
at: Timestamp, approved: number, denied: number, 
/**
 * Timed out, or without a screen.
 */
unanswered: number, };

/**
 * `approvals.decide`: decides a request that waits. The first decision wins; a later one
 * is a `conflict`.
 */
export type DecideApproval = { id: CallId, 
/**
 * The digest of the request that the person saw. A request of another digest is not decided.
 */
digest: string, verdict: Verdict, };

/**
 * Who or what decided.
 */
export type DecidedBy = "person" | "rule" | "default" | "hub";

/**
 * Whether a call may cross.
 */
export type Decision = "allowed" | "denied" | "timed_out" | "no_screen" | "raised" | "queue_full" | "abandoned";

/**
 * A version of a tool's definition.
 */
export type DefinitionVersion = { 
/**
 * SHA-256 of the definition as the server sent it, hex.
 */
digest: string, first_seen_at: Timestamp, 
/**
 * Null where no person has accepted it.
 */
accepted_at: Timestamp | null, 
/**
 * Whether the server offers this one now.
 */
offered: boolean, definition: unknown, 
/**
 * What differs from the version accepted last before it, or from the one before it where none was; empty for the
 * first version.
 */
changes: Array<FieldChange>, };

/**
 * What happens to tools that a server offers, or offers otherwise, after the person has accepted it.
 */
export type Definitions = "ask" | "keep" | "trust";

/**
 * The answer of a verb that has nothing to tell but that it was done.
 */
export type Done = Record<symbol, never>;

/**
 * Whether calls may cross at all.
 */
export type DrawbridgeState = { raised: boolean, };

/**
 * What happens to a call.
 */
export type Effect = "allow" | "deny" | "ask";

/**
 * `servers.enable`: turns a server on or off.
 */
export type EnableServer = { id: ServerId, enabled: boolean, };

/**
 * What kind of failure it is. A face may branch on this, never on the message.
 */
export type ErrorCode = "invalid" | "not_found" | "conflict" | "forbidden" | "unavailable" | "timeout" | "internal";

/**
 * Something changed. A screen that missed events (`lagged`) reads everything anew.
 */
export type Event = { "kind": "server_changed", id: ServerId, } | { "kind": "session_changed", server: ServerId, transition: Transition, } | { "kind": "authorization_changed", id: SignInId, server: ServerId, state: SignInState, } | { "kind": "approval_asked", request: ApprovalRequest, } | { "kind": "approval_ended", id: CallId, } | { "kind": "call_changed", call: Call, } | { "kind": "clients_changed" } | { "kind": "policy_changed" } | { "kind": "drawbridge_changed", raised: boolean, } | { "kind": "profiles_changed" } | { "kind": "settings_changed" } | { "kind": "log_added", line: LogLine, } | { "kind": "lagged" };

/**
 * `audit.export`: calls, oldest first, a page at a time.
 */
export type ExportAudit = { 
/**
 * Only those from this moment on.
 */
since: Timestamp | null, 
/**
 * Only those ahead of this moment.
 */
until: Timestamp | null, 
/**
 * Only those after this call: the `next` of the page before.
 */
after: CallId | null, 
/**
 * At most so many; 500 where it is not given, 500 at most.
 */
limit: number | null, };

/**
 * `policy.export`: the rules as a readable file.
 */
export type ExportPolicy = Record<symbol, never>;

/**
 * `tools.export`: the tools of all servers as function tools, as the OpenAI API takes them.
 */
export type ExportTools = { 
/**
 * For a client: what its profile has; all where it is not given.
 */
client: ClientName | null, };

/**
 * A field that differs between two versions.
 */
export type FieldChange = { 
/**
 * A JSON pointer, such as `/inputSchema/properties/path/description`.
 */
field: string, 
/**
 * Null where the field is new.
 */
before: unknown, 
/**
 * Null where the field is gone.
 */
after: unknown, };

/**
 * What a person was asked.
 */
export type Figures = { 
/**
 * One for each day, oldest first, also without a question.
 */
days: Array<Day>, suggestions: Array<Suggestion>, };

/**
 * `servers.fill_manifest`: makes the spec of one of a manifest's choices. Saves nothing; what is missing or does not
 * fit is an error that names it.
 */
export type FillManifest = { source: ManifestSource, 
/**
 * Which of its choices, counted from 0.
 */
choice: number, 
/**
 * The name of the server, where it is not that of the manifest.
 */
name: string | null, 
/**
 * By the inputs' names, those of secrets as well. Where an input takes several, one a line. An empty one is left
 * out; for one that is not here the default is taken.
 */
values: { [key in string]: string }, 
/**
 * The same for those that go to the keyring although the manifest does not say so.
 */
secrets: { [key in string]: string }, };

/**
 * The spec that a manifest's choice and a person's values make, as `servers.add` takes it.
 */
export type FilledManifest = { spec: ServerSpec, secrets: SecretValues, };

/**
 * `policy.forget`: removes one rule.
 */
export type ForgetRule = { id: RuleId, };

/**
 * What a function tool calls.
 */
export type Function = { 
/**
 * The name at the door.
 */
name: string, description: string, 
/**
 * The JSON Schema of its arguments, without `$schema`.
 */
parameters: unknown, };

/**
 * A function tool.
 */
export type FunctionTool = { 
/**
 * `function`.
 */
type: string, function: Function, };

export type HealthStatus = "ok" | "degraded" | "down";

/**
 * The answer of `GET /health`.
 */
export type HealthView = { status: HealthStatus, 
/**
 * Always `drawbridge`.
 */
service: string, version: string, builtin_tools: BuiltinTools, registry: RegistryHealth, storage: StorageHealth, ready: boolean, transports: Array<TransportHealth>, 
/**
 * Client sessions open now.
 */
sessions: number, servers: ServersHealth, };

/**
 * `policy.import`: adds the rules of such a file, or puts them in the place of all there are. All or none.
 */
export type ImportPolicy = { text: string, replace: boolean, };

/**
 * How many rules were taken.
 */
export type Imported = { rules: number, };

/**
 * What the text of a value is.
 */
export type InputFormat = "text" | "number" | "boolean" | "path";

/**
 * Where the value of an input goes.
 */
export type InputKind = "env" | "header" | "argument" | "url";

/**
 * Who shares a session with a server.
 */
export type Isolation = "shared" | "per_client";

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

export type KeyringStatus = "ready" | "locked" | "absent";

/**
 * A kind of capability.
 */
export type Kind = "tools" | "prompts" | "resources" | "templates";

/**
 * An entry of a server's list that no client sees, and why.
 */
export type LeftOut = { kind: Kind, 
/**
 * The server's own name of it, or its place in the list if it has none, such as `entry 3 of tools/list`.
 */
name: string, 
/**
 * In plain words.
 */
why: string, };

/**
 * The first hundred entries left out of a server's lists, and how many more there are.
 */
export type LeftOutEntries = { entries: Array<LeftOut>, 
/**
 * Left out too, and not named here.
 */
more: number, };

export type Level = "trace" | "debug" | "info" | "warn" | "error";

/**
 * How long a rule holds.
 */
export type Life = { "kind": "until_revoked" } | { "kind": "until", at: Timestamp, } | { "kind": "session", session: SessionId, } | { "kind": "calls", count: number, };

/**
 * How long a local server's process lives.
 */
export type Lifecycle = "singleton" | "transient";

/**
 * `approvals.list`: what waits, oldest first.
 */
export type ListApprovals = Record<symbol, never>;

/**
 * `calls.list`: newest first.
 */
export type ListCalls = { client: ClientName | null, server: ServerId | null, 
/**
 * Only those decided by a person or by the clock: the history of approvals.
 */
asked: boolean, 
/**
 * Only those with this text in their tool, exposed name, reason, error or arguments; ASCII letters in any case.
 */
text: string | null, decision: Decision | null, 
/**
 * Only those behind this call in the list: the next page.
 */
before: CallId | null, 
/**
 * Only those from this moment on.
 */
since: Timestamp | null, 
/**
 * Only those ahead of this moment.
 */
until: Timestamp | null, 
/**
 * At most so many; 200 where it is not given, 1,000 at most.
 */
limit: number | null, };

/**
 * `clients.list`: all clients, by name.
 */
export type ListClients = Record<symbol, never>;

/**
 * `logs.list`: the newest lines that match, oldest first.
 */
export type ListLogs = { server: ServerId | null, 
/**
 * That level and above.
 */
level: Level | null, 
/**
 * Only lines with this text, whatever its case.
 */
text: string | null, 
/**
 * At most so many; 500 where it is not given.
 */
limit: number | null, };

/**
 * `approvals.missed`: what nobody decided in time, and may still be allowed for an identical retry.
 */
export type ListMissed = Record<symbol, never>;

/**
 * `policy.list`: all rules that hold, oldest first.
 */
export type ListPolicy = Record<symbol, never>;

/**
 * `servers.presets`: well-known servers, and whether what each needs is here.
 */
export type ListPresets = Record<symbol, never>;

/**
 * `profiles.list`: all profiles, by name.
 */
export type ListProfiles = Record<symbol, never>;

/**
 * `secrets.list`: the names that specs refer to.
 */
export type ListSecrets = Record<symbol, never>;

/**
 * `servers.list`: all servers, in the order of their ids.
 */
export type ListServers = Record<symbol, never>;

/**
 * `tools.list`: the tools of all accepted, enabled servers, in the order clients get them.
 */
export type ListTools = Record<symbol, never>;

/**
 * JSON as it was written: a number keeps its digits.
 */
export type Literal = unknown;

/**
 * One line of the log.
 */
export type LogLine = { 
/**
 * Grows by one a line.
 */
seq: number, at: Timestamp, level: Level, 
/**
 * The server that wrote it to its stderr, or nothing for the hub itself.
 */
server: ServerId | null, 
/**
 * The part of the hub that wrote it, or `stderr`, `stdout`.
 */
area: string, 
/**
 * Without line breaks; secrets are masked, control characters are shown escaped.
 */
text: string, };

/**
 * `drawbridge.lower`: calls may cross again.
 */
export type LowerDrawbridge = Record<symbol, never>;

/**
 * A package or a remote of a manifest.
 */
export type ManifestChoice = { 
/**
 * In a few words: `npx @scope/server@1.2.3`, or a URL.
 */
label: string, 
/**
 * The whole command line or the URL, with `<name>` where the value of an input goes.
 */
preview: string, 
/**
 * The program with which it is started, where it is one that Drawbridge looks for.
 */
runtime: Runtime | null, inputs: Array<ManifestInput>, 
/**
 * Why it cannot be used, in plain words; empty where it can.
 */
problem: string, };

/**
 * A value that a person gives, or leaves out.
 */
export type ManifestInput = { 
/**
 * Of no other input of the same choice.
 */
name: string, kind: InputKind, 
/**
 * What it is for, in the words of the manifest; may be empty.
 */
description: string, 
/**
 * Without it the server is not added. One with a `default` need not be given all the same.
 */
required: boolean, 
/**
 * Its value goes to the keyring, and nowhere else.
 */
secret: boolean, 
/**
 * Several values may be given, one a line.
 */
repeated: boolean, 
/**
 * Used where nothing is given.
 */
default: string | null, 
/**
 * Where there are some, the value is one of them.
 */
choices: Array<string>, 
/**
 * An example, to be shown in an empty field; may be empty.
 */
placeholder: string, format: InputFormat, };

/**
 * Where a manifest is.
 */
export type ManifestSource = { "preset": string } | { "text": string } | { "path": string };

/**
 * A server as its author describes it.
 */
export type ManifestView = { 
/**
 * As the manifest has it: `io.github.owner/server`.
 */
name: string, 
/**
 * What the server is called where the person calls it nothing else.
 */
title: string, description: string, version: string, 
/**
 * The ways to have it; at least one, but perhaps none that can be used.
 */
choices: Array<ManifestChoice>, };

/**
 * `servers.measure`: what each local server that runs uses. Best asked again every second or two.
 */
export type MeasureServers = Record<symbol, never>;

/**
 * An OAuth client that a person registered, for servers whose authorization server registers none by itself.
 */
export type OauthClient = { client_id: string, 
/**
 * Only if the client has one; best a `${keyring:NAME}`.
 */
client_secret?: string | null, 
/**
 * The port of the redirect URI `http://127.0.0.1:PORT/callback` that the client was registered with; any if it is
 * not given, which authorization servers allow for programs on a desk.
 */
callback_port?: number | null, };

/**
 * `screens.open`: a link that opens the web UI in a browser, good for one use within a minute.
 */
export type OpenScreen = Record<symbol, never>;

/**
 * What came of a call.
 */
export type Outcome = "not_sent" | "running" | "ok" | "server_error" | "unreachable" | "unknown" | "timed_out" | "cancelled" | "withheld";

/**
 * Past calls that a rule would have matched.
 */
export type PastCalls = { 
/**
 * How many past calls of its scope were looked at; the newest 1,000 at most.
 */
looked_at: number, matched: number, 
/**
 * Whose arguments were not kept, so that nobody can tell.
 */
unknown: number, 
/**
 * The newest of those that matched.
 */
newest: Array<Call>, };

/**
 * The file's text.
 */
export type PolicyFile = { 
/**
 * JSON.
 */
text: string, };

/**
 * The rules, and what happens where none matches. Deny beats allow beats ask.
 */
export type PolicyView = { default: Effect, rules: Array<RuleView>, };

/**
 * A whole policy.
 */
export type Preset = { "kind": "ask_all" } | { "kind": "ask_writes", trusted: Array<ServerId>, } | { "kind": "ask_listed", listed: Array<ServerId>, };

/**
 * A well-known server.
 */
export type PresetView = { id: string, title: string, 
/**
 * What it does, in one sentence.
 */
description: string, choice: ManifestChoice, 
/**
 * How its runtime is found here; nothing where it needs none.
 */
runtime: RuntimeFound | null, };

/**
 * `policy.preview`: which past calls a rule would have matched. Nothing is saved.
 */
export type PreviewRule = { rule: RuleText, };

/**
 * `approvals.preview`: the rule that a verdict on a waiting request would make, and which past calls it would have
 * matched. Nothing is decided.
 */
export type PreviewVerdict = { id: CallId, verdict: Verdict, };

/**
 * What a client with this profile sees, and nothing else.
 */
export type Profile = { name: string, 
/**
 * By server its tools, by the server's own names; null for all of them, also later ones.
 */
servers: { [key in ServerId]: Array<string> | null }, };

/**
 * A profile, and what it costs.
 */
export type ProfileView = { 
/**
 * The clients that have it.
 */
clients: Array<ClientName>, 
/**
 * How many tools such a client is shown now.
 */
tools: number, 
/**
 * About how many tokens a model spends on their list.
 */
tokens: number, name: string, 
/**
 * By server its tools, by the server's own names; null for all of them, also later ones.
 */
servers: { [key in ServerId]: Array<string> | null }, };

/**
 * `profiles.put`: writes a profile, new or in place of the one of its name. It holds at once.
 */
export type PutProfile = { profile: Profile, };

/**
 * `drawbridge.raise`: nothing crosses any more; what waits is denied, and what is on its way is cancelled.
 */
export type RaiseDrawbridge = Record<symbol, never>;

/**
 * `servers.read_manifest`: reads a manifest. Saves nothing, starts nothing.
 */
export type ReadManifest = { source: ManifestSource, };

/**
 * A spec that was read from a text, or why that entry cannot be one.
 */
export type ReadSpec = { name: string, spec: ServerSpec | null, 
/**
 * What is wrong with the entry; empty where `spec` is set.
 */
problem: string, 
/**
 * Names in `env` and `headers` whose literal values look like secrets.
 */
likely_secrets: Array<string>, };

/**
 * `servers.read_specs`: reads any client's `mcpServers` JSON (or one server's object, or a
 * command line) into specs. Saves nothing.
 */
export type ReadSpecs = { text: string, };

export type RegistryHealth = { servers_total: number, servers_enabled: number, };

/**
 * `policy.remove`: removes the rules of exactly that scope.
 */
export type RemovePolicy = { server: ServerId | null, 
/**
 * The server's own name of the tool; only together with `server`.
 */
tool: string | null, client: ClientName | null, };

/**
 * `profiles.remove`: removes a profile; clients that had it see all again.
 */
export type RemoveProfile = { name: string, };

/**
 * `secrets.remove`: removes a value from the keyring.
 */
export type RemoveSecret = { name: string, };

/**
 * `servers.remove`: removes the spec file, its secrets, its policies and its cache, and ends its session.
 */
export type RemoveServer = { id: ServerId, };

/**
 * `servers.restart`: ends the server's session and starts a new one.
 */
export type RestartServer = { id: ServerId, };

/**
 * What happens to the result of a call.
 */
export type ResultEffect = "mask" | "hold";

/**
 * For how long an identical retry is let through.
 */
export type RetryAllowed = { seconds: number, };

/**
 * `clients.revoke`: its token and its sessions end at once.
 */
export type RevokeClient = { name: ClientName, };

/**
 * One rule of the policy.
 */
export type RuleId = string;

/**
 * A rule as a person writes it.
 */
export type RuleText = { 
/**
 * Only tools of which their server says that they change nothing.
 */
read_only: boolean, 
/**
 * All must hold.
 */
when: Array<Condition>, 
/**
 * What happens to the call; none leaves that to other rules.
 */
effect: Effect | null, 
/**
 * What happens to its result; none leaves that to other rules.
 */
result: ResultEffect | null, life: Life, 
/**
 * The user's words about it.
 */
note: string, server: ServerId | null, 
/**
 * The server's own name of the tool; only together with `server`.
 */
tool: string | null, client: ClientName | null, };

/**
 * A rule, and how it stands.
 */
export type RuleView = { id: RuleId, read_only: boolean, when: Array<Condition>, effect: Effect | null, result: ResultEffect | null, life: Life, note: string, 
/**
 * In one line.
 */
words: string, created_at: Timestamp, 
/**
 * How many calls it may still decide, where it holds for a number of calls.
 */
left: number | null, 
/**
 * An allow whose tool or server has changed since: it asks until that was accepted.
 */
suspended: boolean, server: ServerId | null, 
/**
 * The server's own name of the tool; only together with `server`.
 */
tool: string | null, client: ClientName | null, };

export type Runtime = "npx" | "uvx" | "docker" | "node" | "python" | "dnx";

/**
 * How a runtime is found where servers are started.
 */
export type RuntimeFound = { runtime: Runtime, 
/**
 * The path of its program, where there is one.
 */
path: string | null, version: string | null, 
/**
 * Why it cannot be used, in plain words; empty where it can.
 */
problem: string, 
/**
 * What to do about it; empty where there is nothing to do.
 */
remedy: string, };

/**
 * `policy.save`: adds a rule, or writes the one of that id anew, for the server and the tool as they are now.
 */
export type SaveRule = { id: RuleId | null, rule: RuleText, };

export type ScreenLink = { 
/**
 * `http://HOST:PORT/#login=CODE`
 */
url: string, };

/**
 * Values to put into the keyring, by what gets them: environment variables, headers, the OAuth client. In the
 * spec each becomes `${keyring:NAME}`. Never logged, never written to a file.
 */
export type SecretValues = { env: { [key in string]: string }, headers: { [key in string]: string }, 
/**
 * The secret of the spec's OAuth client.
 */
oauth_client?: string | null, };

/**
 * A secret that some spec refers to as `${keyring:NAME}`.
 */
export type SecretView = { name: string, 
/**
 * Whether the keyring holds a value; none where the keyring cannot be asked.
 */
present: boolean | null, 
/**
 * The servers that refer to it.
 */
servers: Array<ServerId>, };

/**
 * A server: the name of its spec file without `.json`, of `[a-z0-9_-]`.
 */
export type ServerId = string;

/**
 * A server as described at rest. `command` is set for a local one, `url` for a remote one; both, with a transport, for
 * a program of ours that serves that URL on this machine.
 *
 * Values of `env` and `headers` may hold `${keyring:NAME}`, resolved when the server is
 * started, and never written anywhere.
 */
export type ServerSpec = { 
/**
 * For people. The id is the file's name.
 */
name?: string, command?: string | null, args?: Array<string>, env?: { [key in string]: string }, 
/**
 * The working directory; the user's home where it is not given.
 */
cwd?: string | null, url?: string | null, headers?: { [key in string]: string }, 
/**
 * Sent as `Authorization: Bearer …`; best a `${keyring:NAME}`.
 */
bearer_token?: string | null, 
/**
 * The client that was registered for Drawbridge by hand at the server's authorization server.
 */
oauth?: OauthClient | null, 
/**
 * Inferred from `command` or `url` where it is not given: for a URL it is `http`.
 */
transport?: TransportKind | null, 
/**
 * The revision of the protocol that the server is addressed in, such as `2025-06-18`. Found out if not given.
 */
protocol_version?: string | null, 
/**
 * Inferred from `command` where it is not given: what has to be installed, and whether a first start may be slow.
 */
runtime_hint?: Runtime | null, enabled?: boolean, lifecycle?: Lifecycle, isolation?: Isolation, timeouts?: Timeouts, 
/**
 * Starts after the first one that failed, with growing pauses; then it is given up until the next call.
 */
retries?: number, visibility?: Visibility, definitions?: Definitions, validate?: Validate, 
/**
 * The tools that may be seen and called, by the server's own names; all where it is not given.
 */
allowed_tools?: Array<string> | null, 
/**
 * What stands before `__` in the names of its tools and prompts; its id where it is not given. Empty for their
 * bare names: then of two servers with the same name the first in order of ids has it.
 */
prefix?: string | null, 
/**
 * Servers that are tried in this order with the same tool where this one cannot be reached.
 */
fallback?: Array<ServerId>, 
/**
 * How long the catalog's copy of it counts as fresh, in milliseconds; as the settings say where it is not given.
 */
cache_ttl_ms?: number | null, 
/**
 * How long results of its read-only, idempotent tools and its resources may be answered from memory, in
 * milliseconds; 0 for not at all.
 */
cache_results_ms?: number, };

/**
 * The state of a server session, or why there can be none.
 */
export type ServerState = "idle" | "initializing" | "active" | "error" | "closed" | "disabled" | "needs_approval" | "needs_secret" | "needs_sign_in";

/**
 * What the processes of a local server that runs use now, with all that they started.
 */
export type ServerUsage = { id: ServerId, processes: number, 
/**
 * Resident memory, in KiB; what processes share counts for each.
 */
memory_kib: number, 
/**
 * Of one core, in percent, since the last look of anybody; 0 at the first.
 */
cpu_percent: number, };

/**
 * What is known of a server.
 */
export type ServerView = { id: ServerId, name: string, spec: ServerSpec, 
/**
 * The path of its spec file.
 */
file: string, acceptance: Acceptance, 
/**
 * The digest of what it would start or connect to; what `servers.accept` names.
 */
identity: string, state: ServerState, 
/**
 * Why it is in that state, in plain words; empty where there is nothing to say.
 */
reason: string, 
/**
 * What to do about it; empty where there is nothing to do.
 */
remedy: string, 
/**
 * It failed, and is left alone until then.
 */
retry_at: Timestamp | null, 
/**
 * The latest steps of its sessions, the latest last.
 */
transitions: Array<Transition>, 
/**
 * How it stands with signing in.
 */
authorization: Authorization, 
/**
 * The latest attempt to sign in, where there is one.
 */
signing_in: SignIn | null, 
/**
 * The process id of a local server that runs.
 */
pid: number | null, sync_status: SyncStatus, last_synced_at: Timestamp | null, 
/**
 * The cache is older than its TTL: it is still served, and refreshed behind.
 */
stale: boolean, 
/**
 * What the server called itself.
 */
server_name: string | null, server_version: string | null, protocol_version: string | null, 
/**
 * What the server tells a model about itself, at `initialize`.
 */
instructions: string | null, tools: Array<ToolView>, 
/**
 * About how many tokens a model spends on its tools, as far as clients are shown them.
 */
tokens: number, 
/**
 * Tools whose definitions are new or changed, and wait for a person.
 */
waiting_tools: number, 
/**
 * Entries of its lists that no client sees, each with its reason. What the person does not allow is not among
 * them.
 */
left_out: LeftOutEntries, 
/**
 * Lines on its stdout that were not JSON-RPC, since the hub started.
 */
noise_lines: number, 
/**
 * Starts since the hub started.
 */
starts: number, };

export type ServersHealth = { connected: number, errors: number, };

/**
 * All servers, and the spec files that cannot be read.
 */
export type ServersView = { servers: Array<ServerView>, broken: Array<BrokenSpec>, };

/**
 * One client session.
 */
export type SessionId = string;

/**
 * `policy.set_default`: what happens where no rule matches.
 */
export type SetDefaultPolicy = { effect: Effect, };

/**
 * `policy.set`: sets the plain policy of a scope, replacing the one it had.
 */
export type SetPolicy = { effect: Effect, server: ServerId | null, 
/**
 * The server's own name of the tool; only together with `server`.
 */
tool: string | null, client: ClientName | null, };

/**
 * `secrets.set`: puts a value into the keyring.
 */
export type SetSecret = { name: string, value: string, };

export type SettingsView = { 
/**
 * What happens to a call that no rule matches.
 */
default_policy: Effect, 
/**
 * The time a person has to decide, in seconds.
 */
approval_timeout_s: number, 
/**
 * How long the catalog's copy of a server counts as fresh, in seconds.
 */
cache_ttl_s: number, 
/**
 * The https URL of a document that describes this program to authorization servers (a client id
 * metadata document); empty for none: then it registers itself.
 */
oauth_client_metadata_url: string, 
/**
 * How many days calls and what else is in the audit are kept; 0 for ever.
 */
audit_retention_days: number, version: string, data_dir: string, 
/**
 * The endpoint, or nothing where no listener runs.
 */
url: string | null, keyring: KeyringStatus, 
/**
 * What to do about the keyring; empty where nothing is to be done.
 */
keyring_remedy: string, };

/**
 * `approvals.show`: one that waits.
 */
export type ShowApproval = { id: CallId, };

/**
 * `calls.show`: one call, with its arguments as they are kept.
 */
export type ShowCall = { id: CallId, };

/**
 * `servers.capabilities`: what a server offered when it was read last. Starts nothing.
 */
export type ShowCapabilities = { id: ServerId, };

/**
 * `drawbridge.show`: whether it is raised.
 */
export type ShowDrawbridge = Record<symbol, never>;

/**
 * `policy.figures`: what a person was asked lately, and the rules that this suggests.
 */
export type ShowFigures = { 
/**
 * How many days back; 14 where it is not given, 90 at most.
 */
days: number | null, };

/**
 * `health.show`
 */
export type ShowHealth = Record<symbol, never>;

/**
 * `servers.show`: one server.
 */
export type ShowServer = { id: ServerId, };

/**
 * `settings.show`
 */
export type ShowSettings = Record<symbol, never>;

/**
 * `servers.tool_history`: the versions of a tool's definition, the newest first.
 */
export type ShowToolHistory = { id: ServerId, 
/**
 * The server's own name of the tool.
 */
tool: string, };

/**
 * A definition of a tool, as it was shown.
 */
export type ShownTool = { 
/**
 * The server's own name of the tool.
 */
name: string, digest: string, };

/**
 * An attempt to sign in to a server. There is at most one of a server.
 */
export type SignIn = { id: SignInId, 
/**
 * Where the person signs in: to be opened in a browser.
 */
url: string, state: SignInState, };

/**
 * One attempt to sign in to a server.
 */
export type SignInId = string;

/**
 * How far an attempt has come.
 */
export type SignInState = { "kind": "waiting_for_browser" } | { "kind": "exchanging" } | { "kind": "done" } | { "kind": "failed", reason: string, };

/**
 * `servers.sign_out`: forgets the tokens of a server, and ends its session.
 */
export type SignOutServer = { id: ServerId, };

/**
 * Whether a person has accepted a tool's definition.
 */
export type Standing = "accepted" | "new" | "changed";

export type StorageHealth = { 
/**
 * Clients with an open session.
 */
active_users: number, };

/**
 * A rule that would have answered questions as the person did.
 */
export type Suggestion = { rule: RuleText, 
/**
 * The rule in words.
 */
words: string, 
/**
 * How many of the person's approvals it would have spared.
 */
approved: number, 
/**
 * How many past calls it would have matched in all.
 */
matched: number, };

/**
 * An allow that was given for the tool or the server as it was.
 */
export type SuspendedAllow = { rule: RuleId, 
/**
 * The rule in words.
 */
words: string, 
/**
 * What the server starts or connects to is another.
 */
is_server_changed: boolean, 
/**
 * The tool's definition that the allow was given for and the one of now, as JSON text; none where it is the same,
 * or is not kept any more.
 */
definitions: [string, string] | null, };

/**
 * `servers.sync`: reads the server's capabilities anew into the cache.
 */
export type SyncServer = { id: ServerId, };

/**
 * How the catalog's copy of a server stands.
 */
export type SyncStatus = "NEVER_SYNCED" | "SYNCING" | "SYNCED" | "FAILED";

/**
 * What a value among the arguments must be. All but `equals` look into a list: an allow wants each entry to fit, a
 * deny one.
 */
export type Test = { "equals": Literal } | { "one_of": Array<Literal> } | { "path_within": string } | { "host": string } | { "between": { min?: Literal | null, max?: Literal | null, } } | { "matches": string };

/**
 * Bounds in milliseconds.
 */
export type Timeouts = { 
/**
 * From start to the answer to `initialize`.
 */
initialize_ms: number, 
/**
 * From sending a call to its answer, or to its next sign of progress.
 */
call_ms: number, 
/**
 * From sending a call to its answer, whatever progress it shows.
 */
total_ms: number, 
/**
 * In the place of `call_ms` for single tools, by the server's own names.
 */
tools: { [key in string]: number }, 
/**
 * Without a call, until the session is ended.
 */
idle_ms: number, 
/**
 * How often a server with sessions is asked whether it is there, while it has nothing to do; 0 for never.
 */
ping_ms: number, 
/**
 * For a local server to end by itself once it was asked to; then it is killed.
 */
stop_ms: number, };

/**
 * A moment, in milliseconds since 1970-01-01 UTC.
 */
export type Timestamp = number;

/**
 * A tool of a server, and what happens when a client calls it.
 */
export type ToolView = { server: ServerId, 
/**
 * The server's own name of the tool.
 */
name: string, 
/**
 * The name at the door: `server__tool`, at most 64 of `[A-Za-z0-9_-]`; that which it would have where it is not
 * at the door.
 */
exposed_name: string, 
/**
 * Why no client sees it and none can call it; empty where they can.
 */
hidden: string, 
/**
 * Whether a person has accepted its definition.
 */
standing: Standing, 
/**
 * About how many tokens a model spends on its definition in a list.
 */
tokens: number, title: string | null, description: string, input_schema: unknown, annotations: Annotations, 
/**
 * SHA-256 of the definition as the server sent it, hex.
 */
digest: string, 
/**
 * The policy that applies to a client without one of its own.
 */
policy: Effect, 
/**
 * The policy set for just this tool, for all clients.
 */
own_policy: Effect | null, };

/**
 * A step that a server session took.
 */
export type Transition = { at: Timestamp, 
/**
 * Whose session it is, where it is not shared.
 */
client: ClientName | null, 
/**
 * What it became: `idle`, `initializing`, `active`, `error` or `closed`.
 */
state: ServerState, 
/**
 * Why, in plain words.
 */
reason: string, };

/**
 * A listener.
 */
export type TransportHealth = { 
/**
 * `http` or `local`.
 */
name: string, 
/**
 * The URL of `http`, the path of the socket of `local`.
 */
address: string, listening: boolean, 
/**
 * Why it does not listen; empty where it does.
 */
error: string, };

/**
 * How Drawbridge speaks to a server.
 */
export type TransportKind = "stdio" | "http" | "sse";

/**
 * `servers.try`: the same for a spec that is not saved; secrets are passed on and not kept.
 */
export type TryServer = { spec: ServerSpec, secrets: SecretValues, };

/**
 * `servers.update`: replaces a server's spec, accepting the new one unless it is left pending.
 */
export type UpdateServer = { id: ServerId, spec: ServerSpec, secrets: SecretValues, 
/**
 * Leaves it waiting for the user's approval, where it would start something else than what was accepted.
 */
pending: boolean, };

/**
 * How closely the arguments of a call have to fit the tool's schema. They are sent byte for byte in any case.
 */
export type Validate = "strict" | "coercible" | "off";

/**
 * What a person decided.
 */
export type Verdict = { "kind": "approve_once", 
/**
 * The arguments to be sent in place of the client's, as JSON text.
 */
arguments: string | null, } | { "kind": "approve_for", seconds: number, when: Array<Condition>, } | { "kind": "approve_calls", count: number, when: Array<Condition>, } | { "kind": "approve_session", when: Array<Condition>, } | { "kind": "approve_always", when: Array<Condition>, } | { "kind": "deny", reason: string, };

/**
 * What a verdict would make.
 */
export type VerdictPreview = { 
/**
 * The rule in words; empty where the verdict makes none.
 */
rule: string, past: PastCalls, };

/**
 * What a server answered when it was verified.
 */
export type VerifiedView = { server_name: string | null, server_version: string | null, protocol_version: string, tools: Array<ToolView>, 
/**
 * Entries of its list of tools that no client would see.
 */
left_out: LeftOutEntries, 
/**
 * From start to the last page of tools.
 */
duration_ms: number, };

/**
 * `audit.verify`: recomputes the chain over all entries and calls.
 */
export type VerifyAudit = Record<symbol, never>;

/**
 * `servers.verify`: connects a saved server apart from its session, lists its tools, and ends the connection.
 */
export type VerifyServer = { id: ServerId, };

/**
 * What a client sees of a server's tools.
 */
export type Visibility = "visible" | "deferred";

/** Every verb: its parameters and its answer. */
export interface Verbs {
  "approvals.allow_retry": { params: AllowRetry; answer: RetryAllowed };
  "approvals.decide": { params: DecideApproval; answer: Call };
  "approvals.list": { params: ListApprovals; answer: Array<ApprovalRequest> };
  "approvals.missed": { params: ListMissed; answer: Array<ApprovalRequest> };
  "approvals.preview": { params: PreviewVerdict; answer: VerdictPreview };
  "approvals.show": { params: ShowApproval; answer: ApprovalRequest };
  "audit.export": { params: ExportAudit; answer: AuditPage };
  "audit.verify": { params: VerifyAudit; answer: AuditReport };
  "calls.list": { params: ListCalls; answer: Array<Call> };
  "calls.show": { params: ShowCall; answer: Call };
  "clients.add": { params: AddClient; answer: ClientAdded };
  "clients.list": { params: ListClients; answer: Array<ClientView> };
  "clients.revoke": { params: RevokeClient; answer: Done };
  "drawbridge.lower": { params: LowerDrawbridge; answer: DrawbridgeState };
  "drawbridge.raise": { params: RaiseDrawbridge; answer: DrawbridgeState };
  "drawbridge.show": { params: ShowDrawbridge; answer: DrawbridgeState };
  "health.show": { params: ShowHealth; answer: HealthView };
  "logs.list": { params: ListLogs; answer: Array<LogLine> };
  "policy.apply_preset": { params: ApplyPreset; answer: Done };
  "policy.export": { params: ExportPolicy; answer: PolicyFile };
  "policy.figures": { params: ShowFigures; answer: Figures };
  "policy.forget": { params: ForgetRule; answer: Done };
  "policy.import": { params: ImportPolicy; answer: Imported };
  "policy.list": { params: ListPolicy; answer: PolicyView };
  "policy.preview": { params: PreviewRule; answer: PastCalls };
  "policy.remove": { params: RemovePolicy; answer: Done };
  "policy.save": { params: SaveRule; answer: RuleView };
  "policy.set": { params: SetPolicy; answer: Done };
  "policy.set_default": { params: SetDefaultPolicy; answer: Done };
  "profiles.assign": { params: AssignProfile; answer: Done };
  "profiles.list": { params: ListProfiles; answer: Array<ProfileView> };
  "profiles.put": { params: PutProfile; answer: Done };
  "profiles.remove": { params: RemoveProfile; answer: Done };
  "screens.open": { params: OpenScreen; answer: ScreenLink };
  "secrets.list": { params: ListSecrets; answer: Array<SecretView> };
  "secrets.remove": { params: RemoveSecret; answer: Done };
  "secrets.set": { params: SetSecret; answer: Done };
  "servers.accept": { params: AcceptServer; answer: ServerView };
  "servers.accept_tools": { params: AcceptTools; answer: ServerView };
  "servers.add": { params: AddServer; answer: ServerView };
  "servers.authorize": { params: AuthorizeServer; answer: SignIn };
  "servers.await_sign_in": { params: AwaitSignIn; answer: SignIn };
  "servers.cancel_sign_in": { params: CancelSignIn; answer: Done };
  "servers.capabilities": { params: ShowCapabilities; answer: CapabilitiesView };
  "servers.check_runtimes": { params: CheckRuntimes; answer: Array<RuntimeFound> };
  "servers.enable": { params: EnableServer; answer: ServerView };
  "servers.fill_manifest": { params: FillManifest; answer: FilledManifest };
  "servers.list": { params: ListServers; answer: ServersView };
  "servers.measure": { params: MeasureServers; answer: Array<ServerUsage> };
  "servers.presets": { params: ListPresets; answer: Array<PresetView> };
  "servers.read_manifest": { params: ReadManifest; answer: ManifestView };
  "servers.read_specs": { params: ReadSpecs; answer: Array<ReadSpec> };
  "servers.remove": { params: RemoveServer; answer: Done };
  "servers.restart": { params: RestartServer; answer: ServerView };
  "servers.show": { params: ShowServer; answer: ServerView };
  "servers.sign_out": { params: SignOutServer; answer: ServerView };
  "servers.sync": { params: SyncServer; answer: ServerView };
  "servers.tool_history": { params: ShowToolHistory; answer: Array<DefinitionVersion> };
  "servers.try": { params: TryServer; answer: VerifiedView };
  "servers.update": { params: UpdateServer; answer: ServerView };
  "servers.verify": { params: VerifyServer; answer: VerifiedView };
  "settings.change": { params: ChangeSettings; answer: SettingsView };
  "settings.show": { params: ShowSettings; answer: SettingsView };
  "tools.call": { params: CallTool; answer: JsonValue };
  "tools.export": { params: ExportTools; answer: Array<FunctionTool> };
  "tools.list": { params: ListTools; answer: Array<ToolView> };
}
