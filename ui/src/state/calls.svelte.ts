/** The calls that reached a decision, newest first. */

import type {
  Call,
  CallAuditEntry,
  CallStatsView,
  Event,
  Ipc,
  JsonValue,
  ShowCallStats,
} from "../ipc";
import { CallSearch, EVERY_CALL, findCalls, type CallFilter } from "./callSearch.svelte";
import { wasAsked } from "./labels";
import { Reloader } from "./reloader";

const MAX_CALLS = 200;

export class Calls {
  list = $state.raw<Call[]>([]);
  loaded = $state(false);
  private readonly searches = new Set<CallSearch>();
  private readonly reloader = new Reloader(
    () => this.read(),
    (event) => this.apply(event),
  );

  /** Holds the newest calls or, if `onlyAsked` is set, the newest that a person had to decide. */
  constructor(
    private readonly ipc: Ipc,
    private readonly onlyAsked = false,
  ) {}

  async load(): Promise<void> {
    await Promise.all([this.reloader.run(), ...[...this.searches].map((search) => search.load())]);
  }

  on(event: Event): void {
    this.reloader.on(event);
    for (const search of this.searches) search.on(event);
  }

  /** Searches all stored calls. The search follows new calls until it is closed. */
  openSearch(filter: CallFilter): CallSearch {
    const search = new CallSearch(this.ipc, filter);
    this.searches.add(search);
    return search;
  }

  /** Returns the newest stored calls that contain a text, at most `limit`. */
  find(text: string, limit: number): Promise<Call[]> {
    return findCalls(this.ipc, { ...EVERY_CALL, text }, null, limit);
  }

  closeSearch(search: CallSearch): void {
    this.searches.delete(search);
  }

  /** Calls a tool by hand. The policy applies, and the call is recorded. Returns the result. */
  callTool(name: string, values: Record<string, unknown>): Promise<JsonValue> {
    return this.ipc.call("tools.call", { name, arguments: values });
  }

  /** Returns a call with its sent content and its result, which the list does not contain. */
  show(id: string): Promise<Call> {
    return this.ipc.call("calls.show", { id });
  }

  /** Verifies the entries of the audit log about a call, and returns them. */
  verify(id: string): Promise<CallAuditEntry[]> {
    return this.ipc.call("audit.verify_call", { id });
  }

  /** Returns the counts, durations and outcomes of the calls that match a filter. */
  loadStats(filter: ShowCallStats): Promise<CallStatsView> {
    return this.ipc.call("calls.stats", filter);
  }

  private apply(event: Event): void {
    if (event.kind !== "call_changed") return;
    const { call } = event;
    if (this.onlyAsked && !wasAsked(call)) return;
    const index = this.list.findIndex((listed) => listed.id === call.id);
    this.list = index >= 0 ? this.list.with(index, call) : [call, ...this.list].slice(0, MAX_CALLS);
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("calls.list", {
      client: null,
      session: null,
      server: null,
      tool: null,
      needed_approval: this.onlyAsked,
      text: null,
      decision: null,
      outcome: null,
      before: null,
      since: null,
      until: null,
      limit: MAX_CALLS,
    });
    this.loaded = true;
  }
}
