/** Maps the hash of the URL to a screen. */

export const PAGES = [
  "approvals",
  "servers",
  "clients",
  "policy",
  "hooks",
  "calls",
  "memory",
  "audit",
  "logs",
  "settings",
] as const;

export type Page = (typeof PAGES)[number];

export interface Route {
  page: Page | "popup";
  /** The selected entry on that page, such as a server's id. */
  id: string | null;
}

/**
 * Returns the page and the selected entry of a hash: `#/servers/github` is the page `servers` with
 * `github` selected. An unknown hash is the page `approvals`.
 */
export function parseRoute(hash: string): Route {
  const [, page, id] = /^#\/([a-z]+)(?:\/(.+))?$/.exec(hash) ?? [];
  if (page === "popup") return { page, id: null };
  const knownPage = PAGES.find((name) => name === page);
  return knownPage
    ? { page: knownPage, id: id === undefined ? null : decodeId(id) }
    : { page: "approvals", id: null };
}

function decodeId(id: string): string | null {
  try {
    return decodeURIComponent(id);
  } catch {
    return null;
  }
}
