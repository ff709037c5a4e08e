/** Texts that several screens share: the labels of states, and counts. */

import {
  DECIDED_BY_LABELS,
  DECISION_LABELS,
  EFFECT_LABELS,
  OUTCOME_LABELS,
  RESULT_EFFECT_LABELS,
  SERVER_STATE_LABELS,
} from "../../ipc/bindings";
import { plural } from "../plural";

export const state = {
  lines: (count: number) => plural(count, "line"),
  sessions: (count: number) => plural(count, "session"),

  errors: {
    signedOut: "This browser is not signed in. Get a sign-in link with `drawbridge open`.",
    notReachable:
      "Drawbridge is not reachable. Check that it is still running. This page tries again by itself.",
    noReason: (status: number) =>
      `Drawbridge answered with HTTP status ${status} and no reason. See its log.`,
  },

  serverStates: SERVER_STATE_LABELS,

  decisions: DECISION_LABELS,
  decisionMeanings: {
    timedOut: "Nobody decided in time.",
    noScreen: "No screen was open to ask you on.",
    paused: "All calls were paused.",
    queueFull: "Too many calls of this client waited already, or nobody decided its last ones.",
    abandoned: "The client disconnected before a decision.",
  },
  deciders: DECIDED_BY_LABELS,
  decisionBy: (decision: string, decider: string) => `${decision} ${decider}`,

  outcomes: OUTCOME_LABELS,
  outcomeMeanings: {
    notSent: "The call was not sent to the server.",
    running: "The server has the call and has not answered yet.",
    ok: "The server answered.",
    serverError: "The server answered with an error.",
    unreachable: "The server could not be reached. The call was not sent.",
    unknown: "The connection broke after the call was sent. The server may have run it.",
    timedOut: "The server did not answer in time. It may still have run the call.",
    cancelled: "The client cancelled the call or disconnected, or all calls were paused.",
    withheld: "The server ran the call, but its result was not passed on to the client.",
  },

  effects: { ...EFFECT_LABELS, none: "–" },
  effectMeanings: {
    ask: "Each call waits for your decision, unless a rule allows or denies it.",
    allow: "Calls run without asking, unless a rule denies or asks.",
    deny: "Calls are denied, unless a rule allows or asks.",
  },
  resultEffects: RESULT_EFFECT_LABELS,
  resultEffectMeanings: {
    mask: "Secrets in the result are masked.",
    hold: "You see the result before the client does.",
  },

  claims: {
    destructive: "Destructive",
    readOnly: "Read-only",
    notDestructive: "Not destructive",
    openWorld: "Open world",
    idempotent: "Idempotent",
  },

  matches: {
    none: "There are no past calls to compare with.",
    count: (matched: number, of: number) =>
      `It would have matched ${matched} of ${of === 1 ? "1 past call" : `${of} past calls`}.`,
    argumentsMissing: (count: number) =>
      `The arguments of ${plural(count, "call")} were not recorded.`,
    newest: "Newest matching calls",
    call: (tool: string, server: string, client: string) => `${tool} of ${server}, by ${client}`,
  },

  batch: {
    approved: (count: number) => `${plural(count, "call")} approved.`,
    denied: (count: number) => `${plural(count, "call")} denied.`,
    endedAlready: (count: number) =>
      `${plural(count, "call")} had ended already: decided elsewhere or missed.`,
    failed: (count: number, reasons: string) =>
      `${plural(count, "call")} could not be decided: ${reasons}`,
  },
  retryAllowed: (client: string, tool: string, seconds: number) =>
    `If ${client} sends the same call of ${tool} again within ${seconds} s, it runs without asking.`,
};
