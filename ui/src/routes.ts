/** Where a hash leads. One line a screen. */

export const PAGES = [
  "approvals",
  "servers",
  "clients",
  "rules",
  "activity",
  "logs",
  "settings",
] as const;

export type Page = (typeof PAGES)[number];

export interface Route {
  page: Page | "popup";
  /** The thing on that page, such as a server's id. */
  id: string | null;
}

/** `#/servers/github` → the page `servers` with `github` open. What is unknown leads to the approvals. */
export function parseRoute(hash: string): Route {
  const [, page, id] = /^#\/([a-z]+)(?:\/(.+))?$/.exec(hash) ?? [];
  if (page === "popup") return { page, id: null };
  const known = PAGES.find((p) => p === page);
  return known
    ? { page: known, id: id === undefined ? null : decoded(id) }
    : { page: "approvals", id: null };
}

function decoded(id: string): string | null {
  try {
    return decodeURIComponent(id);
  } catch {
    return null;
  }
}
