/** Texts that several screens share: the labels of states, and counts. */

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

  serverStates: {
    idle: "Idle",
    initializing: "Starting",
    active: "Active",
    error: "Error",
    closed: "Closed",
    disabled: "Disabled",
    needsAcceptance: "Needs acceptance",
    needsSecret: "Needs a secret",
    needsSignIn: "Needs sign-in",
  },

  decisions: {
    allowed: "Allowed",
    denied: "Denied",
    missed: "Missed",
    noScreen: "No screen",
    paused: "Paused",
    queueFull: "Queue full",
    abandoned: "Abandoned",
  },
  decisionMeanings: {
    missed: "Nobody decided in time.",
    noScreen: "No screen was open to ask you on.",
    paused: "All calls were paused.",
    queueFull: "Too many calls of this client waited already.",
    abandoned: "The client disconnected before a decision.",
  },
  deciders: {
    person: "by you",
    rule: "by a rule",
    default: "by default",
    hub: "by Drawbridge",
  },
  decisionBy: (decision: string, decider: string) => `${decision} ${decider}`,

  outcomes: {
    notSent: "Not sent",
    running: "Running",
    ok: "OK",
    serverError: "Server error",
    unreachable: "Unreachable",
    unknown: "Unknown",
    timedOut: "Timed out",
    cancelled: "Cancelled",
    withheld: "Withheld",
  },
  outcomeMeanings: {
    notSent: "The call was not sent to the server.",
    running: "The server has the call and has not answered yet.",
    ok: "The server answered.",
    serverError: "The server answered with an error.",
    unreachable: "The server could not be reached. The call was not sent.",
    unknown: "The connection broke after the call was sent. The server may have run it.",
    timedOut: "The server did not answer in time. It may still have run the call.",
    cancelled: "The client cancelled the call.",
    withheld: "The server ran the call, but its result was not passed on to the client.",
  },

  effects: { ask: "Ask", allow: "Allow", deny: "Deny", none: "–" },
  effectMeanings: {
    ask: "Each call waits until you approve or deny it.",
    allow: "Calls run without asking, unless a rule denies or asks.",
    deny: "Calls are denied, unless a rule allows them.",
  },
  resultEffects: { mask: "Mask", hold: "Hold" },
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
