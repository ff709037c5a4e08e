/** The queue of approval requests, and the decisions of a person. */

import {
  toIpcError,
  type ApprovalRequest,
  type Call,
  type Event,
  type Ipc,
  type Verdict,
  type VerdictPreview,
} from "../ipc";
import { texts } from "../texts";
import { Reloader } from "./reloader";

const t = texts.state.batch;

/** How long after its deadline a request stays in the queue if the hub did not report its end. */
const GRACE_MS = 1500;
/** How long the outcome of a batch is shown. */
const STATUS_MS = 20_000;

/** A request with its deadline on this page's clock, because the hub's clock may differ. */
export interface RequestWithDeadline {
  request: ApprovalRequest;
  /** In milliseconds since the time origin of `performance.now()`. */
  deadline: number;
}

/** A request that could not be decided with the others of its batch. */
export interface FailedDecision {
  request: ApprovalRequest;
  message: string;
}

export class Approvals {
  waiting = $state.raw<RequestWithDeadline[]>([]);
  loaded = $state(false);
  /** The outcome of the last batch; empty after a while. */
  status = $state("");
  /** The requests that still wait because the last batch could not decide them. */
  failed = $state.raw<FailedDecision[]>([]);
  private readonly reloader = new Reloader(
    () => this.read(),
    (event) => this.apply(event),
  );
  private timer: ReturnType<typeof setTimeout> | undefined;
  private statusTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    this.reloader.on(event);
  }

  /** Decides the request exactly as it was shown. If the hub refuses, the queue is read again. */
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

  /** Whether the backend opens URLs in the system's browser. If not, the screen shows a link. */
  get opensBrowser(): boolean {
    return this.ipc.opensBrowser;
  }

  /** Accepts a request to visit a URL, exactly as it was shown. The app opens the URL. */
  async openUrl(request: ApprovalRequest): Promise<void> {
    try {
      await this.ipc.call("approvals.open_url", { id: request.id, digest: request.digest });
      this.remove(request.id);
    } catch (thrown) {
      void this.load().catch(() => undefined);
      throw thrown;
    }
  }

  /** Decides several requests, each exactly as it was shown, and sets `status` and `failed`. */
  async decideAll(requests: ApprovalRequest[], verdict: Verdict): Promise<void> {
    const failed: FailedDecision[] = [];
    let ended = 0;
    for (const request of requests) {
      const { id, digest } = request;
      try {
        await this.ipc.call("approvals.decide", { id, digest, verdict });
        this.remove(id);
      } catch (thrown) {
        const { code, message } = toIpcError(thrown);
        if (code === "conflict" || code === "not_found") ended += 1;
        else failed.push({ request, message });
      }
    }
    const noun = requests.every(({ method }) => method === "tools/call") ? "call" : "request";
    this.failed = failed;
    const decided = requests.length - ended - failed.length;
    this.showStatus(decided + ended === 0 ? "" : describeBatch(decided, noun, verdict, ended));
    if (ended || failed.length) void this.load().catch(() => undefined);
  }

  /** Returns the rule that a verdict would create, and the past calls that it matches. */
  preview(request: ApprovalRequest, verdict: Verdict): Promise<VerdictPreview> {
    return this.ipc.call("approvals.preview", { id: request.id, verdict });
  }

  /** Returns the last calls of the session to which a waiting request belongs, newest first. */
  loadLastCalls(id: string): Promise<Call[]> {
    return this.ipc.call("approvals.last_calls", { id });
  }

  stop(): void {
    clearTimeout(this.timer);
    clearTimeout(this.statusTimer);
  }

  private showStatus(text: string): void {
    this.status = text;
    clearTimeout(this.statusTimer);
    this.statusTimer = setTimeout(() => (this.status = ""), STATUS_MS);
  }

  private async read(): Promise<void> {
    const requests = await this.ipc.call("approvals.list", {});
    const earlierById = new Map(this.waiting.map((earlier) => [earlier.request.id, earlier]));
    // An unchanged request keeps its object, so that its card is not rendered again.
    this.set(
      requests.map((request) => {
        const earlier = earlierById.get(request.id);
        return earlier?.request.digest === request.digest ? earlier : withDeadline(request);
      }),
    );
    this.loaded = true;
  }

  private apply(event: Event): void {
    if (event.kind === "approval_requested") this.add(event.request);
    if (event.kind === "approval_ended") this.remove(event.id);
  }

  private add(request: ApprovalRequest): void {
    this.set([...this.waiting.filter((w) => w.request.id !== request.id), withDeadline(request)]);
  }

  private remove(id: string): void {
    this.set(this.waiting.filter((w) => w.request.id !== id));
  }

  private set(waiting: RequestWithDeadline[]): void {
    this.waiting = waiting.toSorted((a, b) => a.request.asked_at - b.request.asked_at);
    const ids = new Set(waiting.map(({ request }) => request.id));
    if (this.failed.length) this.failed = this.failed.filter(({ request }) => ids.has(request.id));
    this.scheduleExpiry();
  }

  private scheduleExpiry(): void {
    clearTimeout(this.timer);
    if (this.waiting.length === 0) return;
    const next = Math.min(...this.waiting.map((w) => w.deadline));
    this.timer = setTimeout(
      () => this.removeExpired(),
      Math.max(0, next - performance.now()) + GRACE_MS,
    );
  }

  /** Removes requests whose deadline has passed, if the event of their end was lost. */
  private removeExpired(): void {
    const now = performance.now();
    this.set(this.waiting.filter((w) => w.deadline + GRACE_MS > now));
    void this.load().catch(() => undefined);
  }
}

function describeBatch(
  decided: number,
  noun: "call" | "request",
  verdict: Verdict,
  ended: number,
): string {
  const parts = [verdict.kind === "deny" ? t.denied(decided, noun) : t.approved(decided, noun)];
  if (ended) parts.push(t.endedAlready(ended, noun));
  return parts.join(" ");
}

/** Converts the time left into a deadline on this page's clock. */
export function withDeadline(request: ApprovalRequest): RequestWithDeadline {
  return { request, deadline: performance.now() + request.remaining_ms };
}
