/**
 * Loads the code of the screens. The window appears sooner if it loads only the screen that it
 * shows first.
 */

import type { Component } from "svelte";
import type { DesktopShell } from "../ipc";
import { PAGES, type Page } from "../routes";

/** The properties of each screen. A screen declares only those that it uses. */
interface ScreenProps {
  /** The selected entry. */
  id: string | null;
  /** The filters of the URL. */
  query: URLSearchParams;
  /** The desktop app, or `null` in a browser. */
  desktop: DesktopShell | null;
}
type Screen = Component<ScreenProps>;

const imports: Record<Page, () => Promise<unknown>> = {
  overview: () => import("./OverviewView.svelte"),
  approvals: () => import("./ApprovalsView.svelte"),
  servers: () => import("./ServersView.svelte"),
  clients: () => import("./ClientsView.svelte"),
  policy: () => import("./PolicyView.svelte"),
  hooks: () => import("./HooksView.svelte"),
  calls: () => import("./CallsView.svelte"),
  memory: () => import("./MemoryView.svelte"),
  audit: () => import("./AuditView.svelte"),
  logs: () => import("./LogsView.svelte"),
  settings: () => import("./SettingsView.svelte"),
};

let loaded = $state.raw<Partial<Record<Page, Screen>>>({});

/** Returns the screen of the page, or `undefined` if its code is not loaded yet. */
export function findScreen(page: Page): Screen | undefined {
  return loaded[page];
}

/** Loads the code of a page's screen. Rejects if the file of the screen cannot be read. */
export async function loadScreen(page: Page): Promise<void> {
  if (loaded[page]) return;
  const module = (await imports[page]()) as { default: Screen };
  loaded = { ...loaded, [page]: module.default };
}

/**
 * Loads the code of all screens, so that each opens at once. Loads one after the other, because a
 * browser sends few requests at a time, and the screen that is shown needs some of them.
 */
export async function loadAllScreens(): Promise<void> {
  for (const page of PAGES) await loadScreen(page);
}
