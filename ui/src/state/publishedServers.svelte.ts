/** The search in the presets and the official registry. */

import type {
  Event,
  FoundServers,
  Ipc,
  OfficialRegistryView,
  PublishedKind,
  PublishedServerDetails,
  PublishedServerView,
} from "../ipc";
import { messageOf } from "./errors";
import { Reloader } from "./reloader";

export interface Search {
  text: string;
  kind: PublishedKind | null;
  /** Finds only servers that need no secret. */
  withoutKey: boolean;
}

export class PublishedServers {
  search = $state.raw<Search>({ text: "", kind: null, withoutKey: false });
  /** The answer to the latest search, with all pages that were read. */
  found = $state.raw<FoundServers | null>(null);
  error = $state("");
  refreshing = $state(false);
  private readonly reloader = new Reloader(() => this.read());
  private opened = false;

  constructor(private readonly ipc: Ipc) {}

  get registry(): OfficialRegistryView | null {
    return this.found?.registry ?? null;
  }

  /** Reads the lists when the search opens. Refreshes an old copy, but never fetches the first. */
  async open(): Promise<void> {
    this.opened = true;
    await this.load();
    if (this.registry?.stale && this.registry.refreshed_at !== null) await this.refresh(false);
  }

  /** Searches again, for as many servers as are shown (at most 100), to keep the list in place. */
  load(): Promise<void> {
    return this.opened ? this.reloader.run() : Promise.resolve();
  }

  on(event: Event): void {
    const kinds = ["official_registry_changed", "server_changed", "settings_changed"];
    if (kinds.includes(event.kind)) void this.load();
  }

  async searchFor(search: Search): Promise<void> {
    this.search = search;
    this.found = this.found && { ...this.found, servers: [] };
    await this.load();
  }

  /** Adds the next page to the found servers. */
  async loadMore(): Promise<void> {
    const found = this.found;
    if (!found || found.next === null) return;
    const search = this.search;
    const page = await this.ipc.call("registry.search", { ...this.params(), offset: found.next });
    // Another search has begun meanwhile.
    if (search !== this.search) return;
    this.found = {
      ...page,
      presets: found.presets,
      servers: mergeServers(found.servers, page.servers),
    };
  }

  show(name: string): Promise<PublishedServerDetails> {
    return this.ipc.call("registry.show", { name });
  }

  /** Fetches the list, or its changes. The outcome is part of the next answer. */
  async refresh(force: boolean): Promise<void> {
    if (this.refreshing) return;
    this.refreshing = true;
    // The next answer has the error too, in the state of the registry.
    await this.ipc.call("registry.refresh", { force }).catch(() => undefined);
    this.refreshing = false;
    await this.load();
  }

  private params() {
    const { text, kind, withoutKey } = this.search;
    return { text, kind, needs_secret: withoutKey ? false : null, offset: 0, limit: null };
  }

  private async read(): Promise<void> {
    const shown = Math.min(100, Math.max(30, this.found?.servers.length ?? 0));
    try {
      this.found = await this.ipc.call("registry.search", { ...this.params(), limit: shown });
      this.error = "";
    } catch (thrown) {
      this.error = messageOf(thrown);
    }
  }
}

/** Joins two pages without duplicates: a refresh may move a server from one page to the other. */
function mergeServers(
  shown: PublishedServerView[],
  more: PublishedServerView[],
): PublishedServerView[] {
  const names = new Set(shown.map((server) => server.name));
  return [...shown, ...more.filter((server) => !names.has(server.name))];
}
