/** Groups and searches the servers of the list. */

import type { ServerView, ToolView } from "../../ipc";
import { needsPerson } from "../../state/servers.svelte";

export const GROUPS = ["attention", "on", "off"] as const;

export type GroupId = (typeof GROUPS)[number];

/** A server of the list, with the tools that match the search. */
export interface FoundServer {
  server: ServerView;
  /** The matching tools; empty if the server itself matches, or if nothing is searched. */
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
 * Returns the servers in their groups: those that need attention, then those that are on, then
 * those that are off. In each group, the servers that a person added come before the built-in ones.
 * If `query` is not empty, only servers that match it, or that have a tool that does, are returned.
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

/** Returns the server that is shown if none is chosen: the first of the list. */
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
