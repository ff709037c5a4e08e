/** Searches the calls in the hub's store: reads them page by page, and adds new calls. */

import type { Call, Decision, Event, Ipc, Outcome } from "../ipc";
import { Reloader } from "./reloader";

export const PAGE_SIZE = 500;
/**
 * When a new call arrives, a search keeps at most this many calls, and drops its oldest calls.
 * `readAll` also stops at this number. `loadOlder` has no limit.
 */
export const MAX_HELD = 100_000;

/** Which calls to show. A field that is empty or `null` matches every call. */
export interface CallFilter {
  client: string;
  session: string;
  server: string;
  tool: string;
  decision: Decision | "";
  outcome: Outcome | "";
  text: string;
  /** The first moment, and the moment after the last, in milliseconds since 1970. */
  since: number | null;
  until: number | null;
}

export const EVERY_CALL: CallFilter = {
  client: "",
  session: "",
  server: "",
  tool: "",
  decision: "",
  outcome: "",
  text: "",
  since: null,
  until: null,
};

export class CallSearch {
  /** The calls that were read so far, newest first. */
  list = $state.raw<Call[]>([]);
  /** Whether the first page was read. */
  loaded = $state(false);
  /** Whether the list ends with the oldest call that matches. */
  complete = $state(false);
  loadingOlder = $state(false);
  private readonly reloader = new Reloader(
    () => this.read(),
    (event) => this.apply(event),
  );

  constructor(
    private readonly ipc: Ipc,
    private filter: CallFilter,
  ) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    this.reloader.on(event);
  }

  /** Changes the filter, and reads the first page again. */
  search(filter: CallFilter): Promise<void> {
    this.filter = filter;
    return this.load();
  }

  /** Adds the next page of older calls, unless a page is being read or none is left. */
  async loadOlder(): Promise<void> {
    const last = this.list.at(-1);
    if (this.complete || this.loadingOlder || !last) return;
    this.loadingOlder = true;
    try {
      const { filter } = this;
      const page = await readPage(this.ipc, filter, last.id);
      // The filter may have changed meanwhile.
      if (filter !== this.filter || this.list.at(-1) !== last) return;
      this.list = [...this.list, ...page];
      this.complete = page.length < PAGE_SIZE;
    } finally {
      this.loadingOlder = false;
    }
  }

  /** Returns the calls that match. Reads page by page, and stops after `MAX_HELD` calls. */
  async readAll(): Promise<Call[]> {
    const all: Call[] = [];
    for (;;) {
      const page = await readPage(this.ipc, this.filter, all.at(-1)?.id ?? null);
      all.push(...page);
      if (page.length < PAGE_SIZE || all.length >= MAX_HELD) return all;
    }
  }

  private async read(): Promise<void> {
    const { filter } = this;
    const page = await readPage(this.ipc, filter, null);
    if (filter !== this.filter) return;
    this.list = page;
    this.complete = page.length < PAGE_SIZE;
    this.loaded = true;
  }

  private apply(event: Event): void {
    if (event.kind !== "call_changed") return;
    const { call } = event;
    const index = this.list.findIndex((listed) => listed.id === call.id);
    if (index >= 0) this.list = this.list.with(index, call);
    else if (matchesCall(call, this.filter)) {
      if (this.list.length >= MAX_HELD) this.complete = false;
      this.list = [call, ...this.list].slice(0, MAX_HELD);
    }
  }
}

function readPage(ipc: Ipc, filter: CallFilter, before: string | null): Promise<Call[]> {
  return findCalls(ipc, filter, before, PAGE_SIZE);
}

/** Returns the newest calls that match and, if `before` is a call, are older than this call. */
export function findCalls(
  ipc: Ipc,
  filter: CallFilter,
  before: string | null,
  limit: number,
): Promise<Call[]> {
  return ipc.call("calls.list", {
    client: filter.client || null,
    session: filter.session || null,
    server: filter.server || null,
    tool: filter.tool || null,
    needed_approval: false,
    text: filter.text.trim() || null,
    decision: filter.decision || null,
    outcome: filter.outcome || null,
    before,
    since: filter.since,
    until: filter.until,
    limit,
  });
}

/** Returns whether a call matches a filter. Ignores the arguments, which an event does not have. */
export function matchesCall(call: Call, filter: CallFilter): boolean {
  if (filter.client && call.client !== filter.client) return false;
  if (filter.session && call.session !== filter.session) return false;
  if (filter.server && call.server !== filter.server) return false;
  if (filter.tool && call.tool !== filter.tool) return false;
  if (filter.decision && call.decision !== filter.decision) return false;
  if (filter.outcome && call.outcome !== filter.outcome) return false;
  if (filter.since !== null && call.at < filter.since) return false;
  if (filter.until !== null && call.at >= filter.until) return false;
  const text = filter.text.trim().toLowerCase();
  return (
    !text ||
    `${call.method} ${call.tool} ${call.exposed_name} ${call.reason} ${call.error}`
      .toLowerCase()
      .includes(text)
  );
}
