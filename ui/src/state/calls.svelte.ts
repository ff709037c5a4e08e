/** The calls that reached the door, newest first. */

import type { Call, Event, Ipc } from "../ipc";
import { Reader } from "./reader";

export const CALLS_KEPT = 1000;
const DECIDED_KEPT = 200;

export class Calls {
  list = $state.raw<Call[]>([]);
  loaded = $state(false);
  private readonly kept: number;
  private readonly reader = new Reader(
    () => this.read(),
    (event) => this.apply(event),
  );

  /** All calls, or only those `asked` for: the history of approvals. */
  constructor(
    private readonly ipc: Ipc,
    private readonly asked = false,
  ) {
    this.kept = asked ? DECIDED_KEPT : CALLS_KEPT;
  }

  load(): Promise<void> {
    return this.reader.run();
  }

  on(event: Event): void {
    this.reader.on(event);
  }

  private apply(event: Event): void {
    if (event.kind !== "call_changed") return;
    const { call } = event;
    if (this.asked && call.decided_by !== "person" && call.decided_by !== "hub") return;
    const at = this.list.findIndex((known) => known.id === call.id);
    this.list = at >= 0 ? this.list.with(at, call) : [call, ...this.list].slice(0, this.kept);
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("calls.list", {
      client: null,
      server: null,
      asked: this.asked,
      text: null,
      decision: null,
      before: null,
      since: null,
      until: null,
      limit: this.kept,
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

/** What a filter lets through; an empty field lets everything through. */
export function matchesCall(call: Call, filter: CallFilter): boolean {
  if (filter.client && call.client !== filter.client) return false;
  if (filter.server && call.server !== filter.server) return false;
  if (filter.decision && call.decision !== filter.decision) return false;
  const text = filter.text.trim().toLowerCase();
  return (
    !text ||
    `${call.client} ${call.server} ${call.tool} ${call.reason} ${call.error}`
      .toLowerCase()
      .includes(text)
  );
}
