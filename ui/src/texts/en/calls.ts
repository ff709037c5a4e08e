/** Texts of the Calls screen. */

import { plural } from "../plural";

export const calls = {
  title: "Calls",
  lead: "Every call that reached a decision, with its reason and outcome.",
  emptyTitle: "No calls yet.",
  emptyHint: "Ask one of your clients to use a tool. Each call appears here once it is decided.",

  filters: "Filter calls",
  client: "Client",
  allClients: "All clients",
  server: "Server",
  allServers: "All servers",
  decision: "Decision",
  allDecisions: "All decisions",
  text: "Text",
  textPlaceholder: "Tool, reason or error",
  count: (found: number) => plural(found, "call"),
  countOfNewest: (found: number, newest: number) =>
    `${plural(found, "call")} of the newest ${newest}`,
  noMatch: "No call matches these filters. Change or clear a filter.",
  showOlder: (count: number) => `Show older calls (${count} more)`,

  caption: "Calls, newest first",
  time: "Time",
  tool: "Tool",
  outcome: "Outcome",
  waited: "Waited",
  took: "Took",
  noDuration: "–",

  dialogTitle: (tool: string) => `Call of ${tool}`,
  exposedAs: "exposed as",
  rule: "Rule",
  showRule: "Show the rule that decided",
  edited: "Edited",
  editedHint: "You changed the arguments.",
  reason: "Reason",
  noReason: "none given",
  waitedFor: (duration: string) => `${duration} until the decision`,
  tookFor: (duration: string) => `${duration} from the request to the answer`,
  id: "ID",
};
