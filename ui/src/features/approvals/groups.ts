/**
 * Groups similar waiting requests: of one client and one method, for the same version of a tool and
 * its server. If a sampling provider answers, the provider is the same too.
 */

import type { ApprovalRequest } from "../../ipc";
import type { RequestWithDeadline } from "../../state/approvals.svelte";

export interface Group {
  key: string;
  /** Oldest first; never empty. */
  waiting: RequestWithDeadline[];
  /** The request whose card stands for the group: the oldest, unless the person chose another. */
  first: RequestWithDeadline;
}

/** Groups requests, oldest group first. Each held result and each form is a group of its own. */
export function groupRequests(waiting: RequestWithDeadline[]): Group[] {
  const groups = new Map<string, Group>();
  for (const call of waiting) {
    const key = toKey(call.request);
    const group = groups.get(key);
    if (group) group.waiting.push(call);
    else groups.set(key, { key, waiting: [call], first: call });
  }
  return [...groups.values()];
}

function toKey({
  id,
  method,
  client,
  server,
  tool,
  identity,
  definition_digest,
  result,
  sampling_provider,
  is_filled_in_by_person,
}: ApprovalRequest): string {
  return JSON.stringify(
    result === null && !is_filled_in_by_person
      ? [method, client, server, tool, identity, definition_digest, sampling_provider]
      : [id],
  );
}

/** The content of requests, and the number of requests with exactly this content. */
export interface Content {
  arguments: string;
  extra: string | null;
  count: number;
}

export function groupByContent(waiting: RequestWithDeadline[]): Content[] {
  const contents = new Map<string, Content>();
  for (const { request } of waiting) {
    const key = JSON.stringify([request.arguments, request.extra]);
    const content = contents.get(key);
    if (content) content.count += 1;
    else contents.set(key, { arguments: request.arguments, extra: request.extra, count: 1 });
  }
  return [...contents.values()];
}
