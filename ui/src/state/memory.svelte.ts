/** The entries of the memory. They are loaded only while a screen shows them. */

import type {
  AddMemory,
  EditMemory,
  Event,
  Ipc,
  ListMemory,
  MemoryCategory,
  MemoryCursor,
  MemoryEntry,
} from "../ipc";
import { Reloader } from "./reloader";
import { Removals } from "./removals.svelte";

/** The number of entries that are read at a time for the screen. */
const PAGE_SIZE = 50;
/** The number of entries that are read at a time for an export; the most that the hub returns. */
const EXPORT_PAGE_SIZE = 500;

export interface MemoryFilter {
  user: string;
  category: string;
  query: string;
}

export class Memory {
  entries = $state.raw<MemoryEntry[]>([]);
  categories = $state.raw<MemoryCategory[]>([]);
  loaded = $state(false);
  /** The deletions that can still be undone. */
  readonly removals = new Removals<number>({ remove: (id) => this.delete(id) });
  /** The entries without those that are about to be deleted. */
  readonly shown = $derived(this.entries.filter(({ id }) => !this.removals.ids.includes(id)));
  readonly users = $derived([...new Set(this.categories.map(({ user }) => user))]);
  private filter = $state.raw<MemoryFilter>({ user: "", category: "", query: "" });
  private next = $state.raw<MemoryCursor | null>(null);
  private watched = false;
  private readings = 0;
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  get hasMore(): boolean {
    return this.next !== null;
  }

  /** Lets events reload the entries until the returned function is called. */
  watch(): () => void {
    this.watched = true;
    return () => {
      this.watched = false;
    };
  }

  load(): Promise<void> {
    return this.watched ? this.reloader.run() : Promise.resolve();
  }

  on(event: Event): void {
    if (event.kind === "memory_changed") void this.load().catch(() => undefined);
  }

  /** Reads the first entries that match a filter. An empty field matches all entries. */
  async show(filter: MemoryFilter): Promise<void> {
    this.filter = filter;
    await this.reloader.run();
  }

  /** Adds the next page to the entries. */
  async readMore(): Promise<void> {
    const reading = ++this.readings;
    const params = { ...this.params(), cursor: this.next, limit: PAGE_SIZE };
    const page = await this.ipc.call("memory.list", params);
    // The person may choose another filter meanwhile.
    if (reading !== this.readings) return;
    this.entries = [...this.entries, ...page.entries];
    this.next = page.next;
  }

  async add(entry: AddMemory): Promise<void> {
    await this.ipc.call("memory.add", entry);
  }

  async edit(entry: EditMemory): Promise<void> {
    await this.ipc.call("memory.edit", entry);
  }

  private async delete(id: number): Promise<void> {
    await this.ipc.call("memory.delete", { ids: [id] });
  }

  /** Returns all entries that match the filter, as JSON. */
  async export(): Promise<string> {
    const entries: MemoryEntry[] = [];
    let cursor: MemoryCursor | null = null;
    do {
      const params: ListMemory = { ...this.params(), cursor, limit: EXPORT_PAGE_SIZE };
      const page: { entries: MemoryEntry[]; next: MemoryCursor | null } = await this.ipc.call(
        "memory.list",
        params,
      );
      entries.push(...page.entries);
      cursor = page.next;
    } while (cursor);
    return JSON.stringify(entries, null, 2);
  }

  private params(): ListMemory {
    const { user, category, query } = this.filter;
    return {
      user: user || null,
      query: query.trim() || null,
      category: category || null,
      tags: [],
      since: null,
      until: null,
      cursor: null,
      limit: null,
    };
  }

  private async read(): Promise<void> {
    const reading = ++this.readings;
    // Reads as many entries as are shown, so that an event does not shorten a list of up to 500.
    const limit = Math.min(Math.max(this.entries.length, PAGE_SIZE), EXPORT_PAGE_SIZE);
    const [page, categories] = await Promise.all([
      this.ipc.call("memory.list", { ...this.params(), limit }),
      this.ipc.call("memory.categories", {}),
    ]);
    if (reading !== this.readings) return;
    this.entries = page.entries;
    this.next = page.next;
    this.categories = categories;
    this.loaded = true;
  }
}
