/** What waits for a person, what was decided, and the decision itself. */

import type { ApprovalRequest, Call, Event, Ipc, Verdict } from "../ipc";
import { Reader } from "./reader";

/** How long after its time a request without an end is looked up again. */
const GRACE_MS = 1500;

/** A request and when its time is up, on this page's own clock: clocks of two machines may differ. */
export interface Waiting {
  request: ApprovalRequest;
  /** In milliseconds of `performance.now()`. */
  deadline: number;
}

export class Approvals {
  waiting = $state.raw<Waiting[]>([]);
  loaded = $state(false);
  private readonly reader = new Reader(() => this.read(), (event) => this.apply(event));
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reader.run();
  }

  on(event: Event): void {
    this.reader.on(event);
  }

  /** Decides exactly the request that was shown. It leaves the queue at once; a refusal brings it back. */
  async decide(request: ApprovalRequest, verdict: Verdict): Promise<Call> {
    try {
      const call = await this.ipc.call("approvals.decide", { id: request.id, digest: request.digest, verdict });
      this.remove(request.id);
      return call;
    } catch (thrown) {
      void this.load().catch(() => undefined);
      throw thrown;
    }
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private async read(): Promise<void> {
    const requests = await this.ipc.call("approvals.list", {});
    const known = new Map(this.waiting.map((w) => [w.request.id, w]));
    // A request that is still the same keeps its object, so that what a person is reading is not drawn anew.
    this.set(requests.map((request) => {
      const before = known.get(request.id);
      return before?.request.digest === request.digest ? before : timed(request);
    }));
    this.loaded = true;
  }

  private apply(event: Event): void {
    if (event.kind === "approval_asked") this.add(event.request);
    if (event.kind === "approval_ended") this.remove(event.id);
  }

  private add(request: ApprovalRequest): void {
    this.set([...this.waiting.filter((w) => w.request.id !== request.id), timed(request)]);
  }

  private remove(id: string): void {
    this.set(this.waiting.filter((w) => w.request.id !== id));
  }

  private set(waiting: Waiting[]): void {
    this.waiting = waiting.toSorted((a, b) => a.request.asked_at - b.request.asked_at);
    this.watchTime();
  }

  private watchTime(): void {
    clearTimeout(this.timer);
    if (this.waiting.length === 0) return;
    const next = Math.min(...this.waiting.map((w) => w.deadline));
    this.timer = setTimeout(() => this.expire(), Math.max(0, next - performance.now()) + GRACE_MS);
  }

  /** The hub tells when a request ends; where that was missed, its time is up all the same. */
  private expire(): void {
    const now = performance.now();
    this.set(this.waiting.filter((w) => w.deadline + GRACE_MS > now));
    void this.load().catch(() => undefined);
  }
}

function timed(request: ApprovalRequest): Waiting {
  return { request, deadline: performance.now() + request.left_ms };
}
