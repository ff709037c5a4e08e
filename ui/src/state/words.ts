/** The protocol's words for people: one label and one tone for each state. */

import { clockTime } from "../lib/time";
import type {
  Annotations,
  Call,
  DecidedBy,
  Decision,
  Effect,
  Outcome,
  PastCalls,
  ResultEffect,
  RuleText,
  ServerState,
} from "../ipc";

export type Tone = "good" | "warn" | "bad" | "busy" | "quiet";
export interface Word {
  label: string;
  tone: Tone;
}

export const SERVER_STATE: Record<ServerState, Word> = {
  idle: { label: "Idle", tone: "quiet" },
  initializing: { label: "Starting", tone: "busy" },
  active: { label: "Active", tone: "good" },
  error: { label: "Error", tone: "bad" },
  closed: { label: "Closed", tone: "warn" },
  disabled: { label: "Disabled", tone: "quiet" },
  needs_approval: { label: "Needs approval", tone: "warn" },
  needs_secret: { label: "Needs a secret", tone: "warn" },
  needs_sign_in: { label: "Needs sign-in", tone: "warn" },
};

export const DECISION: Record<Decision, Word> = {
  allowed: { label: "Allowed", tone: "good" },
  denied: { label: "Denied", tone: "bad" },
  timed_out: { label: "Timed out", tone: "warn" },
  no_screen: { label: "No screen", tone: "warn" },
  raised: { label: "Raised", tone: "warn" },
  queue_full: { label: "Queue full", tone: "warn" },
  abandoned: { label: "Abandoned", tone: "quiet" },
};

/** What no person and no rule decided, and why that is no denial. */
export const DECISION_MEANING: Partial<Record<Decision, string>> = {
  timed_out: "Nobody decided in time.",
  no_screen: "There was no screen to ask on.",
  raised: "The drawbridge was raised: nothing could cross.",
  queue_full: "Too many calls of this client waited already.",
  abandoned: "The client left before a decision.",
};

export const DECIDED_BY: Record<DecidedBy, string> = {
  person: "by you",
  rule: "by a rule",
  default: "by default",
  hub: "by Drawbridge",
};

export const OUTCOME: Record<Outcome, Word> = {
  not_sent: { label: "Not sent", tone: "quiet" },
  running: { label: "Running", tone: "busy" },
  ok: { label: "OK", tone: "good" },
  server_error: { label: "Server error", tone: "bad" },
  unreachable: { label: "Unreachable", tone: "bad" },
  unknown: { label: "Unknown", tone: "warn" },
  timed_out: { label: "Timed out", tone: "warn" },
  cancelled: { label: "Cancelled", tone: "quiet" },
  withheld: { label: "Withheld", tone: "bad" },
};

export const OUTCOME_MEANING: Record<Outcome, string> = {
  not_sent: "The call never reached the server.",
  running: "The server has the call and has not answered yet.",
  ok: "The server answered.",
  server_error: "The server answered with an error.",
  unreachable: "The server could not be reached; the call was not sent.",
  unknown:
    "The connection broke after the call was sent. Whether the server ran it cannot be known.",
  timed_out: "The server did not answer in time. It may still have run the call.",
  cancelled: "The client gave the call up.",
  withheld: "The server ran the call and answered, but its result was not passed on to the client.",
};

export const EFFECT: Record<Effect, Word & { meaning: string }> = {
  ask: { label: "Ask", tone: "warn", meaning: "Each call waits until you approve or deny it." },
  allow: {
    label: "Allow",
    tone: "good",
    meaning: "Calls cross without asking. Only rules that deny or ask still hold some back.",
  },
  deny: { label: "Deny", tone: "bad", meaning: "Calls are refused, unless a rule allows them." },
};

/** Who or what let it through, or not: "Denied by a rule". */
export function decisionBy(call: Call): string {
  const word = DECISION[call.decision].label;
  return call.decision === "allowed" || call.decision === "denied"
    ? `${word} ${DECIDED_BY[call.decided_by]}`
    : word;
}

/** What the server says about its tool; hints, not facts. */
export function claims(hints: Annotations): Word[] {
  const found: Word[] = [];
  if (hints.destructive === true) found.push({ label: "destructive", tone: "bad" });
  if (hints.read_only === true) found.push({ label: "read-only", tone: "quiet" });
  if (hints.read_only === false && hints.destructive === false)
    found.push({ label: "not destructive", tone: "quiet" });
  if (hints.open_world === true) found.push({ label: "open world", tone: "warn" });
  if (hints.idempotent === true) found.push({ label: "idempotent", tone: "quiet" });
  return found;
}

/** What a rule does to results. */
export const RESULT: Record<ResultEffect, Word & { meaning: string }> = {
  mask: { label: "Mask", tone: "quiet", meaning: "Secrets in the result are masked." },
  hold: { label: "Show", tone: "warn", meaning: "You see the result before the client does." },
};

/** What a rule does, in one word. */
export function effectOf(rule: Pick<RuleText, "effect" | "result">): Word {
  if (rule.effect) return EFFECT[rule.effect];
  return rule.result ? RESULT[rule.result] : { label: "–", tone: "quiet" };
}

/** "7 of 24 past calls; of 3 the arguments were not kept". */
export function pastWords({ matched, looked_at, unknown }: PastCalls): string {
  if (looked_at === 0) return "There are no past calls to compare with.";
  const kept = unknown === 0 ? "" : `; of ${unknown} the arguments were not kept`;
  return `It would have matched ${matched} of ${looked_at} past ${looked_at === 1 ? "call" : "calls"}${kept}.`;
}

/** One past call, in a line. */
export interface PastRow extends Word {
  id: string;
  when: string;
  text: string;
}

export function pastRows({ newest }: PastCalls): PastRow[] {
  return newest.map((call) => ({
    ...DECISION[call.decision],
    id: call.id,
    when: `${new Date(call.at).toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${clockTime(call.at)}`,
    text: `${call.tool} of ${call.server}, by ${call.client}`,
  }));
}
