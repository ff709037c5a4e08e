/** Labels and tones for the hub's states. */

import type {
  Annotations,
  AuditKind,
  Call,
  ContentFlag,
  DecidedBy,
  Decision,
  Effect,
  Outcome,
  DryRun,
  GuardedMethod,
  RequestKind,
  ResultEffect,
  RuleSpec,
  ServerState,
} from "../ipc";
import { texts } from "../texts";

const t = texts.state;

export type Tone = "good" | "warn" | "bad" | "busy" | "quiet";
export interface Label {
  label: string;
  tone: Tone;
}

export const SERVER_STATE: Record<ServerState, Label> = {
  idle: { label: t.serverStates.idle, tone: "quiet" },
  initializing: { label: t.serverStates.initializing, tone: "busy" },
  active: { label: t.serverStates.active, tone: "good" },
  error: { label: t.serverStates.error, tone: "bad" },
  closed: { label: t.serverStates.closed, tone: "warn" },
  disabled: { label: t.serverStates.disabled, tone: "quiet" },
  needs_acceptance: { label: t.serverStates.needs_acceptance, tone: "warn" },
  needs_secret: { label: t.serverStates.needs_secret, tone: "warn" },
  needs_sign_in: { label: t.serverStates.needs_sign_in, tone: "warn" },
};

export const DECISION: Record<Decision, Label> = {
  allowed: { label: t.decisions.allowed, tone: "good" },
  denied: { label: t.decisions.denied, tone: "bad" },
  timed_out: { label: t.decisions.timed_out, tone: "warn" },
  no_screen: { label: t.decisions.no_screen, tone: "warn" },
  paused: { label: t.decisions.paused, tone: "warn" },
  queue_full: { label: t.decisions.queue_full, tone: "warn" },
  muted: { label: t.decisions.muted, tone: "warn" },
  abandoned: { label: t.decisions.abandoned, tone: "quiet" },
};

const MISSED: Decision[] = ["timed_out", "no_screen", "queue_full", "muted"];

/** Returns whether a request was denied because nobody decided it. */
export function wasMissed({ decision }: Call): boolean {
  return MISSED.includes(decision);
}

/**
 * Returns whether a person had to decide the call. `calls.list` finds these calls with
 * `needed_approval`.
 */
export function wasAsked(call: Call): boolean {
  return call.decided_by === "person" || call.decision === "abandoned" || wasMissed(call);
}

/** Explains the decisions other than allowed and denied. */
export const DECISION_MEANING: Partial<Record<Decision, string>> = {
  timed_out: t.decisionMeanings.timedOut,
  no_screen: t.decisionMeanings.noScreen,
  paused: t.decisionMeanings.paused,
  queue_full: t.decisionMeanings.queueFull,
  muted: t.decisionMeanings.muted,
  abandoned: t.decisionMeanings.abandoned,
};

export const DECIDED_BY: Record<DecidedBy, string> = t.deciders;

export const OUTCOME: Record<Outcome, Label> = {
  not_sent: { label: t.outcomes.not_sent, tone: "quiet" },
  running: { label: t.outcomes.running, tone: "busy" },
  ok: { label: t.outcomes.ok, tone: "good" },
  server_error: { label: t.outcomes.server_error, tone: "bad" },
  client_error: { label: t.outcomes.client_error, tone: "bad" },
  unreachable: { label: t.outcomes.unreachable, tone: "bad" },
  unknown: { label: t.outcomes.unknown, tone: "warn" },
  timed_out: { label: t.outcomes.timed_out, tone: "warn" },
  cancelled: { label: t.outcomes.cancelled, tone: "quiet" },
  withheld: { label: t.outcomes.withheld, tone: "bad" },
};

/** The tones of the entries of the audit log. */
export const AUDIT_TONE: Record<AuditKind, Tone> = {
  began: "quiet",
  broken: "bad",
  decided: "quiet",
  ended: "quiet",
  policy_changed: "quiet",
  server_added: "quiet",
  server_changed: "quiet",
  server_removed: "quiet",
  server_accepted: "good",
  definition_changed: "warn",
  definition_accepted: "good",
  spec_verified: "quiet",
  retry_allowed: "good",
  paused: "warn",
  resumed: "good",
  client_added: "quiet",
  client_changed: "quiet",
  client_revoked: "quiet",
  pairing_requested: "quiet",
  pairing_approved: "good",
  pairing_denied: "warn",
  client_files_changed: "quiet",
  profile_changed: "quiet",
  hook_changed: "quiet",
  settings_changed: "quiet",
  secret_set: "quiet",
  secret_removed: "quiet",
  secret_store_changed: "warn",
  signed_in: "good",
  signed_out: "quiet",
  browser_signed_in: "quiet",
  browser_signed_out: "quiet",
  browser_refused: "warn",
  token_refused: "warn",
  replacement_prepared: "warn",
  backup_restored: "warn",
  pruned: "quiet",
};

export const EFFECT: Record<Effect, Label> = {
  ask: { label: t.effects.ask, tone: "warn" },
  allow: { label: t.effects.allow, tone: "good" },
  deny: { label: t.effects.deny, tone: "bad" },
};

/** The kinds of requests, in the order of the screens. */
export const KINDS = Object.keys(t.kinds) as RequestKind[];

/** A rule's effect on results. */
export const RESULT_EFFECT: Record<ResultEffect, Label & { meaning: string }> = {
  mask: { label: t.resultEffects.mask, tone: "quiet", meaning: t.resultEffectMeanings.mask },
  hold: { label: t.resultEffects.hold, tone: "warn", meaning: t.resultEffectMeanings.hold },
};

/** Returns the decision and who made it, such as "Denied by a rule". */
export function describeDecision(call: Call): string {
  const { label } = DECISION[call.decision];
  return call.decision === "allowed" || call.decision === "denied"
    ? t.decisionBy(label, DECIDED_BY[call.decided_by])
    : label;
}

/** The name of Drawbridge in the records of calls that it answered itself. */
const OWN_SERVER = "drawbridge";

/** Returns whether Drawbridge answered the call itself, without a server. */
export function isOwnCall(call: Call): boolean {
  return call.server === OWN_SERVER && call.decided_by === "hub" && call.outcome === "ok";
}

/** Returns the meaning of a call's outcome. */
export function describeOutcome(call: Call): string {
  if (isOwnCall(call)) return t.answeredByDrawbridge;
  const meanings: Record<Outcome, string> = isSentToClients(call.method)
    ? { ...t.outcomeMeanings, ...t.clientOutcomeMeanings }
    : t.outcomeMeanings;
  return meanings[call.outcome];
}

/** Returns whether servers send the requests of this method to clients, and not the reverse. */
export function isSentToClients(method: GuardedMethod): boolean {
  return (
    method === "sampling/createMessage" ||
    method === "elicitation/create" ||
    method === "roots/list"
  );
}

/** Returns the noun for a request. Only a `tools/call` is named a call. */
export function nounOf(method: GuardedMethod): "call" | "request" {
  return method === "tools/call" ? "call" : "request";
}

/** Returns the subject of a request: the tool of a call, or else the method and the name. */
export function subjectOf({ method, tool }: Pick<Call, "method" | "tool">): string {
  return method === "tools/call" ? tool : `${method} ${tool}`.trimEnd();
}

/** Returns the kind that a rule covers, or "everything": only a plain deny covers all kinds. */
export function coveredKind(rule: RuleSpec): RequestKind | "everything" {
  if (rule.kind !== null) return rule.kind;
  const deniesAllKinds =
    rule.effect === "deny" && rule.tool === null && rule.conditions.length === 0 && !rule.read_only;
  return deniesAllKinds ? "everything" : "tools";
}

/** Lists a server's claims about its tool. They are hints, not facts. */
export function listClaims(hints: Annotations): Label[] {
  const claims: Label[] = [];
  if (hints.destructive === true) claims.push({ label: t.claims.destructive, tone: "bad" });
  if (hints.read_only === true) claims.push({ label: t.claims.readOnly, tone: "quiet" });
  if (hints.read_only === false && hints.destructive === false)
    claims.push({ label: t.claims.notDestructive, tone: "quiet" });
  if (hints.open_world === true) claims.push({ label: t.claims.openWorld, tone: "warn" });
  if (hints.idempotent === true) claims.push({ label: t.claims.idempotent, tone: "quiet" });
  return claims;
}

/** Returns the label of a rule's effect on calls or, if it has none, on results. */
export function effectLabel(rule: Pick<RuleSpec, "effect" | "result">): Label {
  if (rule.effect) return EFFECT[rule.effect];
  return rule.result ? RESULT_EFFECT[rule.result] : { label: t.effects.none, tone: "quiet" };
}

/** Returns a sentence such as "This rule would have matched 7 of 24 past calls." */
export function describeMatches({ matched, examined, unknown }: DryRun): string {
  if (examined === 0) return t.matches.none;
  const count = t.matches.count(matched, examined);
  return unknown === 0 ? count : `${count} ${t.matches.argumentsMissing(unknown)}`;
}

/** A past call in one line. */
export interface MatchRow extends Label {
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  text: string;
}

export function matchRows({ newest }: DryRun): MatchRow[] {
  return newest.map((call) => ({
    ...DECISION[call.decision],
    id: call.id,
    at: call.at,
    text: describePastCall(call),
  }));
}

/** Returns a call in words: "create_issue of github, by claude-code". */
export function describePastCall(call: Call): string {
  const { method, server, client } = call;
  if (isSentToClients(method)) return t.matches.clientRequest(method, server, client);
  const subject = subjectOf(call);
  return server === ""
    ? t.matches.callWithoutServer(subject, client)
    : t.matches.call(subject, server, client);
}

/** Returns the suspicious passages of a text, with a label for the kind of each. */
export function describeFlags(flags: ContentFlag[] | undefined) {
  return (flags ?? []).map(({ kind, place, excerpt }) => ({
    label: t.flagKinds[kind],
    place,
    excerpt,
  }));
}
