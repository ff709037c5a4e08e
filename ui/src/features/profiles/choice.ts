/** Which servers and tools a profile has, while it is chosen, and what that costs. */

import type { Profile, ServerView, ToolView } from "../../ipc";

/** By server its tools; null for all of them, also later ones. */
export type Choice = Profile["servers"];

/** Which of its tools a client can see at all: what is hidden from all is no choice. */
export function offered(server: ServerView): ToolView[] {
  return server.tools.filter((tool) => !tool.hidden);
}

/** The names that can be ticked: what is offered, and what was chosen before and is not offered now. */
export function namesOf(server: ServerView, choice: Choice): string[] {
  const now = offered(server).map((tool) => tool.name);
  return [...now, ...(choice[server.id] ?? []).filter((name) => !now.includes(name))];
}

export interface Cost {
  tools: number;
  tokens: number;
}

/** What a client with that choice is shown. The tools of a deferred server are searched for, and cost nothing. */
export function costOf(servers: ServerView[], choice: Choice): Cost {
  const shown = servers
    .filter((server) => server.spec.visibility !== "deferred")
    .flatMap((server) => chosenOf(server, choice));
  return { tools: shown.length, tokens: shown.reduce((sum, tool) => sum + tool.tokens, 0) };
}

export function chosenOf(server: ServerView, choice: Choice): ToolView[] {
  const names = choice[server.id];
  if (names === undefined) return [];
  return offered(server).filter((tool) => names === null || names.includes(tool.name));
}

/** What is wrong with the profile, in one sentence for its name and one for its servers. */
export function profileFaults(
  name: string,
  choice: Choice,
  taken: string[],
): { name?: string; servers?: string } {
  const faults: { name?: string; servers?: string } = {};
  if (!name.trim()) faults.name = "Give it a name, such as “writing”.";
  else if (taken.includes(name.trim()))
    faults.name = "There is a profile of this name already. Edit that one, or choose another name.";
  if (Object.keys(choice).length === 0)
    faults.servers = "Choose at least one server: a client with this profile would see nothing.";
  return faults;
}
