/** The filters of the Calls screen in the URL, and the export of calls as CSV. */

import type { Call } from "../../ipc";
import type { CallFilter } from "../../state/callSearch.svelte";
import { formatQuery as formatHashQuery } from "../../lib/hashQuery";
import { DECISION, OUTCOME } from "../../state/labels";

/** The filters as texts; an empty text filters nothing. `from` and `to` are days, both included. */
export interface CallQuery {
  client: string;
  session: string;
  server: string;
  tool: string;
  decision: string;
  outcome: string;
  text: string;
  from: string;
  to: string;
  /** How the list is grouped: `session`, or an empty text. */
  group: string;
}

const KEYS = [
  "client",
  "session",
  "server",
  "tool",
  "decision",
  "outcome",
  "text",
  "from",
  "to",
  "group",
] as const;

/**
 * Reads the filters of a URL. Ignores unknown decisions, outcomes and groups, and malformed days.
 */
export function readQuery(params: URLSearchParams): CallQuery {
  const query = Object.fromEntries(KEYS.map((key) => [key, params.get(key) ?? ""])) as unknown;
  const read = query as CallQuery;
  return {
    ...read,
    decision: Object.hasOwn(DECISION, read.decision) ? read.decision : "",
    outcome: Object.hasOwn(OUTCOME, read.outcome) ? read.outcome : "",
    from: startOfDay(read.from) === null ? "" : read.from,
    to: startOfDay(read.to) === null ? "" : read.to,
    group: read.group === "session" ? read.group : "",
  };
}

/** Returns whether a filter is set. */
export const isFiltered = (query: CallQuery): boolean =>
  Object.values({ ...query, group: "" }).some(Boolean);

/** Returns the URL of the Calls screen with these filters, and with the opened call, if any. */
export function formatQuery(query: CallQuery, call: string | null): string {
  const path = `#/calls${call === null ? "" : `/${encodeURIComponent(call)}`}`;
  return path + formatHashQuery(Object.fromEntries(KEYS.map((key) => [key, query[key]])));
}

export function toFilter(query: CallQuery): CallFilter {
  const { client, session, server, tool, text, from, to } = query;
  return {
    client,
    session,
    server,
    tool,
    text,
    decision: query.decision as CallFilter["decision"],
    outcome: query.outcome as CallFilter["outcome"],
    since: startOfDay(from),
    until: startOfDay(to, 1),
  };
}

/**
 * Returns the local midnight that begins a day such as `2026-11-21`, or the midnight `plus` days
 * later, in milliseconds since 1970. Returns `null` if `day` is malformed.
 */
function startOfDay(day: string, plus = 0): number | null {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? [];
  if (year === undefined) return null;
  const at = new Date(Number(year), Number(month) - 1, Number(date) + plus).getTime();
  return Number.isNaN(at) ? null : at;
}

/** Returns calls as comma-separated values (RFC 4180), with a header row. */
export function formatCsv(calls: Call[]): string {
  const columns = [
    "id",
    "at",
    "method",
    "client",
    "session",
    "server",
    "tool",
    "decision",
    "decided_by",
    "reason",
    "outcome",
    "error",
    "waited_ms",
    "duration_ms",
  ] as const;
  const rows = calls.map((call) =>
    columns.map((column) =>
      formatField(column === "at" ? new Date(call.at).toISOString() : String(call[column] ?? "")),
    ),
  );
  return [columns, ...rows].map((row) => `${row.join(",")}\r\n`).join("");
}

/** Quotes a field if necessary. Puts `'` before a formula, so that no spreadsheet runs it. */
function formatField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
