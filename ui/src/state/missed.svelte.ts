/** The missed calls, as long as an identical retry of them can be allowed. */

import type { Event, Ipc } from "../ipc";
import { texts } from "../texts";
import { withDeadline, type WaitingCall } from "./approvals.svelte";
import { Reader } from "./reader";

export class Missed {
  /** Newest first. */
  list = $state.raw<WaitingCall[]>([]);
  /** The retry that was allowed last; empty if there is none. */
  status = $state("");
  private readonly reader = new Reader(() => this.read());
  private timer: ReturnType<typeof setTimeout> | undefined;
  private statusTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reader.run();
  }

  on(event: Event): void {
    const isMissed = event.kind === "call_changed" && event.call.decision === "timed_out";
    if (isMissed || event.kind === "approval_ended" || event.kind === "drawbridge_changed")
      void this.load().catch(() => undefined);
  }

  /** Allows an identical call if the client sends it again. Runs nothing by itself. */
  async allowRetry({ request }: WaitingCall): Promise<void> {
    const { seconds } = await this.ipc.call("approvals.allow_retry", {
      id: request.id,
      digest: request.digest,
    });
    this.status = texts.state.retryAllowed(request.client, request.tool, seconds);
    clearTimeout(this.statusTimer);
    this.statusTimer = setTimeout(() => (this.status = ""), seconds * 1000);
    await this.load();
  }

  stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.statusTimer);
  }

  private async read(): Promise<void> {
    this.set((await this.ipc.call("approvals.missed", {})).map(withDeadline));
  }

  private set(list: WaitingCall[]): void {
    const now = performance.now();
    this.list = list
      .filter((call) => call.deadline > now)
      .toSorted((a, b) => b.request.asked_at - a.request.asked_at);
    clearTimeout(this.timer);
    if (this.list.length === 0) return;
    const nextDeadline = Math.min(...this.list.map((call) => call.deadline));
    this.timer = setTimeout(() => this.set(this.list), Math.max(0, nextDeadline - now) + 1);
  }
}
