/** The policy of the fake hub. */

import { IpcError } from "..";
import type {
  ApprovalRequest,
  Call,
  Condition,
  DayStats,
  DefaultEffects,
  Effect,
  GuardedMethod,
  PolicyStats,
  Lifetime,
  DryRun,
  PolicyPreset,
  RequestKind,
  RuleSpec,
  RuleView,
  RuleWarning,
  ServerView,
  Suggestion,
  Predicate,
  Verdict,
} from "../bindings";

const DAY_MS = 86_400_000;
/** The number of matched calls that a dry run lists. */
const MAX_NEWEST = 10;

export const DEFAULT_EFFECTS: DefaultEffects = {
  tools: "ask",
  prompts: "allow",
  resources: "allow",
  sampling: "allow",
  elicitation: "allow",
  roots: "allow",
};

export const EMPTY_RULE: RuleSpec = {
  server: null,
  tool: null,
  client: null,
  user: null,
  kind: null,
  read_only: false,
  conditions: [],
  effect: null,
  result: null,
  lifetime: { kind: "until_deleted" },
  note: "",
};

let ruleCount = 0;

export function toRuleView(rule: RuleSpec, part: Partial<RuleView> = {}): RuleView {
  ruleCount += 1;
  return {
    id: `rule-${ruleCount}`,
    created_at: Date.now(),
    remaining: rule.lifetime.kind === "calls" ? rule.lifetime.count : null,
    suspended: false,
    disabled: false,
    text: describeRule(rule),
    ...rule,
    ...part,
  };
}

/** Returns the warnings that a person sees before a rule is saved. */
export function warnAbout(rule: RuleSpec, servers: ServerView[]): RuleWarning[] {
  const { server, tool } = rule;
  if (server === null)
    return rule.effect === "allow" &&
      (rule.kind ?? "tools") === "tools" &&
      rule.conditions.length === 0 &&
      !rule.read_only
      ? [{ kind: "allows_all_tools" }]
      : [];
  const findSimilar = (unknown: string, names: string[]) =>
    names.find((name) => name.startsWith(unknown.slice(0, 3))) ?? null;
  const known = servers.find(({ id }) => id === server);
  if (!known)
    return [
      {
        kind: "unknown_server",
        server,
        similar: findSimilar(
          server,
          servers.map(({ id }) => id),
        ),
      },
    ];
  const names = known.tools.map(({ name }) => name);
  return tool === null || names.length === 0 || names.includes(tool)
    ? []
    : [{ kind: "unknown_tool", server, tool, similar: findSimilar(tool, names) }];
}

/** Rejects the invalid rules that the tests use. */
export function checkRule(rule: RuleSpec): void {
  if (rule.effect === null && rule.result === null)
    throw invalid("a rule needs 'effect' (allow, deny, ask) or 'result' (mask, hold)");
  if (rule.tool !== null && rule.kind !== null)
    throw invalid("'tool' cannot be combined with 'kind'");
  if (rule.effect === "deny" && rule.result !== null)
    throw invalid("a rule that denies calls cannot have a 'result'");
  if (rule.lifetime.kind === "until" && rule.lifetime.at <= Date.now())
    throw invalid("'lifetime.at' is in the past");
  rule.conditions.forEach(({ pointer, is }, index) => {
    const conditionError = (reason: string) =>
      invalid(`condition ${index + 1} (on '${pointer}'): ${reason}`);
    if (pointer !== "" && !pointer.startsWith("/"))
      throw conditionError(`a JSON pointer begins with '/', as in '/${pointer}'`);
    if ("matches" in is && /[([]$/.test(is.matches))
      throw conditionError("the regular expression is invalid: unclosed group");
  });
}

const VERBS: Record<Effect, string> = { allow: "allow", deny: "deny", ask: "ask about" };

export function describeRule(rule: RuleSpec): string {
  const { effect, result, server, tool, client, user, conditions, lifetime } = rule;
  const onResult = result === "mask" ? "mask secrets in results of" : "hold results of";
  const verb =
    effect === null
      ? onResult
      : result === null
        ? VERBS[effect]
        : `${VERBS[effect]}, and ${onResult},`;
  const tools =
    server !== null && tool !== null
      ? `${tool} of ${server}`
      : `${describeKind(rule)}${server === null ? "" : ` of ${server}`}`;
  const conditionText = conditions
    .map((condition, index) => ` ${index ? "and" : "if"} ${describeCondition(condition)}`)
    .join("");
  return `${verb} ${tools}${client === null ? "" : ` for ${client}`}${user === null ? "" : ` for clients of ${user}`}${conditionText}${describeLifetime(lifetime)}`;
}

function describeKind(rule: RuleSpec): string {
  if (rule.read_only) return "read-only tools";
  if (deniesAllKinds(rule)) return "everything";
  return rule.kind === null || rule.kind === "tools" ? "all tools" : rule.kind;
}

function deniesAllKinds({ effect, kind, tool, conditions, read_only }: RuleSpec): boolean {
  return (
    effect === "deny" && kind === null && tool === null && conditions.length === 0 && !read_only
  );
}

function covers(rule: RuleSpec, kind: RequestKind): boolean {
  return rule.kind === null ? kind === "tools" || deniesAllKinds(rule) : rule.kind === kind;
}

/** Returns the kind of a request. A completion counts as a request for a resource. */
export function toKind(method: GuardedMethod): RequestKind {
  switch (method) {
    case "prompts/get":
      return "prompts";
    case "resources/read":
    case "resources/subscribe":
    case "completion/complete":
      return "resources";
    case "sampling/createMessage":
      return "sampling";
    case "elicitation/create":
      return "elicitation";
    case "roots/list":
      return "roots";
    default:
      return "tools";
  }
}

function describeCondition({ pointer, is }: Condition): string {
  if ("equals" in is) return `${pointer} is ${JSON.stringify(is.equals)}`;
  if ("one_of" in is)
    return `${pointer} is one of ${is.one_of.map((value) => JSON.stringify(value)).join(", ")}`;
  if ("path_within" in is) return `${pointer} is in ${is.path_within}`;
  if ("host" in is) return `${pointer} is a URL of ${is.host}`;
  if ("matches" in is) return `${pointer} matches /${is.matches}/`;
  return `${pointer} is from ${JSON.stringify(is.between.min)} to ${JSON.stringify(is.between.max)}`;
}

function describeLifetime(lifetime: Lifetime): string {
  if (lifetime.kind === "calls")
    return lifetime.count === 1 ? " once" : ` for ${lifetime.count} calls`;
  return { until_deleted: "", until: " for a while", session: " in this session" }[lifetime.kind];
}

/** Returns the rule that a verdict creates, if any. */
export function toVerdictRule(request: ApprovalRequest, verdict: Verdict): RuleSpec | null {
  const { server, client, tool, kind, method } = request;
  const isTool = kind === "tools";
  const namePointer =
    method === "prompts/get"
      ? "/name"
      : method === "resources/read" || method === "resources/subscribe"
        ? "/uri"
        : null;
  const rule = (lifetime: Lifetime, conditions: Condition[]): RuleSpec => ({
    ...EMPTY_RULE,
    server,
    client,
    tool: isTool ? tool : null,
    kind: isTool ? null : kind,
    effect: "allow",
    conditions:
      namePointer !== null && conditions.length === 0
        ? [{ pointer: namePointer, is: { equals: tool } }]
        : conditions,
    lifetime,
  });
  switch (verdict.kind) {
    case "approve_for":
      return rule({ kind: "until", at: Date.now() + verdict.seconds * 1000 }, verdict.conditions);
    case "approve_calls":
      return rule({ kind: "calls", count: verdict.count }, verdict.conditions);
    case "approve_session":
      return rule({ kind: "session", session: request.session }, verdict.conditions);
    case "approve_always":
      return rule({ kind: "until_deleted" }, verdict.conditions);
    default:
      return null;
  }
}

/** Matches past calls against a rule. `recorded` has the arguments by the id of the call. */
export function matchCalls(rule: RuleSpec, calls: Call[], recorded: Map<string, string>): DryRun {
  const scoped = calls.filter(
    (call) =>
      (rule.client ?? call.client) === call.client &&
      (rule.server ?? call.server) === call.server &&
      (rule.tool ?? call.tool) === call.tool &&
      covers(rule, toKind(call.method)),
  );
  const checkable =
    rule.conditions.length === 0 ? scoped : scoped.filter((call) => recorded.has(call.id));
  const matched = checkable.filter((call) =>
    rule.conditions.every((condition) =>
      matchesCondition(condition, recorded.get(call.id) ?? "{}"),
    ),
  );
  return {
    examined: scoped.length,
    matched: matched.length,
    unknown: scoped.length - checkable.length,
    newest: matched.slice(0, MAX_NEWEST),
  };
}

export function matchesCondition({ pointer, is }: Condition, text: string): boolean {
  const keys = pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  let value = JSON.parse(text) as unknown;
  for (const key of keys)
    value =
      typeof value === "object" && value !== null
        ? (value as Record<string, unknown>)[key]
        : undefined;
  return matchesPredicate(is, value);
}

function matchesPredicate(is: Predicate, value: unknown): boolean {
  const isSame = (expected: unknown) => JSON.stringify(expected) === JSON.stringify(value);
  if ("equals" in is) return isSame(is.equals);
  if ("one_of" in is) return is.one_of.some(isSame);
  if ("path_within" in is)
    return (
      typeof value === "string" &&
      (value === is.path_within || value.startsWith(`${is.path_within.replace(/\/$/, "")}/`))
    );
  if ("host" in is)
    return typeof value === "string" && URL.canParse(value) && new URL(value).hostname === is.host;
  if ("matches" in is)
    return typeof value === "string" && new RegExp(`^(?:${is.matches})$`, "s").test(value);
  const { min, max } = is.between as { min?: number | null; max?: number | null };
  return typeof value === "number" && value >= (min ?? -Infinity) && value <= (max ?? Infinity);
}

/** Makes up the arguments of past calls. Every fourth call has none. */
export function recordArguments(calls: Call[]): Map<string, string> {
  const recordedCalls = calls.filter((_, index) => index % 4 !== 3);
  return new Map(
    recordedCalls.map((call, index) => [
      call.id,
      JSON.stringify({
        path: `/home/ada/Projects/${index % 2 ? "drawbridge" : "notes"}/${call.tool}.txt`,
      }),
    ]),
  );
}

/** Returns the default of calls and the rules as they are once a preset is applied. */
export function presetRules(
  preset: PolicyPreset,
  rules: RuleView[],
): { default: Effect; rules: RuleView[] } {
  const remaining = rules.filter(
    (rule) =>
      rule.tool !== null ||
      rule.client !== null ||
      rule.user !== null ||
      rule.effect === "deny" ||
      rule.conditions.length > 0 ||
      rule.result !== null,
  );
  if (preset.kind === "ask_all") return { default: "ask", rules: remaining };
  if (preset.kind === "ask_writes")
    return {
      default: "ask",
      rules: [
        ...remaining,
        ...preset.trusted.map((server) =>
          toRuleView({ ...EMPTY_RULE, server, read_only: true, effect: "allow" }),
        ),
      ],
    };
  return {
    default: "allow",
    rules: [
      ...remaining,
      ...preset.listed.map((server) => toRuleView({ ...EMPTY_RULE, server, effect: "ask" })),
    ],
  };
}

interface RuleFile {
  defaults?: DefaultEffects;
  rules: RuleSpec[];
}

export function exportRules(defaults: DefaultEffects, rules: RuleView[]): string {
  const texts = rules
    .filter((rule) => rule.lifetime.kind !== "session")
    .map(({ disabled, ...rule }) => {
      const names = Object.keys(EMPTY_RULE) as (keyof RuleSpec)[];
      const text = Object.fromEntries(names.map((name) => [name, rule[name as keyof typeof rule]]));
      return disabled ? { ...text, disabled } : text;
    });
  return JSON.stringify({ defaults, rules: texts }, null, 2);
}

export function parseRules(text: string): RuleFile {
  let file: Partial<RuleFile>;
  try {
    file = JSON.parse(text) as Partial<RuleFile>;
  } catch (thrown) {
    throw invalid(
      `this is not a valid policy file: ${(thrown as Error).message}. See \`drawbridge policy export\` for the format.`,
    );
  }
  if (!Array.isArray(file.rules))
    throw invalid(
      "this is not a valid policy file: missing field `rules` at line 1 column 2. See `drawbridge policy export` for the format.",
    );
  const rules = file.rules.map((rule) => ({ ...EMPTY_RULE, ...rule }));
  rules.forEach((rule) => checkRule(rule));
  return { ...file, rules };
}

/** The most calls that the stats examine. */
const MAX_EXAMINED = 5_000;

export function computeStats(
  calls: Call[],
  rules: RuleView[],
  servers: ServerView[],
  count: number,
): PolicyStats {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const days = Array.from({ length: count }, (_, index): DayStats => {
    const begin = today - (count - 1 - index) * DAY_MS;
    const ofDay = calls.filter((call) => call.at >= begin && call.at < begin + DAY_MS);
    const countCalls = (test: (call: Call) => boolean) => ofDay.filter(test).length;
    // Adds approvals to vary the chart.
    const wave = calls.length ? (index * 5) % 7 : 0;
    return {
      at: begin,
      approved:
        wave + countCalls((call) => call.decided_by === "person" && call.decision === "allowed"),
      denied:
        Math.floor(wave / 3) +
        countCalls((call) => call.decided_by === "person" && call.decision === "denied"),
      missed: countCalls((call) => call.decision === "timed_out"),
    };
  });
  const exists = (rule: RuleSpec) => rules.some((view) => view.text === describeRule(rule));
  const suggested = listSuggestions(servers).filter(({ rule }) => !exists(rule));
  return { days, suggestions: suggested, is_partial: calls.length >= MAX_EXAMINED };
}

function listSuggestions(servers: ServerView[]): Suggestion[] {
  if (!servers.some((server) => server.id === "filesystem")) return [];
  const rules: RuleSpec[] = [
    {
      ...EMPTY_RULE,
      client: "claude-code",
      server: "filesystem",
      tool: "list_directory",
      effect: "allow",
      conditions: [{ pointer: "/path", is: { path_within: "/home/ada/Projects" } }],
    },
    {
      ...EMPTY_RULE,
      client: "cursor",
      server: "github",
      tool: "list_pull_requests",
      effect: "allow",
      conditions: [{ pointer: "/owner", is: { equals: "drawbridge" } }],
    },
  ];
  return rules.map((rule, index) => ({
    rule,
    text: describeRule(rule),
    approved: 12 - index * 5,
    matched: 14 - index * 6,
  }));
}

function invalid(message: string): IpcError {
  return new IpcError("invalid", message);
}
