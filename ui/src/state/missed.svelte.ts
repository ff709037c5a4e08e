/** The missed requests for which an identical retry can still be allowed. */

import type { Event, Ipc } from "../ipc";
import { texts } from "../texts";
import { withDeadline, type RequestWithDeadline } from "./approvals.svelte";
import { isSentToClients, nounOf, subjectOf } from "./labels";
import { Reloader } from "./reloader";

const t = texts.state;

export class Missed {
  /** Newest first. */
  list = $state.raw<RequestWithDeadline[]>([]);
  /** A message about the last allowed retry; empty once that permission has expired. */
  status = $state("");
  private readonly reloader = new Reloader(() => this.read());
  private timer: ReturnType<typeof setTimeout> | undefined;
  private statusTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    const isMissed = event.kind === "call_changed" && event.call.decision === "timed_out";
    if (isMissed || event.kind === "approval_ended" || event.kind === "drawbridge_changed")
      void this.load().catch(() => undefined);
  }

  /** Allows one identical retry. Runs nothing: the sender has to send the request again. */
  async allowRetry({ request }: RequestWithDeadline): Promise<void> {
    const { seconds } = await this.ipc.call("approvals.allow_retry", {
      id: request.id,
      digest: request.digest,
    });
    const subject = subjectOf(request);
    this.status = t.retryAllowed(
      isSentToClients(request.method) ? request.server_name : request.client,
      nounOf(request.method) === "call" ? t.callOf(subject) : t.requestOf(subject),
      seconds,
    );
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

  private set(list: RequestWithDeadline[]): void {
    const now = performance.now();
    this.list = list
      .filter(({ deadline }) => deadline > now)
      .toSorted((a, b) => b.request.asked_at - a.request.asked_at);
    clearTimeout(this.timer);
    if (this.list.length === 0) return;
    const nextDeadline = Math.min(...this.list.map(({ deadline }) => deadline));
    this.timer = setTimeout(() => this.set(this.list), Math.max(0, nextDeadline - now) + 1);
  }
}
