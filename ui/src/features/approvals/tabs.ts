/** The tabs of the Approvals screen, and their place in the URL. */

export const TABS = ["pending", "decided", "missed"] as const;

export type Tab = (typeof TABS)[number];

/** Returns the tab of a route's id. Any other id is the first tab. */
export function readTab(id: string | null): Tab {
  return TABS.find((tab) => tab === id) ?? "pending";
}

/** Returns the hash of a tab. */
export function linkToTab(tab: Tab): string {
  return tab === "pending" ? "#/approvals" : `#/approvals/${tab}`;
}
