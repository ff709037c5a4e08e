/** A live, filtered tail of the log. Each component that shows a tail opens its own. */

import type { Event, Ipc, Level, LogKind, LogLine, LogPage } from "../ipc";

/** The most lines that a tail holds. */
export const MAX_LINES = 100_000;
/** The limits of one request: for the newest lines, and for older lines. */
const FIRST_LINES = 5000;
const OLDER_LINES = 2000;
/** `loadOlder` ends once it has added this many lines, or sent this many requests. */
const ENOUGH_LINES = 200;
const MAX_REQUESTS = 16;
/** How long new lines wait, so that a burst of lines is rendered at once. */
const BATCH_MS = 100;
const LEVELS: Level[] = ["trace", "debug", "info", "warn", "error"];

/** A server's id, the hub alone, or every source. */
export type Source = { server: string } | "hub" | "all";

export interface LogFilter {
  source: Source;
  level: Level;
  text: string;
  /** How far back the lines go, in milliseconds; `null` for all lines. */
  rangeMs?: number | null;
  /** The id of the call to which the lines belong; `null` for all lines. */
  call?: string | null;
  /** The time of the earliest line, in milliseconds since 1970; `null` for no limit. */
  since?: number | null;
  /** The time before which the lines end; `null` for no limit. */
  until?: number | null;
  /** The only kind to include; `null` for all kinds. */
  kind?: LogKind | null;
  /** The kind to exclude. */
  except?: LogKind | null;
}

export class LogFeed {
  lines = $state.raw<LogLine[]>([]);
  loaded = $state(false);
  error = $state<unknown>(null);
  /** The position before which lines are not read yet; `null` if all are read. */
  older = $state<number | null>(null);
  /** Whether older lines are being read. */
  loadingOlder = $state(false);
  private pending: LogLine[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private filter: LogFilter | null = null;
  /** The filter of `lines`. */
  private shownFilter: LogFilter | null = null;
  /** Counts the loads, so that the answers to an earlier load are dropped. */
  private reads = 0;

  constructor(private readonly ipc: Ipc) {}

  async show(filter: LogFilter): Promise<void> {
    this.filter = filter;
    await this.load();
  }

  async load(): Promise<void> {
    const { filter } = this;
    if (!filter) return;
    const readNumber = (this.reads += 1);
    const lastShown = this.lines.at(-1)?.seq ?? -1;
    this.loadingOlder = false;
    try {
      const page = await this.read(filter, null, FIRST_LINES);
      if (readNumber !== this.reads) return;
      const firstSeq = page.lines[0]?.seq ?? -1;
      const lastSeq = page.lines.at(-1)?.seq ?? -1;
      // Lines that arrived during the read are newer than its answer.
      const newer = this.lines.filter((line) => line.seq > Math.max(lastSeq, lastShown));
      // If the lines are read again because events were missed, the lines that are older than the
      // page stay, unless lines are missing between them and the page.
      const adjoins = this.shownFilter === filter && lastShown >= firstSeq;
      const kept = adjoins ? this.lines.filter((line) => line.seq < firstSeq) : [];
      if (kept.length === 0) this.older = page.older;
      this.hold([...kept, ...page.lines, ...newer].filter((line) => matchesLine(line, filter)));
      this.shownFilter = filter;
      this.loaded = true;
      this.error = null;
      // One answer of the hub covers only a part of its files.
      if (this.lines.length < ENOUGH_LINES) await this.loadOlder();
    } catch (thrown) {
      if (readNumber === this.reads) this.error = thrown;
    }
  }

  /** Adds older lines, if there are any. */
  async loadOlder(): Promise<void> {
    const { filter } = this;
    if (!filter || this.loadingOlder || this.older === null || this.isFull) return;
    const readNumber = this.reads;
    this.loadingOlder = true;
    const before = this.lines.length;
    try {
      for (let request = 0; request < MAX_REQUESTS && this.older !== null; request += 1) {
        const position: number = this.older;
        const page = await this.read(filter, position, OLDER_LINES);
        if (readNumber !== this.reads) return;
        // During the read, new lines displaced the oldest of `lines`, so the page no longer
        // adjoins them.
        if (this.older !== position) break;
        this.older = page.older;
        if (page.lines.length) this.hold([...page.lines, ...this.lines]);
        if (this.lines.length - before >= ENOUGH_LINES) break;
      }
    } catch (thrown) {
      if (readNumber === this.reads) this.error = thrown;
    } finally {
      if (readNumber === this.reads) this.loadingOlder = false;
    }
  }

  /** Whether there is no room for another page of older lines. */
  get isFull(): boolean {
    return this.lines.length > MAX_LINES - OLDER_LINES;
  }

  on(event: Event): void {
    const { filter } = this;
    if (!filter || event.kind !== "log_added" || !matchesLine(event.line, filter)) return;
    this.pending.push(event.line);

    this.timer ??= setTimeout(() => this.flush(), BATCH_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.reads += 1;
  }

  private read(filter: LogFilter, before: number | null, limit: number): Promise<LogPage> {
    const { source, level, text, rangeMs, call, since, until, kind, except } = filter;
    return this.ipc.call("logs.list", {
      server: typeof source === "object" ? source.server : null,
      hub_only: source === "hub",
      call: call ?? null,
      kind: kind ?? null,
      except: except ?? null,
      level,
      text: text.trim() || null,
      since: since ?? (rangeMs ? Date.now() - rangeMs : null),
      until: until ?? null,
      before,
      limit,
    });
  }

  private flush(): void {
    this.timer = undefined;
    const { filter } = this;
    if (!filter) return;
    const lastSeq = this.lines.at(-1)?.seq ?? -1;
    const added = this.pending.filter((line) => line.seq > lastSeq && matchesLine(line, filter));
    this.pending = [];
    this.hold([...this.lines, ...added]);
  }

  /** Replaces the lines. If there are too many, holds only the newest. */
  private hold(lines: LogLine[]): void {
    this.lines = lines.slice(-MAX_LINES);
    if (lines.length > MAX_LINES) this.older = this.lines[0]?.seq ?? null;
  }
}

/** Returns whether a line matches a filter. Ignores the period, which the hub applies. */
export function matchesLine(line: LogLine, filter: LogFilter): boolean {
  if (filter.source === "hub" && line.server !== null) return false;
  if (typeof filter.source === "object" && line.server !== filter.source.server) return false;
  if (LEVELS.indexOf(line.level) < LEVELS.indexOf(filter.level)) return false;
  if (filter.call && line.call !== filter.call) return false;
  if (filter.kind && line.kind !== filter.kind) return false;
  if (filter.except && line.kind === filter.except) return false;
  const text = filter.text.trim().toLowerCase();
  return !text || line.text.toLowerCase().includes(text);
}
