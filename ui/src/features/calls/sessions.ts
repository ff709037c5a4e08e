/** The rows of the Calls screen: calls alone, or grouped by their client session. */

import type { Call } from "../../ipc";

/** The heading of the calls of a session, or of a client's calls without a session. */
export interface SessionHeading {
  client: string;
  /** An empty text if the calls belong to no session. */
  session: string;
  count: number;
  /** The times of the oldest and the newest call, in milliseconds. */
  from: number;
  to: number;
}

export type CallRow = { key: string; call: Call } | { key: string; heading: SessionHeading };

/** Returns a row for each call, in the same order. */
export const listRows = (calls: Call[]): CallRow[] => calls.map((call) => ({ key: call.id, call }));

/**
 * Returns the calls by session, each session with a heading. The sessions are in the order of their
 * first calls, and the calls of a session keep their order.
 */
export function groupBySession(calls: Call[]): CallRow[] {
  const groups = new Map<string, Call[]>();
  for (const call of calls) {
    const key = `${call.client} ${call.session ?? ""}`;
    const group = groups.get(key);
    if (group) group.push(call);
    else groups.set(key, [call]);
  }
  return [...groups].flatMap(([key, group]) => [
    { key: `session ${key}`, heading: headingOf(group) },
    ...listRows(group),
  ]);
}

function headingOf(calls: Call[]): SessionHeading {
  const [first] = calls;
  return {
    client: first?.client ?? "",
    session: first?.session ?? "",
    count: calls.length,
    from: calls.reduce((from, { at }) => Math.min(from, at), Infinity),
    to: calls.reduce((to, { at }) => Math.max(to, at), -Infinity),
  };
}

/** Returns the beginning of a session's id, which is enough to tell sessions apart. */
export const shortenSession = (session: string): string =>
  session.length > 12 ? `${session.slice(0, 8)}…` : session;
