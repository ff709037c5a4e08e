/**
 * A hub in memory, for tests and for development: `?fake` has data, `?fake=empty` has none, and
 * `?fake=app` has data and shows the screens as in the desktop app. The built UI does not contain
 * this hub.
 */

import {
  IpcError,
  type BrowserSignIn,
  type DesktopShell,
  type Event,
  type Ipc,
  type Verb,
  type Verbs,
} from "..";
import type {
  DefinitionKind,
  ApprovalRequest,
  AuditBreak,
  BrokenSpec,
  AuditEntryView,
  BrowserView,
  Call,
  CallAuditEntry,
  ClientMute,
  ClientView,
  Condition,
  DecideApproval,
  Decision,
  HookRun,
  HookView,
  KeptResult,
  LogLine,
  MemoryEntry,
  PairingRequest,
  Profile,
  RemovePolicy,
  RuleView,
  SecretValues,
  ServerSpec,
  ServerView,
  DrawbridgeState,
  RunningCallView,
  SettingsView,
  SignIn,
  SignInState,
} from "../bindings";
import { FakeClientFiles } from "./clientFiles";
import { advanceCalls, callVerbs, longCalls, startCall } from "./calls";
import { FakeImport } from "./clientImport";
import {
  callResult,
  capabilityEntries,
  checkSpec,
  failedStart,
  preflightChecks,
  promptResult,
  resourceResult,
} from "./capabilities";
import { FakeBackups } from "./backups";
import { fillBundle, openBundle } from "./bundles";
import { FakeDesktop } from "./desktop";
import { FakeFolders } from "./folders";
import { FakeSecrets } from "./secrets";
import * as data from "./data";
import { listInstructionsVersions, listVersions } from "./definitions";
import { describeDecision, listLogs } from "./logs";
import {
  createMemoryEntry,
  applyMemoryEdit,
  listMemory,
  listMemoryCategories,
  memoryEntries,
} from "./memory";
import { diagnosticsBundle, doctorReport } from "./doctor";
import { fillManifest, PRESETS, RUNTIMES } from "./manifests";
import { pairing, pairingRequest } from "./pairing";
import * as policy from "./policy";
import * as hooks from "./hooks";
import * as profiles from "./profiles";
import { FakeRegistry, REGISTRY_URL } from "./registry";
import { sampling, samplingView } from "./sampling";
import { inputSchema } from "./schemas";
import { readSpecs, sealSecrets } from "./specs";

/** How long a server takes to start, and how long a verification or a check of runtimes takes. */
const STEP_MS = 700;
/** The time after a missed call in which a person can allow a retry. */
const RETRY_MS = 120_000;
/** The number of missed requests in a row after which a client is muted for a while. */
const MAX_MISSED_IN_A_ROW = 3;
const MUTE_MS = 60_000;
const ENDPOINT_URL = "http://127.0.0.1:8765/mcp";

type Handlers = {
  [V in Verb]: (params: Verbs[V]["params"]) => Verbs[V]["answer"] | Promise<Verbs[V]["answer"]>;
};

export interface VerbCall<V extends Verb = Verb> {
  verb: V;
  params: Verbs[V]["params"];
}

export function fakeIpc(scenario = ""): FakeHub {
  const hub = new FakeHub(scenario === "empty");
  if (scenario !== "empty") hub.simulateUse();
  if (scenario === "app") hub.desktop = new FakeDesktop();
  return hub;
}

/** The most entries of the audit log in one page. */
const PAGE_SIZE = 500;

export class FakeHub implements Ipc {
  browser: BrowserSignIn | null = null;
  desktop: DesktopShell | null = null;
  opensBrowser = false;
  servers: ServerView[];
  /** The servers whose runs are being recorded. */
  private readonly recordedRuns = new Set<string>();
  clients: ClientView[];
  waiting: ApprovalRequest[] = [];
  missed: ApprovalRequest[] = [];
  /** The numbers of requests in a row that were missed, by client. */
  private readonly missedStreaks = new Map<string, number>();
  /** When the mutes of the muted clients end, in milliseconds since 1970. */
  private readonly mutes = new Map<string, number>();
  pairings: PairingRequest[] = [];
  readonly backups = new FakeBackups();
  browsers: BrowserView[] = data.browsers();
  paused = false;
  /** When the pause ends by itself, in milliseconds since 1970. */
  resumesAt: number | null = null;
  private resumeTimer: ReturnType<typeof setTimeout> | undefined;
  /** The reason why the HTTP listener does not listen, or an empty string. */
  httpError = "";
  /** The reason why the check of the disk fails, or an empty string. */
  diskError = "";
  calls: Call[];
  /** The calls that run now. */
  running: RunningCallView[] = [];
  logs: LogLine[];
  rules: RuleView[];
  profiles: Profile[];
  memory: MemoryEntry[];
  hooks: HookView[];
  hookRuns: HookRun[];
  audit: AuditEntryView[];
  /** The fault that a verification of the audit log finds, if there is one. */
  brokenAudit: AuditBreak | null = null;
  /** The spec files that cannot be read. */
  broken: BrokenSpec[];
  defaults = { ...policy.DEFAULT_EFFECTS };
  readonly folders = new FakeFolders();
  readonly secrets = new FakeSecrets();
  settings: SettingsView = {
    default_policy: "ask",
    approval_timeout_s: 50,
    cache_ttl_s: 300,
    audit_retention_days: 90,
    records_max_mib: 2048,
    keep_results: false,
    kept_result_kib: 64,
    kept_results_days: 7,
    log_retention_days: 7,
    logs_max_mib: 100,
    port: 8765,
    allowed_hosts: [],
    started_with_hosts: [],
    roots: [],
    elicitation_forms: true,
    official_registry_url: REGISTRY_URL,
    version: "0.1.0",
    data_dir: "/home/ada/.local/share/drawbridge",
    url: ENDPOINT_URL,
    oauth_client_metadata_url: "",
    otlp_endpoint: "",
    otlp_headers: {},
    otlp_content: false,
    secret_store_status: "ready",
    secret_store_remedy: "",
    secret_store: this.secrets.store,
    command: "/usr/bin/drawbridge",
    command_in_path: true,
  };
  sampling = samplingView();
  /** All calls of verbs, for tests. */
  readonly verbCalls: VerbCall[] = [];
  /** The errors with which the next calls of verbs fail, by verb. */
  readonly failures = new Map<Verb, IpcError>();
  readonly clientFiles = new FakeClientFiles((event) => this.emit(event));
  /** The time before the answer of each verb, in milliseconds. */
  delay = 0;
  readonly imports = new FakeImport(this);
  readonly registry = new FakeRegistry(this);
  private readonly listeners = new Set<(event: Event) => void>();
  private readonly connections = new Set<(connected: boolean) => void>();
  /** When requests stop waiting, or missed requests can no longer be allowed, by their ids. */
  private readonly deadlines = new Map<string, number>();
  /** The recorded arguments, by the id of the call. */
  readonly recordedArguments: Map<string, string>;
  /** The kept results, by the id of the call. */
  readonly results = new Map<string, KeptResult>();
  /** The params besides the arguments, and the arguments before an edit, by the id of the call. */
  private readonly requestDetails = new Map<string, Pick<Call, "extra" | "original_arguments">>();

  constructor(private readonly empty = false) {
    if (empty) {
      this.clientFiles.kinds = [];
      this.folders.clear();
      this.secrets.clear();
    }
    this.servers = empty ? [] : data.servers();
    this.broken = empty ? [] : data.broken();
    this.clients = empty ? [] : data.clients();
    this.calls = empty ? [] : data.calls();
    this.logs = empty ? [] : data.logs();
    this.rules = empty ? [] : data.rules();
    this.profiles = empty ? [] : profiles.profiles();
    this.memory = empty ? [] : memoryEntries();
    this.hookRuns = empty ? [] : hooks.hookRuns();
    this.hooks = empty ? [] : hooks.hooks(this.hookRuns);
    this.audit = data.auditEntries(empty);
    this.recordedArguments = policy.recordArguments(this.calls);
  }

  async call<V extends Verb>(verb: V, params: Verbs[V]["params"]): Promise<Verbs[V]["answer"]> {
    this.verbCalls.push({ verb, params: structuredClone(params) });
    if (this.delay) await new Promise((resolve) => setTimeout(resolve, this.delay));
    const failure = this.failures.get(verb);
    this.failures.delete(verb);
    if (failure) throw failure;
    return structuredClone(await (this.verbs[verb] as Handlers[V])(params));
  }

  subscribe(
    onEvent: (event: Event) => void,
    onConnection?: (connected: boolean) => void,
  ): () => void {
    this.listeners.add(onEvent);
    if (onConnection) {
      this.connections.add(onConnection);
      onConnection(true);
    }
    return () => {
      this.listeners.delete(onEvent);
      if (onConnection) this.connections.delete(onConnection);
    };
  }

  emit(event: Event): void {
    for (const listener of this.listeners) listener(structuredClone(event));
  }

  /** Reports a change of the connection. */
  setConnected(connected: boolean): void {
    for (const listener of this.connections) listener(connected);
  }

  /** Lets an unknown client ask to be paired. */
  addPairing(part: Partial<PairingRequest> = {}): PairingRequest {
    const request = pairingRequest({ id: `pairing-${this.pairings.length + 1}`, ...part });
    this.pairings.push(request);
    this.emit({ kind: "pairing_requested", request });
    return request;
  }

  addApproval(part: Partial<ApprovalRequest> = {}): ApprovalRequest {
    const request = data.request(part);
    this.recordedArguments.set(request.id, request.arguments);
    if (request.extra !== null) this.requestDetails.set(request.id, { extra: request.extra });
    if (this.paused) return this.refuse(request, "paused", "All calls are paused.");
    if (this.muteOf(request.client))
      return this.refuse(request, "muted", "nobody decided the last 3 requests of the client");
    this.waiting.push(request);
    this.deadlines.set(request.id, performance.now() + request.remaining_ms);
    setTimeout(() => this.miss(request.id), request.remaining_ms);
    this.emit({ kind: "approval_requested", request });
    return request;
  }

  log(part: Partial<LogLine>): void {
    const line: LogLine = {
      seq: (this.logs.at(-1)?.seq ?? 0) + 1,
      at: Date.now(),
      level: "info",
      server: null,
      kind: "hub",
      area: "hub",
      text: "",
      ...part,
    };
    this.logs.push(line);
    this.emit({ kind: "log_added", line });
  }

  /** Advances a sign-in, as a person does in the browser. */
  signIn(id: string, state: SignInState): void {
    const attempt = this.server(id).signing_in;
    if (!attempt) return;
    const done = state.kind === "done";
    this.update(id, {
      signing_in: { ...attempt, state },
      ...(done && {
        state: "active",
        reason: "",
        remedy: "",
        sign_in: {
          kind: "signed_in",
          issuer: "https://auth.example.com",
          expires_at: Date.now() + 3_600_000,
        },
      }),
    });
    this.emit({ kind: "sign_in_changed", id: attempt.id, server: id, state });
  }

  /**
   * Adds requests, records and running calls, and then further requests and log lines at intervals,
   * for development.
   */
  simulateUse(): void {
    this.delay = 60;
    for (const request of [...data.requests(), ...data.otherRequests(), ...data.bridgedRequests()])
      this.addApproval(request);
    this.addPairing();
    this.calls = [...data.otherRecords(), ...this.calls];
    this.settings.keep_results = true;
    for (const { id, tool, outcome } of this.calls.slice(0, 20))
      if (outcome === "ok") {
        const text = JSON.stringify({ content: [{ type: "text", text: `The result of ${tool}` }] });
        this.results.set(id, { text, is_cut: false, bytes: text.length });
      }
    for (const part of longCalls()) startCall(this, part);
    setInterval(() => advanceCalls(this), 1000);
    setInterval(
      () =>
        this.log({
          level: "debug",
          area: "cache",
          text: `github: refreshed in the background, ${String(3 + (this.logs.length % 4))} tools`,
        }),
      4000,
    );
    setInterval(() => {
      if (this.waiting.length < 2)
        this.addApproval({ ...data.requests()[this.logs.length % 3], remaining_ms: 50_000 });
    }, 9000);
  }

  private readonly verbs: Handlers = {
    "approvals.list": () => this.waiting.map((request) => this.updateRemainingTime(request)),
    "approvals.show": ({ id }) => this.updateRemainingTime(this.request(id)),
    "approvals.decide": (params) => this.decide(params),
    "approvals.missed": () =>
      this.missed
        .map((request) => this.updateRemainingTime(request))
        .filter((request) => request.remaining_ms > 0),
    "approvals.open_url": ({ id, digest }) => {
      const { url } = JSON.parse(this.request(id).arguments) as { url: string };
      this.decide({ id, digest, verdict: { kind: "fill_in", content: null } });
      return { url };
    },
    "approvals.allow_retry": ({ id, digest }) => {
      const request = requireFound(
        this.missed.find((request) => request.id === id),
        "missed call",
        id,
      );
      if (request.digest !== digest)
        throw new IpcError("conflict", "The call changed since it was shown. Nothing was allowed.");
      this.missed = this.missed.filter((request) => request.id !== id);
      this.emit({ kind: "approval_ended", id });
      return { seconds: Math.floor(this.updateRemainingTime(request).remaining_ms / 1000) };
    },
    "approvals.preview": ({ id, verdict }) => {
      const request = this.request(id);
      const rule = policy.toVerdictRule(request, verdict);
      if (!rule) return { rule: "", dry_run: { examined: 0, matched: 0, unknown: 0, newest: [] } };
      this.checkVerdictRule(request, rule.conditions);
      return {
        rule: policy.describeRule(rule),
        dry_run: policy.matchCalls(rule, this.calls, this.recordedArguments),
      };
    },
    "approvals.last_calls": ({ id }) => {
      const { session } = this.request(id);
      const ofSession = this.calls.filter((call) => session && call.session === session);
      return ofSession.toSorted((a, b) => b.at - a.at).slice(0, 5);
    },
    ...this.clientFiles.verbs,
    "config.find_servers": () => this.imports.find(),
    "config.preview_import": (params) => this.imports.preview(params),
    "config.import": (params) => this.imports.import(params),
    "config.undo": (params) =>
      this.imports.undo(params.change) ?? this.clientFiles.verbs["config.undo"](params),
    ...this.registry.verbs,
    ...pairing(this),
    ...sampling(this),
    "drawbridge.show": () => ({ paused: this.paused, resumes_at: this.resumesAt }),
    "drawbridge.pause": ({ for_s }) => this.setPaused(true, for_s),
    "drawbridge.resume": () => this.setPaused(false),
    "audit.export": () => ({ calls: [], next: null }),
    "audit.list": ({ kind, before, limit }) => {
      const found = this.audit.filter(
        (entry) =>
          (kind === null || entry.kind === kind) && (before === null || entry.seq < before),
      );
      const entries = found.slice(0, limit ?? PAGE_SIZE);
      return {
        entries,
        next: found.length > entries.length ? (entries.at(-1)?.seq ?? null) : null,
      };
    },
    "audit.verify_call": ({ id }) => {
      const call = this.calls.find((call) => call.id === id);
      if (!call) return [];
      const seq = 2 * (this.calls.length - this.calls.indexOf(call));
      const entry = (kind: CallAuditEntry["kind"], step: number): CallAuditEntry => ({
        seq: seq + step,
        at: call.at + step * (call.duration_ms ?? 0),
        kind,
        hash: (seq + step).toString(16).padStart(64, "5f2b0c9d"),
        fault: this.brokenAudit?.seq === seq + step ? this.brokenAudit.reason : null,
      });
      const hasEnded = call.decision === "allowed" && call.outcome !== "running";
      return [entry("decided", 0), ...(hasEnded ? [entry("ended", 1)] : [])];
    },
    "audit.verify": () => ({
      entries: 2 * this.calls.length,
      from: this.calls.at(-1)?.at ?? null,
      to: this.calls[0]?.at ?? null,
      broken: this.brokenAudit,
    }),
    "calls.list": ({
      client,
      session,
      server,
      tool,
      needed_approval,
      text,
      decision,
      outcome,
      before,
      since,
      until,
      limit,
    }) =>
      this.calls
        .filter(
          (c) =>
            (client === null || c.client === client) &&
            (session === null || c.session === session) &&
            (server === null || c.server === server) &&
            (tool === null || c.tool === tool),
        )
        .filter(
          (c) =>
            (decision === null || c.decision === decision) &&
            (outcome === null || c.outcome === outcome) &&
            c.at >= (since ?? 0) &&
            c.at < (until ?? Infinity) &&
            (before === null || c.id < before),
        )
        .filter((c) =>
          [c.method, c.tool, c.exposed_name, c.reason, c.error].some((field) =>
            field.toLowerCase().includes(text?.toLowerCase() ?? ""),
          ),
        )
        .filter(
          (c) =>
            !needed_approval ||
            c.decided_by === "person" ||
            ["timed_out", "no_screen", "queue_full", "abandoned"].includes(c.decision),
        )
        .toSorted((a, b) => b.at - a.at)
        .slice(0, limit ?? 200),
    "calls.show": ({ id }) => {
      const call = requireFound(
        this.calls.find((c) => c.id === id),
        "call",
        id,
      );
      const recorded = this.recordedArguments.get(id);
      const result = this.results.get(id);
      return {
        ...call,
        ...(recorded !== undefined && { arguments: recorded }),
        ...this.requestDetails.get(id),
        ...(result && { result }),
      };
    },
    ...callVerbs(this),
    "clients.add": ({ name, token, user }) => {
      if (!/^[A-Za-z0-9._-]{1,64}$/.test(name))
        throw new IpcError(
          "invalid",
          "A client's name is 1 to 64 letters, digits, dots, dashes and underscores.",
        );
      if (this.clients.some((c) => c.name === name && c.revoked_at === null))
        throw new IpcError(
          "conflict",
          `There is a client named ${name} already. Revoke it first, or choose another name.`,
        );
      this.clients = data.addClient(this.clients, name, null, user ?? undefined);
      const secret = token ?? "db_5rX0mVtq9Yk2nWc8Lh4JpZ7sDfA1uGe3";
      this.emit({ kind: "clients_changed" });
      return {
        name,
        token: secret,
        url: ENDPOINT_URL,
        config: {
          mcpServers: {
            drawbridge: {
              type: "http",
              url: ENDPOINT_URL,
              headers: { Authorization: `Bearer ${secret}` },
            },
          },
        },
        stdio_config: {
          mcpServers: { drawbridge: { command: "drawbridge", args: ["stdio", "--client", name] } },
        },
      };
    },
    "clients.list": () =>
      this.clients.map((client) => ({ ...client, mute: this.muteOf(client.name) })),
    "clients.rotate": ({ name, token }) => {
      requireFound(
        this.clients.find((c) => c.name === name),
        "client",
        name,
      );
      const secret = token ?? "db_7rotated9Yk2nWc8Lh4JpZ7sDfA1uGe3";
      return {
        name,
        token: secret,
        url: ENDPOINT_URL,
        config: { mcpServers: { drawbridge: { type: "http", url: ENDPOINT_URL } } },
        updated_files: [],
        failed_files: [],
      };
    },
    "clients.set_user": ({ name, user }) => {
      requireFound(
        this.clients.find((c) => c.name === name),
        "client",
        name,
      ).user = user;
      this.emit({ kind: "clients_changed" });
      return {};
    },
    "clients.limit": ({ name, calls_per_minute }) => {
      requireFound(
        this.clients.find((c) => c.name === name),
        "client",
        name,
      ).calls_per_minute = calls_per_minute;
      this.emit({ kind: "clients_changed" });
      return {};
    },
    "clients.unmute": ({ name }) => {
      requireFound(
        this.clients.find((c) => c.name === name && c.revoked_at === null),
        "client",
        name,
      );
      return { was_muted: this.unmute(name) };
    },
    "clients.revoke": ({ name }) => {
      const client = requireFound(
        this.clients.find((c) => c.name === name),
        "client",
        name,
      );
      client.revoked_at = Date.now();
      client.sessions = 0;
      this.unmute(name);
      this.emit({ kind: "clients_changed" });
      return {};
    },
    "doctor.run": () => doctorReport(),
    "doctor.bundle": () => diagnosticsBundle(),
    "health.show": () => ({
      status: "degraded",
      service: "drawbridge",
      version: "0.1.0",
      builtin_tools: { total: 0, names: [] },
      registry: {
        servers_total: this.servers.length,
        servers_enabled: this.servers.filter((s) => s.state !== "disabled").length,
      },
      storage: { active_users: 1 },
      ready: true,
      checks: [
        { name: "database", ok: true, error: "" },
        { name: "listeners", ok: !this.httpError, error: this.httpError },
        { name: "registry", ok: true, error: "" },
        { name: "disk", ok: !this.diskError, error: this.diskError },
      ],
      sessions: 2,
      servers: {
        connected: 2,
        errors: 1,
        states: this.servers.map(({ id, state }) => ({ id, state })),
      },
      transports: [
        {
          name: "http",
          address: this.settings.url ?? "http://127.0.0.1:8765/mcp",
          listening: !this.httpError,
          error: this.httpError,
        },
        {
          name: "local",
          address: "/run/user/1000/drawbridge.sock",
          // The fake hub with data shows a listener that failed.
          listening: this.empty,
          error: this.empty ? "" : "permission denied",
        },
      ],
    }),
    "logs.list": (params) => listLogs(this.logs, params),
    "memory.list": (filter) => listMemory(this.memory, filter),
    "memory.categories": () => listMemoryCategories(this.memory),
    "memory.show": ({ id }) => this.findMemory(id),
    "memory.add": (added) => {
      const entry = createMemoryEntry(this.memory, added);
      this.changeMemory([entry, ...this.memory]);
      return entry;
    },
    "memory.edit": (change) => {
      const entry = applyMemoryEdit(this.findMemory(change.id), change);
      this.changeMemory(this.memory.map((other) => (other.id === entry.id ? entry : other)));
      return entry;
    },
    "memory.delete": ({ ids }) => {
      const kept = this.memory.filter((entry) => !ids.includes(entry.id));
      const deleted = this.memory.length - kept.length;
      this.changeMemory(kept);
      return { deleted };
    },
    "policy.list": () => ({ defaults: this.defaults, rules: this.rules }),
    "policy.save": ({ id, rule }) => {
      policy.checkRule(rule);
      const saved = policy.toRuleView(
        rule,
        id === null
          ? {}
          : {
              id: requireFound(
                this.rules.find((rule) => rule.id === id),
                "rule",
                id,
              ).id,
            },
      );
      this.rules =
        id === null
          ? [...this.rules, saved]
          : this.rules.map((rule) => (rule.id === id ? saved : rule));
      this.applyPolicy();
      return saved;
    },
    "policy.delete_rule": ({ id }) => {
      requireFound(
        this.rules.find((rule) => rule.id === id),
        "rule",
        id,
      );
      this.rules = this.rules.filter((rule) => rule.id !== id);
      this.applyPolicy();
      return {};
    },
    "policy.enable_rule": ({ id }) => this.setRuleEnabled(id, true),
    "policy.disable_rule": ({ id }) => this.setRuleEnabled(id, false),
    "policy.check_rule": ({ rule }) => policy.warnAbout(rule, this.servers),
    "policy.preview": ({ rule }) => {
      policy.checkRule(rule);
      return policy.matchCalls(rule, this.calls, this.recordedArguments);
    },
    "policy.export": () => ({ text: policy.exportRules(this.defaults, this.rules) }),
    "policy.import": ({ text, replace }) => {
      const file = policy.parseRules(text);
      this.rules = [
        ...(replace ? [] : this.rules),
        ...file.rules.map((rule) => policy.toRuleView(rule)),
      ];
      if (replace && file.defaults) this.defaults = { ...policy.DEFAULT_EFFECTS, ...file.defaults };
      this.applyPolicy();
      return { rules: file.rules.length };
    },
    "policy.stats": ({ days }) =>
      policy.computeStats(this.calls, this.rules, this.servers, days ?? 14),
    "policy.apply_preset": ({ preset }) => {
      const applied = policy.presetRules(preset, this.rules);
      this.defaults = { ...this.defaults, tools: applied.default };
      this.rules = applied.rules;
      this.applyPolicy();
      return {};
    },
    "policy.set": ({ effect, ...scope }) => {
      this.dropRules(scope);
      this.rules.push(policy.toRuleView({ ...policy.EMPTY_RULE, ...scope, effect }));
      this.applyPolicy();
      return {};
    },
    "policy.remove": (scope) => {
      this.dropRules(scope);
      this.applyPolicy();
      return {};
    },
    "policy.set_default": ({ effect, kind }) => {
      this.defaults = { ...this.defaults, [kind ?? "tools"]: effect };
      this.applyPolicy();
      return {};
    },
    "hooks.list": () => this.hooks,
    "hooks.add": ({ hook, position }) =>
      this.changeHooks(() => {
        const state = { runs: 0, failures: 0, dropped: 0, last: null };
        this.hooks = this.hooks.toSpliced(position ?? this.hooks.length, 0, { ...hook, state });
      }),
    "hooks.edit": ({ name, hook }) =>
      this.changeHooks(() => {
        this.hook(name);
        this.hooks = this.hooks.map((each) => (each.name === name ? { ...each, ...hook } : each));
      }),
    "hooks.remove": ({ name }) =>
      this.changeHooks(() => {
        this.hook(name);
        this.hooks = this.hooks.filter((each) => each.name !== name);
      }),
    "hooks.enable": ({ name }) => this.changeHooks(() => (this.hook(name).enabled = true)),
    "hooks.disable": ({ name }) => this.changeHooks(() => (this.hook(name).enabled = false)),
    "hooks.reorder": ({ name, position }) =>
      this.changeHooks(() => {
        const moved = this.hook(name);
        const others = this.hooks.filter((each) => each !== moved);
        this.hooks = others.toSpliced(position, 0, moved);
      }),
    "hooks.try": ({ hook, event, payload }) => hooks.runTrial(hook, event, payload),
    "hooks.log": ({ name }) => this.hookRuns.filter((run) => name === null || run.hook === name),
    "hooks.samples": () => hooks.samples(),
    "profiles.assign": ({ client, profile }) =>
      this.changeProfiles(() => {
        requireFound(
          this.clients.find((c) => c.name === client),
          "client",
          client,
        ).profile = profile;
        this.clients = this.clients.map((other) =>
          other.name === client ? { ...other, profile_removed: false } : other,
        );
      }),
    "profiles.list": () =>
      this.profiles.map((profile) => profiles.toProfileView(profile, this.servers, this.clients)),
    "profiles.put": ({ profile }) =>
      this.changeProfiles(() => {
        this.profiles = profiles.putProfile(this.profiles, profile);
      }),
    "profiles.remove": ({ name }) =>
      this.changeProfiles(() => {
        requireFound(
          this.profiles.find((profile) => profile.name === name),
          "profile",
          name,
        );
        this.profiles = this.profiles.filter((profile) => profile.name !== name);
        this.clients = this.clients.map((client) =>
          client.profile === name ? { ...client, profile: null, profile_removed: true } : client,
        );
      }),
    "screens.open": () => ({ url: "http://127.0.0.1:8765/#login=4f1c", code: "4f1c" }),
    "screens.check_code": () => ({ state: "waiting" }),
    "backup.list": () => this.backups.list(),
    "backup.create": () => this.backups.create(),
    "backup.check": ({ file }) => this.backups.check(file),
    "backup.restore": ({ file }) => this.backups.restore(file),
    "backup.reset": ({ parts }) => this.backups.reset(parts, () => this.secrets.removeValues()),
    "backup.cancel": () => this.backups.cancel(),
    "browsers.list": () => this.browsers,
    "browsers.sign_out": ({ id }) => this.signOutBrowsers((browser) => browser.id === id),
    "browsers.sign_out_all": () => this.signOutBrowsers(() => true),
    "bundles.open": ({ source }) => openBundle(source),
    "bundles.add": (bundle) =>
      this.update(this.addServer(fillBundle(bundle)).id, {
        acceptance: "new",
        state: "needs_acceptance",
        reason: "it is new and not accepted yet",
        remedy: "Check what the server would start, then accept it.",
      }),
    "secrets.list": () => this.secrets.list(),
    "secrets.remove": ({ name }) => this.secrets.set(name, false),
    "secrets.rename": ({ name, new_name }) => this.secrets.rename(name, new_name),
    "secrets.set": ({ name }) => this.secrets.set(name, true),
    "secrets.show_store": () => this.secrets.store,
    "secrets.use_store": (place) => {
      const change = this.secrets.useStore(place);
      this.settings = { ...this.settings, secret_store: change.store };
      this.emit({ kind: "settings_changed" });
      return change;
    },
    "secrets.unlock": () => {
      const store = this.secrets.unlock();
      this.settings = { ...this.settings, secret_store: store, secret_store_status: store.status };
      this.emit({ kind: "settings_changed" });
      return store;
    },
    "servers.accept": ({ id }) => this.start(this.server(id), { acceptance: "accepted" }),
    "servers.accept_definitions": ({ id, definitions }) => {
      const view = this.server(id);
      for (const { kind, name, digest } of definitions) {
        const waiting = requireFound(
          view.unaccepted.find(
            (definition) => definition.kind === kind && definition.name === name,
          ),
          "definition",
          name,
        );
        if (waiting.digest !== digest)
          throw new IpcError(
            "conflict",
            `${name} changed again since it was shown. Nothing was accepted.`,
          );
      }
      const isAccepted = (kind: DefinitionKind, name: string) =>
        definitions.some((accepted) => accepted.kind === kind && accepted.name === name);
      for (const tool of view.tools.filter(({ name }) => isAccepted("tool", name)))
        Object.assign(tool, { acceptance: "accepted", hidden: "" });
      return this.update(id, {
        unaccepted: view.unaccepted.filter(({ kind, name }) => !isAccepted(kind, name)),
        tokens: view.tools.reduce((sum, t) => sum + (t.hidden ? 0 : t.tokens), 0),
      });
    },
    "servers.add": (server) => this.start(this.addServer(server), {}),
    "servers.sign_in": ({ id }) => {
      const running = this.server(id).signing_in;
      if (running && running.state.kind !== "failed" && running.state.kind !== "done")
        return running;
      const attempt: SignIn = {
        id: `try-${id}`,
        url: data.SIGN_IN_URL,
        state: { kind: "waiting_for_browser" },
      };
      this.update(id, { signing_in: attempt });
      return attempt;
    },
    "servers.await_sign_in": ({ id }) =>
      requireFound(this.server(id).signing_in ?? undefined, "attempt to sign in to", id),
    "servers.cancel_sign_in": ({ id }) => {
      this.update(id, { signing_in: null });
      return {};
    },
    "servers.sign_out": ({ id }) =>
      this.update(id, {
        sign_in: { kind: "needed" },
        state: "needs_sign_in",
        signing_in: null,
      }),
    "servers.enable": ({ id, enabled }) => {
      // The fake hub does not list the built-in server `folders`.
      if (id === "folders") {
        this.folders.view = { ...this.folders.view, enabled };
        return { ...(this.servers[0] as ServerView), id, name: "Shared folders" };
      }
      return this.update(id, {
        state: enabled ? "idle" : "disabled",
        pid: null,
        sandbox: null,
        reason: "",
        remedy: enabled ? "" : "Enable the server to use its tools.",
      });
    },
    "servers.move_literals": ({ id }) => this.update(id, { literal_secrets: [] }),
    "servers.pin": ({ id }) => {
      const { spec, floating } = this.server(id);
      const pin = (arg: string) =>
        floating.includes(arg) ? `${arg.replace(/(?<=.)@[^/]*$/, "")}@1.2.3` : arg;
      return this.update(id, {
        spec: { ...spec, args: spec.args?.map(pin) },
        floating: [],
      });
    },
    "servers.capabilities": ({ id }) => {
      const { sync_status, last_synced_at, tools } = this.server(id);
      return {
        id,
        sync_status,
        last_synced_at,
        tools: tools.map((t) => ({
          name: t.name,
          description: t.description,
          inputSchema: inputSchema(t),
        })),
        prompts: [],
        resources: [],
        templates: [],
        entries: capabilityEntries(id),
      };
    },
    "servers.check_runtimes": async () => {
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
      return RUNTIMES;
    },
    "servers.fill_manifest": (params) =>
      fillManifest(params, this.registry.readManifest(params.source)),
    "servers.usage": () =>
      this.servers
        .filter((s) => s.pid !== null)
        .map(({ id }) => ({
          id,
          processes: 2,
          memory_kib: 96_000 + (Date.now() % 9000),
          cpu_percent: (Date.now() % 47) / 10,
        })),
    "servers.presets": () => PRESETS,
    "servers.read_manifest": ({ source }) => this.registry.readManifest(source),
    "servers.definition_history": ({ id, kind, name }) =>
      kind === "instructions"
        ? listInstructionsVersions()
        : listVersions(
            requireFound(
              this.server(id).tools.find((t) => t.name === name),
              kind,
              name,
            ),
          ),
    "servers.list": () => ({ servers: this.servers, broken: this.broken }),
    "servers.read_specs": ({ text }) => readSpecs(text),
    "servers.remove": ({ id }) => {
      this.server(id);
      this.servers = this.servers.filter((s) => s.id !== id);
      this.emit({ kind: "server_changed", id });
      return {};
    },
    "servers.access_report": ({ id }) =>
      data.accessReport(this.server(id), this.recordedRuns.has(id)),
    "servers.record": ({ id }) => {
      const server = this.server(id);
      this.recordedRuns.add(id);
      this.start(server, { starts: server.starts + 1 });
      return data.accessReport(server, true);
    },
    "servers.restart": ({ id }) =>
      this.start(this.server(id), { starts: this.server(id).starts + 1 }),
    "servers.show": ({ id }) => this.server(id),
    "servers.sync": ({ id }) =>
      this.update(id, { sync_status: "SYNCED", last_synced_at: Date.now(), stale: false }),
    "servers.verify_spec": ({ spec, secrets }) => this.verify(spec, secrets),
    "servers.update": ({ id, spec, secrets }) =>
      this.start(this.server(id), { spec: sealSecrets(id, spec, secrets), name: spec.name ?? id }),
    "servers.verify": ({ id }) => this.verify(this.server(id).spec, { env: {}, headers: {} }),
    "settings.change": ({
      approval_timeout_s,
      cache_ttl_s,
      oauth_client_metadata_url,
      audit_retention_days,
      records_max_mib,
      keep_results,
      kept_result_kib,
      kept_results_days,
      log_retention_days,
      logs_max_mib,
      otlp_endpoint,
      otlp_headers,
      otlp_content,
      port,
      allowed_hosts,
      roots,
      elicitation_forms,
      official_registry_url,
    }) => {
      if (allowed_hosts?.some((host) => host.includes("*")))
        throw new IpcError("invalid", "'allowed_hosts': '*' is not a host: use a name");
      this.settings.allowed_hosts = allowed_hosts ?? this.settings.allowed_hosts;
      if (roots?.some((root) => !/^(\/|file:\/\/\/)/.test(root)))
        throw new IpcError("invalid", "A root is an absolute path or a file:// URL.");
      this.settings.roots =
        roots?.map((root) => new URL(root, "file:///").href) ?? this.settings.roots;
      this.settings.elicitation_forms = elicitation_forms ?? this.settings.elicitation_forms;
      if (official_registry_url && !official_registry_url.startsWith("https://"))
        throw new IpcError("invalid", "'official_registry_url' must be an https URL.");
      this.settings.official_registry_url =
        official_registry_url ?? this.settings.official_registry_url;
      this.settings.otlp_endpoint = otlp_endpoint ?? this.settings.otlp_endpoint;
      this.settings.otlp_headers = otlp_headers ?? this.settings.otlp_headers;
      this.settings.otlp_content = otlp_content ?? this.settings.otlp_content;
      if (oauth_client_metadata_url) new URL(oauth_client_metadata_url);
      this.settings.oauth_client_metadata_url =
        oauth_client_metadata_url ?? this.settings.oauth_client_metadata_url;
      if (approval_timeout_s !== null && (approval_timeout_s < 5 || approval_timeout_s > 600))
        throw new IpcError("invalid", "'approval_timeout_s' must be 5 to 600 seconds.");
      if (cache_ttl_s !== null && (cache_ttl_s < 10 || cache_ttl_s > 86_400))
        throw new IpcError("invalid", "'cache_ttl_s' must be 10 to 86400 seconds.");
      this.settings.approval_timeout_s = approval_timeout_s ?? this.settings.approval_timeout_s;
      this.settings.cache_ttl_s = cache_ttl_s ?? this.settings.cache_ttl_s;
      if (audit_retention_days !== null && audit_retention_days > 3650)
        throw new IpcError(
          "invalid",
          "'audit_retention_days' must be 1 to 3650, or 0 to keep everything.",
        );
      this.settings.audit_retention_days =
        audit_retention_days ?? this.settings.audit_retention_days;
      if (records_max_mib && (records_max_mib < 64 || records_max_mib > 1_000_000))
        throw new IpcError(
          "invalid",
          "'records_max_mib' must be 64 to 1000000, or 0 for no limit.",
        );
      this.settings.records_max_mib = records_max_mib ?? this.settings.records_max_mib;
      if (kept_result_kib !== null && (kept_result_kib < 1 || kept_result_kib > 1024))
        throw new IpcError("invalid", "'kept_result_kib' must be 1 to 1024.");
      if (kept_results_days !== null && (kept_results_days < 1 || kept_results_days > 365))
        throw new IpcError("invalid", "'kept_results_days' must be 1 to 365.");
      this.settings.keep_results = keep_results ?? this.settings.keep_results;
      this.settings.kept_result_kib = kept_result_kib ?? this.settings.kept_result_kib;
      this.settings.kept_results_days = kept_results_days ?? this.settings.kept_results_days;
      if (log_retention_days !== null && log_retention_days > 3650)
        throw new IpcError(
          "invalid",
          "'log_retention_days' must be 1 to 3650, or 0 to keep everything.",
        );
      this.settings.log_retention_days = log_retention_days ?? this.settings.log_retention_days;
      if (logs_max_mib && (logs_max_mib < 10 || logs_max_mib > 1_000_000))
        throw new IpcError("invalid", "'logs_max_mib' must be 10 to 1000000, or 0 for no limit.");
      this.settings.logs_max_mib = logs_max_mib ?? this.settings.logs_max_mib;
      if (port !== null) {
        this.settings.port = port;
        this.settings.url = `http://127.0.0.1:${port}/mcp`;
        this.httpError = "";
      }
      this.emit({ kind: "settings_changed" });
      return this.settings;
    },
    "settings.show": () => this.settings,
    "folders.list": () => this.folders.view,
    "folders.add": ({ path, all_files }) => {
      const view = this.folders.add(path, all_files ?? false);
      this.emit({ kind: "settings_changed" });
      return view;
    },
    "folders.remove": ({ path }) => {
      const view = this.folders.remove(path);
      this.emit({ kind: "settings_changed" });
      return view;
    },
    "prompts.get": ({ name, arguments: values }) => promptResult(name, values),
    "resources.read": ({ uri }) => resourceResult(uri),
    "servers.check_spec": ({ text }) => checkSpec(text),
    "servers.preflight": ({ id }) => preflightChecks(this.server(id)),
    "tools.call": ({ name, arguments: values }) => callResult(name, values),
    "tools.export": () =>
      this.servers
        .flatMap((s) => s.tools)
        .map((t) => ({
          type: "function",
          function: {
            name: t.exposed_name,
            description: t.description,
            parameters: inputSchema(t),
          },
        })),
    "tools.list": () =>
      this.servers.flatMap((s) => s.tools).map((t) => ({ ...t, input_schema: inputSchema(t) })),
    "tools.schema": ({ server, name }) =>
      inputSchema(
        requireFound(
          this.server(server).tools.find((t) => t.name === name),
          "tool",
          name,
        ),
      ),
  };

  private server(id: string): ServerView {
    return requireFound(
      this.servers.find((s) => s.id === id),
      "server",
      id,
    );
  }

  private findMemory(id: number): MemoryEntry {
    return requireFound(
      this.memory.find((entry) => entry.id === id),
      "entry",
      String(id),
    );
  }

  private changeMemory(entries: MemoryEntry[]): void {
    this.memory = entries;
    this.emit({ kind: "memory_changed" });
  }

  private signOutBrowsers(
    isSelected: (browser: BrowserView) => boolean,
  ): Verbs["browsers.sign_out"]["answer"] {
    this.browsers = this.browsers.filter((browser) => !isSelected(browser));
    this.emit({ kind: "browsers_changed" });
    return {};
  }

  private hook(name: string): HookView {
    return requireFound(
      this.hooks.find((each) => each.name === name),
      "hook",
      name,
    );
  }

  private changeHooks(change: () => void): Verbs["hooks.add"]["answer"] {
    change();
    this.emit({ kind: "hooks_changed" });
    return {};
  }

  private changeProfiles(change: () => void): Verbs["profiles.put"]["answer"] {
    change();
    this.emit({ kind: "profiles_changed" });
    return {};
  }

  private update(id: string, part: Partial<ServerView>): ServerView {
    const view = Object.assign(this.server(id), part);
    this.emit({ kind: "server_changed", id });
    return view;
  }

  private addServer({ spec, secrets }: { spec: ServerSpec; secrets: SecretValues }): ServerView {
    const id = (spec.name ?? "").toLowerCase().replace(/[^a-z0-9_-]+/g, "-");
    if (!id) throw new IpcError("invalid", "A server needs a name.");
    if (this.servers.some((s) => s.id === id))
      throw new IpcError("conflict", `There is a server named ${id} already. Choose another name.`);
    this.servers = [
      ...this.servers,
      data.server(id, {
        name: spec.name ?? id,
        spec: sealSecrets(id, spec, secrets),
        sync_status: "NEVER_SYNCED",
        last_synced_at: null,
      }),
    ].toSorted((a, b) => (a.id < b.id ? -1 : 1));
    return this.server(id);
  }

  /** Sets `part`, and starts the server, which is active after `STEP_MS`. */
  private start(view: ServerView, part: Partial<ServerView>): ServerView {
    setTimeout(() => {
      if (!this.servers.includes(view)) return;
      const tools = view.tools.length
        ? view.tools
        : [
            data.tool(view.id, "echo", "Says what it is told."),
            data.tool(view.id, "add", "Adds two numbers."),
          ];
      this.update(view.id, {
        state: "active",
        reason: "",
        sync_status: "SYNCED",
        last_synced_at: Date.now(),
        stale: false,
        server_name: view.id,
        server_version: "1.0.0",
        protocol_version: "2025-11-25",
        tools,
        tokens: tools.reduce((sum, t) => sum + (t.hidden ? 0 : t.tokens), 0),
        starts: view.starts + 1,
        pid: view.spec.url ? null : 51_002,
        sandbox: view.spec.sandbox ? { landlock: 7, signals: true } : null,
      });
    }, STEP_MS);
    const slow = ["npx", "uvx"].includes(view.spec.command ?? "");
    return this.update(view.id, {
      state: "initializing",
      reason: slow
        ? `${view.spec.command ?? ""} may have to download the server first. The first start can take a few minutes.`
        : "The hub has started the server and waits for its first answer.",
      retry_at: null,
      crashed_often: false,
      remedy: "",
      sync_status: "SYNCING",
      ...part,
    });
  }

  private async verify(
    spec: ServerSpec,
    secrets: SecretValues,
  ): Promise<Verbs["servers.verify_spec"]["answer"]> {
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    if (spec.command?.includes("nowhere"))
      throw new IpcError(
        "unavailable",
        `Cannot start ${spec.command}: no such file in PATH (/usr/local/bin:/usr/bin:/bin). Check the command's spelling, or give its full path.`,
      );
    if (spec.command === "ends-at-once") throw failedStart();
    const names = Object.keys({ ...secrets.env, ...secrets.headers });
    return {
      server_name: "everything",
      server_version: "1.4.0",
      protocol_version: "2025-11-25",
      excluded: { entries: [], more: 0 },
      duration_ms: 1240,
      tools: [
        data.tool(
          "new",
          "echo",
          names.length
            ? `Says what it is told. Knows ${names.join(", ")}.`
            : "Says what it is told.",
        ),
        data.tool("new", "add", "Adds two numbers."),
      ],
    };
  }

  private request(id: string): ApprovalRequest {
    return requireFound(
      this.waiting.find((r) => r.id === id),
      "approval request",
      id,
    );
  }

  private updateRemainingTime(request: ApprovalRequest): ApprovalRequest {
    return {
      ...request,
      remaining_ms: Math.max(0, (this.deadlines.get(request.id) ?? 0) - performance.now()),
    };
  }

  private decide({ id, digest, verdict }: DecideApproval): Call {
    const request = this.request(id);
    if (request.digest !== digest)
      throw new IpcError(
        "conflict",
        "The request changed since it was shown. Nothing was decided.",
      );
    if (verdict.kind === "deny") {
      if (request.result !== null)
        return this.end(request, { reason: verdict.reason, outcome: "withheld", duration_ms: 23 });
      return this.end(request, { decision: "denied", reason: verdict.reason, outcome: "not_sent" });
    }
    if (verdict.kind === "dismiss")
      return this.end(request, {
        decision: "denied",
        reason: "closed without an answer",
        outcome: "not_sent",
      });
    if (verdict.kind === "fill_in") {
      const fields = Object.keys(JSON.parse(verdict.content ?? "{}") as object);
      const reason = verdict.content === null ? "opened the URL" : `answered: ${fields.join(", ")}`;
      return this.end(request, { outcome: "ok", reason });
    }
    const edited = verdict.kind === "approve_once" ? verdict.arguments : null;
    if (edited?.includes("/etc/"))
      throw new IpcError(
        "invalid",
        "A rule denies these arguments: deny all tools if /path is in /etc.",
      );
    if (edited !== null) {
      this.recordedArguments.set(id, edited);
      this.requestDetails.set(id, {
        ...this.requestDetails.get(id),
        original_arguments: request.arguments,
      });
    }
    const rule = policy.toVerdictRule(request, verdict);
    if (rule) {
      this.checkVerdictRule(request, rule.conditions);
      this.rules.push(policy.toRuleView(rule));
      this.applyPolicy();
    }
    return this.end(request, { outcome: "ok", duration_ms: 23, is_edited: edited !== null });
  }

  /** Rejects a rule that the real hub would not create together with a decision. */
  private checkVerdictRule(
    { result, arguments: text }: ApprovalRequest,
    conditions: Condition[],
  ): void {
    if (result !== null)
      throw new IpcError("invalid", "a result can only be approved once or denied");
    if (!conditions.every((condition) => policy.matchesCondition(condition, text)))
      throw new IpcError("invalid", "the rule must match the call that it approves");
  }

  private setPaused(paused: boolean, seconds: number | null = null): DrawbridgeState {
    clearTimeout(this.resumeTimer);
    this.paused = paused;
    this.resumesAt = seconds === null ? null : Date.now() + seconds * 1000;
    if (seconds !== null)
      this.resumeTimer = setTimeout(() => this.setPaused(false), seconds * 1000);
    const state = { paused, resumes_at: this.resumesAt };
    this.emit({ kind: "drawbridge_changed", ...state });
    if (paused)
      for (const request of this.waiting)
        this.end(request, {
          decision: "paused",
          decided_by: "hub",
          reason: "All calls are paused.",
          outcome: "not_sent",
        });
    return state;
  }

  private refuse(request: ApprovalRequest, decision: Decision, reason: string): ApprovalRequest {
    this.end(request, { decision, decided_by: "hub", reason, outcome: "not_sent" });
    return request;
  }

  private miss(id: string): void {
    const request = this.waiting.find((r) => r.id === id);
    if (!request) return;
    this.missed = [...this.missed, request];
    this.deadlines.set(id, performance.now() + RETRY_MS);
    this.end(request, {
      decision: "timed_out",
      decided_by: "hub",
      reason: "Nobody decided in time.",
      outcome: "not_sent",
    });
    this.countMissed(request.client);
  }

  private countMissed(client: string): void {
    const count = (this.missedStreaks.get(client) ?? 0) + 1;
    this.missedStreaks.set(client, count);
    if (count < MAX_MISSED_IN_A_ROW || this.muteOf(client)) return;
    this.mutes.set(client, Date.now() + MUTE_MS);
    const mute = this.muteOf(client);
    if (mute) this.emit({ kind: "client_muted", client, mute });
  }

  private muteOf(client: string): ClientMute | null {
    const until = this.mutes.get(client) ?? 0;
    const remaining_ms = until - Date.now();
    return remaining_ms > 0 ? { until, remaining_ms } : null;
  }

  /** Returns whether the client was muted. */
  private unmute(client: string): boolean {
    const wasMuted = this.muteOf(client) !== null;
    this.missedStreaks.delete(client);
    this.mutes.delete(client);
    if (wasMuted) this.emit({ kind: "client_unmuted", client });
    return wasMuted;
  }

  /** Takes a request out of the queue. Records it as approved by a person, or as `part` says. */
  private end(request: ApprovalRequest, part: Partial<Call>): Call {
    this.waiting = this.waiting.filter((r) => r.id !== request.id);
    const call: Call = {
      id: request.id,
      at: request.asked_at,
      method: request.method,
      client: request.client,
      session: request.session,
      server: request.server,
      tool: request.tool,
      exposed_name: request.exposed_name,
      decision: "allowed",
      decided_by: "person",
      rule: null,
      is_edited: false,
      reason: "",
      outcome: "ok",
      error: "",
      waited_ms: Math.max(0, Date.now() - request.asked_at),
      duration_ms: null,
      ...part,
    };
    this.calls = [call, ...this.calls];
    this.emit({ kind: "approval_ended", id: request.id });
    this.emit({ kind: "call_changed", call });
    // A person is present, so mutes end, and the counts of missed calls start again.
    if (call.decided_by === "person")
      for (const client of this.missedStreaks.keys()) this.unmute(client);
    this.log({ area: "call", call: call.id, ...describeDecision(call) });
    return call;
  }

  private dropRules({ server, tool, client, user, kind }: RemovePolicy): void {
    this.rules = this.rules.filter(
      (r) =>
        r.server !== server ||
        r.tool !== tool ||
        r.client !== client ||
        r.user !== user ||
        r.kind !== kind,
    );
  }

  private setRuleEnabled(id: string, enabled: boolean): RuleView {
    const rule = requireFound(
      this.rules.find((rule) => rule.id === id),
      "rule",
      id,
    );
    const changed = { ...rule, disabled: !enabled };
    this.rules = this.rules.map((rule) => (rule.id === id ? changed : rule));
    this.applyPolicy();
    return changed;
  }

  /** Updates what each tool's policy is, after a change of the rules or the defaults. */
  private applyPolicy(): void {
    this.settings.default_policy = this.defaults.tools;
    for (const view of this.servers) {
      for (const tool of view.tools) {
        tool.own_effect =
          this.rules.find(
            (r) =>
              r.server === view.id &&
              r.tool === tool.name &&
              r.client === null &&
              r.user === null &&
              r.conditions.length === 0,
          )?.effect ?? null;
        tool.effect = tool.own_effect ?? this.defaults.tools;
      }
    }
    this.emit({ kind: "policy_changed" });
  }
}

function requireFound<T>(item: T | undefined, noun: string, id: string): T {
  if (item === undefined)
    throw new IpcError(
      "not_found",
      `There is no ${noun} ${id}. It may have ended or been removed.`,
    );
  return item;
}
