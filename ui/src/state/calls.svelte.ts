/** The calls that reached a decision, newest first. */

import type { Call, CallStatsView, Event, Ipc, ShowCallStats } from "../ipc";
import { Reloader } from "./reloader";

export const MAX_CALLS = 1000;
const MAX_ASKED_CALLS = 200;

export class Calls {
  list = $state.raw<Call[]>([]);
  loaded = $state(false);
  private readonly limit: number;
  private readonly reloader = new Reloader(
    () => this.read(),
    (event) => this.apply(event),
  );

  /** Holds the newest calls, or only those that a person was asked about if `onlyAsked` is set. */
  constructor(
    private readonly ipc: Ipc,
    private readonly onlyAsked = false,
  ) {
    this.limit = onlyAsked ? MAX_ASKED_CALLS : MAX_CALLS;
  }

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    this.reloader.on(event);
  }

  /** Returns a call with what was sent, which the list does not contain. */
  show(id: string): Promise<Call> {
    return this.ipc.call("calls.show", { id });
  }

  /** Returns how many calls there were, how long they took and how they ended. */
  loadStats(filter: ShowCallStats): Promise<CallStatsView> {
    return this.ipc.call("calls.stats", filter);
  }

  private apply(event: Event): void {
    if (event.kind !== "call_changed") return;
    const { call } = event;
    if (this.onlyAsked && call.decided_by !== "person" && call.decided_by !== "hub") return;
    const index = this.list.findIndex((listed) => listed.id === call.id);
    this.list =
      index >= 0 ? this.list.with(index, call) : [call, ...this.list].slice(0, this.limit);
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("calls.list", {
      client: null,
      server: null,
      asked: this.onlyAsked,
      text: null,
      decision: null,
      before: null,
      since: null,
      until: null,
      limit: this.limit,
    });
    this.loaded = true;
  }
}

export interface CallFilter {
  client: string;
  server: string;
  decision: string;
  text: string;
}

/** Returns whether a call matches a filter. An empty field matches every call. */
export function matchesCall(call: Call, filter: CallFilter): boolean {
  if (filter.client && call.client !== filter.client) return false;
  if (filter.server && call.server !== filter.server) return false;
  if (filter.decision && call.decision !== filter.decision) return false;
  const text = filter.text.trim().toLowerCase();
  return (
    !text ||
    `${call.method} ${call.client} ${call.server} ${call.tool} ${call.reason} ${call.error}`
      .toLowerCase()
      .includes(text)
  );
}
