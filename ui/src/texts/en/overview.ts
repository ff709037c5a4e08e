/** Texts of the Overview screen. */

import { plural } from "../plural";

const needs = (count: number) => (count === 1 ? "needs" : "need");

export const overview = {
  title: "Overview",
  lead: "Requests that wait for you, problems, and the recent calls of your clients.",

  attention: "Needs you",
  nothing: "Nothing needs you.",
  nothingHint: "Calls that wait for you, and servers that do not work, appear here.",
  loading: "Reading the state…",
  approvals: (count: number) => `${plural(count, "request")} ${count === 1 ? "waits" : "wait"}`,
  approvalsHint: "They are denied if nobody decides in time.",
  decide: "Decide",
  missed: (count: number) => `${plural(count, "call")} missed`,
  missedHint: "You can still allow a retry.",
  showMissed: "Show missed calls",
  pairings: (count: number) =>
    count === 1
      ? "An unknown client asks to be paired"
      : `${count} unknown clients ask to be paired`,
  answer: "Answer",
  paused: "All calls are paused",
  pausedHint:
    "Every call is denied until calls resume. Press “Resume calls” at the top of this screen.",
  notListening: "No client can connect over HTTP",
  showSettings: "Show settings",
  checkFailed: (check: string) => `Check failed: ${check}`,
  disk: "The disk is almost full",
  secretStore: "Secrets cannot be read",
  showSecrets: "Show secrets",
  server: (name: string, state: string) => `${name}: ${state}`,
  definitions: (name: string, count: number) =>
    `${name}: ${plural(count, "definition")} ${needs(count)} acceptance`,
  definitionsHint: "Clients do not see the new versions until you accept them.",
  showServer: "Show server",
  showServers: "Show servers",
  showLog: "Show log",
  brokenSpec: (file: string) => `${file} cannot be read`,
  clientFiles: (count: number) =>
    `${plural(count, "file")} of clients ${count === 1 ? "needs" : "need"} attention`,
  clientFilesHint: "The entry of Drawbridge was changed or removed, or the file cannot be read.",
  showClients: "Show clients",
  more: (count: number) => `Show ${count} more`,

  today: "Today",
  todayPartial: "There were too many calls to count all of them.",
  calls: "Calls",
  notAllowed: "Not allowed",
  failed: "Failed",
  asked: "You were asked",
  wait: "Median wait for you",
  none: "–",

  charts: "Charts",
  period: "Period",
  periods: { hour: "1 hour", day: "24 hours", week: "7 days", month: "30 days" },
  by: "Group by",
  groups: { none: "Nothing", client: "Client", server: "Server" },
  others: "Others",
  time: "Time",
  emptyTitle: "No calls in this period.",
  emptyHint: "Choose a longer period, or ask one of your clients to use a tool.",
  errorsChart: (count: string) => `Errors: ${count}`,
  errorsSeries: "Errors",
  latencyOfGroups: "Latency (95th percentile)",
  partial: "There were too many calls to count all of them. Older calls are missing here.",
  showCalls: "Show calls",
};
