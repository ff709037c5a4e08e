/** The tabs of the Approvals screen, and their place in the URL. */

export const TABS = ["pending", "decided", "missed"] as const;

export type Tab = (typeof TABS)[number];

/** Returns the tab that the URL names, or the first tab if the URL names none. */
export function readTab(id: string | null): Tab {
  return TABS.find((tab) => tab === id) ?? "pending";
}

/** Returns the link to a tab. */
export function linkToTab(tab: Tab): string {
  return tab === "pending" ? "#/approvals" : `#/approvals/${tab}`;
}
