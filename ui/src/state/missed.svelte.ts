/** The calls that nobody decided in time, as long as an identical retry of them can be allowed. */

import type { Event, Ipc } from "../ipc";
import { timed, type Waiting } from "./approvals.svelte";
import { Reader } from "./reader";

export class Missed {
  /** The newest first; each until its time for a retry is over. */
  list = $state.raw<Waiting[]>([]);
  /** What was allowed last, and for how long; empty where nothing was. */
  said = $state("");
  private readonly reader = new Reader(() => this.read());
  private timer: ReturnType<typeof setTimeout> | undefined;
  private saidTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reader.run();
  }

  on(event: Event): void {
    const isMissed = event.kind === "call_changed" && event.call.decision === "timed_out";
    if (isMissed || event.kind === "approval_ended" || event.kind === "drawbridge_changed")
      void this.load().catch(() => undefined);
  }

  /** Lets an identical call through, should the client send it again. Runs nothing. */
  async allowRetry({ request }: Waiting): Promise<void> {
    const { seconds } = await this.ipc.call("approvals.allow_retry", {
      id: request.id,
      digest: request.digest,
    });
    this.said = `If ${request.client} sends the same call of ${request.tool} again within ${seconds} s, it crosses without asking.`;
    clearTimeout(this.saidTimer);
    this.saidTimer = setTimeout(() => (this.said = ""), seconds * 1000);
    await this.load();
  }

  stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.saidTimer);
  }

  private async read(): Promise<void> {
    this.set((await this.ipc.call("approvals.missed", {})).map(timed));
  }

  private set(list: Waiting[]): void {
    const now = performance.now();
    this.list = list
      .filter((one) => one.deadline > now)
      .toSorted((a, b) => b.request.asked_at - a.request.asked_at);
    clearTimeout(this.timer);
    if (this.list.length === 0) return;
    const next = Math.min(...this.list.map((one) => one.deadline));
    this.timer = setTimeout(() => this.set(this.list), Math.max(0, next - now) + 1);
  }
}
