/** The tabs of a server's page, and their place in the URL. */

export const TABS = ["tools", "prompts", "resources", "checks", "spec", "details", "log"] as const;

export type Tab = (typeof TABS)[number];

/** A server's page, as the URL names it. */
export interface Place {
  server: string;
  tab: Tab;
  /** An entry of the tab, such as a tool. */
  entry: string | null;
}

/** Returns the link to a tab of a server's page, or to an entry of the tab. */
export function linkTo(server: string, tab: Tab = "tools", entry: string | null = null): string {
  const parts = [server, ...(tab === "tools" && entry === null ? [] : [tab])];
  if (entry !== null) parts.push(entry);
  return `#/servers/${parts.map(encodeURIComponent).join("/")}`;
}

/** Reads the part of the URL after the name of the screen. An unknown tab is `tools`. */
export function parsePlace(id: string | null): Place | null {
  if (id === null) return null;
  const [server = "", tab, ...rest] = id.split("/");
  const known = TABS.find((known) => known === tab) ?? "tools";
  return { server, tab: known, entry: rest.length ? rest.join("/") : null };
}
