/** Calls that wait and are alike: of one client, for one tool of one server as it is now. */

import type { ApprovalRequest } from "../../ipc";
import type { Waiting } from "../../state/approvals.svelte";

export interface Group {
  key: string;
  /** The oldest first; never empty. */
  waiting: Waiting[];
  first: Waiting;
}

/** The oldest group first. A result that waits is read for itself. */
export function groupsOf(waiting: Waiting[]): Group[] {
  const groups = new Map<string, Group>();
  for (const one of waiting) {
    const key = keyOf(one.request);
    const group = groups.get(key);
    if (group) group.waiting.push(one);
    else groups.set(key, { key, waiting: [one], first: one });
  }
  return [...groups.values()];
}

function keyOf({
  id,
  client,
  server,
  tool,
  identity,
  definition,
  result,
}: ApprovalRequest): string {
  return JSON.stringify(result === null ? [client, server, tool, identity, definition] : [id]);
}

/** What is sent in a call, and how many calls send exactly that. */
export interface Sent {
  arguments: string;
  extra: string | null;
  count: number;
}

export function sentBy(waiting: Waiting[]): Sent[] {
  const found = new Map<string, Sent>();
  for (const { request } of waiting) {
    const key = JSON.stringify([request.arguments, request.extra]);
    const known = found.get(key);
    if (known) known.count += 1;
    else found.set(key, { arguments: request.arguments, extra: request.extra, count: 1 });
  }
  return [...found.values()];
}
