/** The servers and tools that a profile selects, and what they cost. */

import type { Profile, ServerView, ToolView } from "../../ipc";
import { texts } from "../../texts";

/** The selected tools of each server; null for all tools, including future ones. */
export type Choice = Profile["servers"];

/** Returns the tools that clients can see at all. Hidden tools cannot be selected. */
export function listVisibleTools(server: ServerView): ToolView[] {
  return server.tools.filter((tool) => !tool.hidden);
}

/** Returns the names to select from: visible tools, and selected tools that are not offered now. */
export function listSelectableNames(server: ServerView, choice: Choice): string[] {
  const visible = listVisibleTools(server).map((tool) => tool.name);
  return [...visible, ...(choice[server.id] ?? []).filter((name) => !visible.includes(name))];
}

/** Returns the visible tools that a choice selects from a server. */
export function listChosenTools(server: ServerView, choice: Choice): ToolView[] {
  const names = choice[server.id];
  if (names === undefined) return [];
  return listVisibleTools(server).filter((tool) => names === null || names.includes(tool.name));
}

export interface Cost {
  tools: number;
  tokens: number;
}

/**
 * Returns the number of tools that a client with this choice lists, and their tokens. Tools of a
 * deferred server are found by search and cost nothing.
 */
export function computeCost(servers: ServerView[], choice: Choice): Cost {
  const listed = servers
    .filter((server) => server.spec.visibility !== "deferred")
    .flatMap((server) => listChosenTools(server, choice));
  return { tools: listed.length, tokens: listed.reduce((sum, tool) => sum + tool.tokens, 0) };
}

export interface ProfileErrors {
  name?: string;
  servers?: string;
}

/** Returns one sentence for each invalid field; empty if the profile is valid. */
export function validateProfile(name: string, choice: Choice, takenNames: string[]): ProfileErrors {
  const t = texts.profiles.dialog;
  const errors: ProfileErrors = {};
  if (!name.trim()) errors.name = t.nameMissing;
  else if (takenNames.includes(name.trim())) errors.name = t.nameTaken;
  if (Object.keys(choice).length === 0) errors.servers = t.noServers;
  return errors;
}
