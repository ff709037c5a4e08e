/** The log of the fake hub. */

import type { Call, ListLogs, LogLine, LogPage } from "../bindings";

const LEVELS = ["trace", "debug", "info", "warn", "error"];
/** The most lines that a request searches. The real hub also searches only a part of its files. */
const MAX_SEARCHED = 20_000;

export function listLogs(logs: LogLine[], params: ListLogs): LogPage {
  const limit = Math.min(params.limit ?? 500, 5000);
  const older = logs.filter((line) => params.before === null || line.seq < params.before);
  const searched = older.slice(-MAX_SEARCHED);
  const matching = searched.filter((line) => matches(line, params));
  const lines = matching.slice(-limit);
  if (matching.length > limit) return { lines, older: lines[0]?.seq ?? null };
  return { lines, older: older.length > searched.length ? (searched[0]?.seq ?? null) : null };
}

function matches(line: LogLine, params: ListLogs): boolean {
  const { server, hub_only, call, kind, except, level, text, since, until } = params;
  return (
    (server === null || line.server === server) &&
    (!hub_only || line.server === null) &&
    (call === null || line.call === call) &&
    (kind === null || line.kind === kind) &&
    (except === null || line.kind !== except) &&
    (level === null || LEVELS.indexOf(line.level) >= LEVELS.indexOf(level)) &&
    (since === null || line.at >= since) &&
    (until === null || line.at < until) &&
    (text === null || line.text.toLowerCase().includes(text.toLowerCase()))
  );
}

/** Returns the line about a decision, without the arguments, as the real hub writes it. */
export function describeDecision(call: Call): Pick<LogLine, "level" | "text"> {
  const name = call.exposed_name ? `${call.method} '${call.exposed_name}'` : call.method;
  const subject = `${name} of client '${call.client}' to server '${call.server}'`;
  const by = { person: "a person", rule: "a rule", default: "the default", hub: "Drawbridge" };
  const author = by[call.decided_by];
  const reason = call.reason ? ` (${call.reason})` : "";
  if (call.outcome === "withheld")
    return { level: "info", text: `the result of ${subject} was withheld by a person` };
  switch (call.decision) {
    case "allowed": {
      const verb = call.decided_by === "person" ? "approved" : "allowed";
      return { level: "info", text: `${subject} was ${verb} by ${author}${reason}` };
    }
    case "denied":
      return { level: "info", text: `${subject} was denied by ${author}${reason}` };
    case "paused":
      return { level: "warn", text: `${subject} was refused, because all calls are paused` };
    default:
      return { level: "warn", text: `${subject} was missed, because nobody decided it in time` };
  }
}
