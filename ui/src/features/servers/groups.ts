/** Groups and searches the servers of the list. */

import type { ServerView, ToolView } from "../../ipc";
import { needsPerson } from "../../state/servers.svelte";

export const GROUPS = ["attention", "on", "off"] as const;

export type GroupId = (typeof GROUPS)[number];

/** A server of the list, with the tools that match the search. */
export interface FoundServer {
  server: ServerView;
  /** The matching tools; empty if the server itself matches, or if the search is empty. */
  tools: ToolView[];
}

export interface ServerGroup {
  id: GroupId;
  servers: FoundServer[];
}

export function groupOf(server: ServerView): GroupId {
  if (server.state === "disabled") return "off";
  return needsPerson(server) ? "attention" : "on";
}

/**
 * Returns the servers in their groups: servers that need attention, then other servers that are on,
 * then servers that are off. In each group, built-in servers come last. If `query` is not empty,
 * returns only servers that match, or that have a matching tool.
 */
export function groupServers(servers: ServerView[], query = ""): ServerGroup[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = servers
    .toSorted((a, b) => Number(Boolean(a.spec.builtin)) - Number(Boolean(b.spec.builtin)))
    .flatMap((server) => search(server, words) ?? []);
  return GROUPS.map((id) => ({
    id,
    servers: found.filter(({ server }) => groupOf(server) === id),
  })).filter((group) => group.servers.length > 0);
}

/** Returns the server to show if none is chosen: the first server of the list. */
export function firstServer(servers: ServerView[]): ServerView | undefined {
  return groupServers(servers)[0]?.servers[0]?.server;
}

function search(server: ServerView, words: string[]): FoundServer | null {
  const { name, id, spec } = server;
  const target = [spec.command, ...(spec.args ?? []), spec.url].filter(Boolean).join(" ");
  if (matches([name, id, target], words)) return { server, tools: [] };
  const tools = server.tools.filter((tool) =>
    matches([tool.name, tool.title ?? "", tool.description], words),
  );
  return tools.length ? { server, tools } : null;
}

function matches(texts: string[], words: string[]): boolean {
  const text = texts.join("\n").toLowerCase();
  return words.every((word) => text.includes(word));
}
