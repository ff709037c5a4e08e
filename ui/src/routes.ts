/** Maps the hash of the URL to a screen. */

export const PAGES = [
  "overview",
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
  /** `start` is the first screen, until the window knows which page to open. */
  page: Page | "popup" | "start";
  /** The selected entry on that page, such as a server's id. */
  id: string | null;
  /** The filters of that page, as in `#/logs?server=github`. */
  query: URLSearchParams;
}

/**
 * Returns the page, the selected entry and the filters of a hash: `#/servers/github` is the page
 * `servers` with `github` selected. For an unknown hash, the page is `start`.
 */
export function parseRoute(hash: string): Route {
  const [, name, id, filters] = /^#\/([a-z]+)(?:\/([^?]+))?(?:\?(.*))?$/.exec(hash) ?? [];
  const query = new URLSearchParams(filters);
  if (name === "popup") return { page: name, id: null, query };
  const page = PAGES.find((known) => known === name);
  return page
    ? { page, id: id === undefined ? null : decodeId(id), query }
    : { page: "start", id: null, query };
}

function decodeId(id: string): string | null {
  try {
    return decodeURIComponent(id);
  } catch {
    return null;
  }
}
