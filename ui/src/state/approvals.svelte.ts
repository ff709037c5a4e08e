/** What waits for a person, what was decided, and the decision itself. */

import {
  toIpcError,
  type ApprovalRequest,
  type Call,
  type Event,
  type Ipc,
  type Verdict,
  type VerdictPreview,
} from "../ipc";
import { Reader } from "./reader";

/** How long after its time a request without an end is looked up again. */
const GRACE_MS = 1500;
/** How long it is said what came of many decisions at once. */
const SAID_MS = 20_000;

/** A request and when its time is up, on this page's own clock: clocks of two machines may differ. */
export interface Waiting {
  request: ApprovalRequest;
  /** In milliseconds of `performance.now()`. */
  deadline: number;
}

export class Approvals {
  waiting = $state.raw<Waiting[]>([]);
  loaded = $state(false);
  /** What came of the last decision about many calls; empty after a while. */
  said = $state("");
  private readonly reader = new Reader(
    () => this.read(),
    (event) => this.apply(event),
  );
  private timer: ReturnType<typeof setTimeout> | undefined;
  private saidTimer: ReturnType<typeof setTimeout> | undefined;

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
      const call = await this.ipc.call("approvals.decide", {
        id: request.id,
        digest: request.digest,
        verdict,
      });
      this.remove(request.id);
      return call;
    } catch (thrown) {
      void this.load().catch(() => undefined);
      throw thrown;
    }
  }

  /** Decides many, each exactly as it was shown, and says how that went. */
  async decideAll(requests: ApprovalRequest[], verdict: Verdict): Promise<void> {
    const failures: string[] = [];
    let elsewhere = 0;
    for (const { id, digest } of requests) {
      try {
        await this.ipc.call("approvals.decide", { id, digest, verdict });
        this.remove(id);
      } catch (thrown) {
        const { code, message } = toIpcError(thrown);
        if (code === "conflict" || code === "not_found") elsewhere += 1;
        else failures.push(message);
      }
    }
    this.say(summary(requests.length - elsewhere - failures.length, verdict, elsewhere, failures));
    if (elsewhere || failures.length) void this.load().catch(() => undefined);
  }

  /** The rule that a verdict would make, and the past calls that it would have matched. Decides nothing. */
  preview(request: ApprovalRequest, verdict: Verdict): Promise<VerdictPreview> {
    return this.ipc.call("approvals.preview", { id: request.id, verdict });
  }

  stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.saidTimer);
  }

  private say(words: string): void {
    this.said = words;
    clearTimeout(this.saidTimer);
    this.saidTimer = setTimeout(() => (this.said = ""), SAID_MS);
  }

  private async read(): Promise<void> {
    const requests = await this.ipc.call("approvals.list", {});
    const known = new Map(this.waiting.map((w) => [w.request.id, w]));
    // A request that is still the same keeps its object, so that what a person is reading is not drawn anew.
    this.set(
      requests.map((request) => {
        const before = known.get(request.id);
        return before?.request.digest === request.digest ? before : timed(request);
      }),
    );
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

function summary(done: number, verdict: Verdict, elsewhere: number, failures: string[]): string {
  const calls = (count: number) => (count === 1 ? "1 call" : `${count} calls`);
  const parts = [`${calls(done)} ${verdict.kind === "deny" ? "denied" : "approved"}.`];
  if (elsewhere)
    parts.push(`${calls(elsewhere)} had ended already: decided elsewhere, or out of time.`);
  if (failures.length)
    parts.push(
      `${calls(failures.length)} could not be decided: ${[...new Set(failures)].join(" ")}`,
    );
  return parts.join(" ");
}

export function timed(request: ApprovalRequest): Waiting {
  return { request, deadline: performance.now() + request.left_ms };
}
