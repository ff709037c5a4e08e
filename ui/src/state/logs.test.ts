import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Ipc, LogLine, LogPage } from "../ipc";
import { LogFeed, MAX_LINES, type LogFilter } from "./logs.svelte";

const ALL: LogFilter = { source: "all", level: "trace", text: "" };

/** Returns the lines from `start` to `end`, without `end`. */
function linesBetween(start: number, end: number): LogLine[] {
  return Array.from({ length: end - start }, (_, index) => ({
    seq: start + index,
    at: start + index,
    level: "info",
    server: null,
    kind: "hub",
    area: "hub",
    text: `line ${start + index}`,
  }));
}

/** A hub with lines before `end`. */
class Hub {
  end = 300_000;
  /** The numbers of lines of the next pages. */
  sizes: number[] = [];
  /** Each page waits for this promise. */
  ready: Promise<unknown> = Promise.resolve();
  readonly feed: LogFeed;

  constructor() {
    const call = async (_: string, { before }: { before: number | null }): Promise<LogPage> => {
      const until = before ?? this.end;
      const start = until - (this.sizes.shift() ?? 0);
      await this.ready;
      return { lines: linesBetween(start, until), older: start };
    };
    this.feed = new LogFeed({ call } as unknown as Ipc);
  }
}

/** Expects the newest lines before `end`, as many as a feed holds, and the position before them. */
function expectFull(feed: LogFeed, end: number): void {
  const seqs = feed.lines.map(({ seq }) => seq);
  expect([seqs.length, seqs[0], seqs.at(-1)]).toEqual([MAX_LINES, end - MAX_LINES, end - 1]);
  expect(feed.older).toBe(end - MAX_LINES);
}

describe("a log that holds as many lines as it may", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("adds no more older lines, however many lines the last pages have", async () => {
    const hub = new Hub();
    hub.sizes = [98_000, 150, 2000];
    await hub.feed.show(ALL);
    await hub.feed.loadOlder();
    expectFull(hub.feed, 300_000);
  });

  it("has no gap if many lines arrive while older lines are read", async () => {
    const hub = new Hub();
    hub.sizes = [98_000, 2000];
    await hub.feed.show(ALL);
    const waiting: (() => void)[] = [];
    hub.ready = new Promise<void>((resolve) => waiting.push(resolve));
    const read = hub.feed.loadOlder();
    for (const line of linesBetween(300_000, 303_000)) hub.feed.on({ kind: "log_added", line });
    await vi.advanceTimersByTimeAsync(200);
    waiting[0]?.();
    await read;
    expectFull(hub.feed, 303_000);
  });

  it("drops the oldest lines if the newest are read again after a gap", async () => {
    const hub = new Hub();
    hub.sizes = [98_000, 2000];
    await hub.feed.show(ALL);
    await hub.feed.loadOlder();
    hub.end = 303_000;
    hub.sizes = [5000];
    await hub.feed.load();
    expectFull(hub.feed, 303_000);
  });
});
