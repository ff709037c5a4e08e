/** Texts that several screens share, such as the labels of states. */

import {
  DECIDED_BY_LABELS,
  DECISION_LABELS,
  EFFECT_LABELS,
  FLAG_KIND_LABELS,
  KIND_LABELS,
  OUTCOME_LABELS,
  RESULT_EFFECT_LABELS,
  SERVER_STATE_LABELS,
} from "../../ipc/bindings";
import { plural } from "../plural";

type Noun = "call" | "request";

export const state = {
  /** Stands before the remedy of a problem. */
  whatToDo: "What to do:",
  lines: (count: number) => plural(count, "line"),
  sessions: (count: number) => plural(count, "session"),

  errors: {
    signedOut: "This browser is not signed in. Get a sign-in link with “drawbridge open”.",
    notReachable:
      "Drawbridge is not reachable. Check that it is still running. This page tries again by itself.",
    noReason: (status: number) =>
      `Drawbridge answered with HTTP status ${status} and no reason. See its log.`,
  },

  flagKinds: FLAG_KIND_LABELS,
  serverStates: SERVER_STATE_LABELS,

  decisions: DECISION_LABELS,
  decisionMeanings: {
    timedOut: "Nobody decided in time.",
    noScreen: "No screen was open, so Drawbridge could not ask you.",
    paused: "All calls were paused.",
    queueFull: "Too many requests of this client waited already.",
    muted: "The client was muted, because nobody had decided its last three requests.",
    abandoned: "The client cancelled the request or disconnected before a decision.",
  },
  deciders: DECIDED_BY_LABELS,
  decisionBy: (decision: string, decider: string) => `${decision} ${decider}`,

  outcomes: OUTCOME_LABELS,
  outcomeMeanings: {
    not_sent: "The request was not sent to the server.",
    running: "The server has the request and has not answered yet.",
    ok: "The server answered.",
    server_error: "The server answered with an error.",
    client_error: "The client, or Drawbridge in its place, answered with an error or not at all.",
    unreachable: "The server could not be reached. The request was not sent.",
    unknown:
      "The connection broke, or Drawbridge ended, after the request was sent. The server may have run it.",
    timed_out: "The server did not answer in time. The request may still have run.",
    cancelled:
      "The client cancelled the request or disconnected, you cancelled it, or all calls were paused.",
    withheld: "The server answered, but the result was not passed on to the client.",
  },
  /** The meanings that differ for a request of a server to a client. */
  clientOutcomeMeanings: {
    not_sent: "The request was not sent to the client.",
    running: "The client has the request and has not answered yet.",
    ok: "The client got the request, or Drawbridge answered in its place.",
    cancelled: "The client disconnected, or all calls were paused.",
    withheld: "The client answered, but the answer was not passed on to the server.",
  },
  answeredByDrawbridge: "Drawbridge answered.",

  kinds: KIND_LABELS,
  everyKind: "Everything",

  effects: { ...EFFECT_LABELS, none: "–" },
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
      `This rule would have matched ${matched} of ${of === 1 ? "1 past call" : `${of} past calls`}.`,
    argumentsMissing: (count: number) =>
      `${plural(count, "call")} could not be checked, because the arguments were not recorded, the server was removed, or the rule refers to the project folder, which is not recorded.`,
    newest: "Newest matching calls",
    call: (subject: string, server: string, client: string) =>
      `${subject} of ${server}, by ${client}`,
    callWithoutServer: (tool: string, client: string) => `${tool}, by ${client}`,
    clientRequest: (method: string, server: string, client: string) =>
      `${method} of ${server}, to ${client}`,
  },

  batch: {
    approved: (count: number, noun: Noun) => `${plural(count, noun)} approved.`,
    denied: (count: number, noun: Noun) => `${plural(count, noun)} denied.`,
    endedAlready: (count: number, noun: Noun) =>
      `${plural(count, noun)} had ended already: decided elsewhere, missed, or cancelled by the client.`,
  },
  retryAllowed: (sender: string, request: string, seconds: number) =>
    `If ${sender} sends the same ${request} again within ${seconds} s, it runs without asking.`,
  callOf: (tool: string) => `call of ${tool}`,
  requestOf: (subject: string) => `request ${subject}`,
};
