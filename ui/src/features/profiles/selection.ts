/** The servers and tools that a profile selects, and their cost. */

import type { Profile, ServerView, ToolView } from "../../ipc";
import { texts } from "../../texts";

/** The selected tools of each server; null for all tools, including future tools. */
export type ToolSelection = Profile["servers"];

/**
 * Returns the tools that clients can see. A hidden tool cannot be added to a selection, but stays
 * in a selection that contains it.
 */
export function listVisibleTools(server: ServerView): ToolView[] {
  return server.tools.filter((tool) => !tool.hidden);
}

/** Returns the names to select from: visible tools, and selected tools that are not visible now. */
export function listSelectableNames(server: ServerView, selection: ToolSelection): string[] {
  const visible = listVisibleTools(server).map((tool) => tool.name);
  return [...visible, ...(selection[server.id] ?? []).filter((name) => !visible.includes(name))];
}

/** Returns the visible tools of a server that are selected. */
export function listSelectedTools(server: ServerView, selection: ToolSelection): ToolView[] {
  const names = selection[server.id];
  if (names === undefined) return [];
  return listVisibleTools(server).filter((tool) => names === null || names.includes(tool.name));
}

export interface Cost {
  tools: number;
  tokens: number;
}

/**
 * Returns the number of selected tools that clients list, and their tokens. Tools of a deferred
 * server are found by search and cost nothing. `tool_search` and `tool_call`, which clients list if
 * a deferred server is selected, are not counted.
 */
export function computeCost(servers: ServerView[], selection: ToolSelection): Cost {
  const listed = servers
    .filter((server) => server.spec.visibility !== "deferred")
    .flatMap((server) => listSelectedTools(server, selection));
  return { tools: listed.length, tokens: listed.reduce((sum, tool) => sum + tool.tokens, 0) };
}

export interface ProfileErrors {
  name?: string;
  servers?: string;
}

/** Returns one sentence for each invalid field; empty if the profile is valid. */
export function validateProfile(
  name: string,
  selection: ToolSelection,
  takenNames: string[],
): ProfileErrors {
  const t = texts.profiles.dialog;
  const errors: ProfileErrors = {};
  if (!name.trim()) errors.name = t.nameMissing;
  else if (takenNames.includes(name.trim())) errors.name = t.nameTaken;
  if (Object.keys(selection).length === 0) errors.servers = t.noServers;
  return errors;
}
