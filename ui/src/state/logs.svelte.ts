/** A live, filtered tail of the log. Each component that shows one opens its own. */

import type { Event, Ipc, Level, LogLine } from "../ipc";

/** The most lines that a tail holds. Lines are added while it is open. */
const MAX_LINES = 100_000;
/** The most lines that the hub returns at once. */
const FIRST_LINES = 5000;
const BATCH_MS = 100;
const LEVELS: Level[] = ["trace", "debug", "info", "warn", "error"];

/** A server's id, the hub alone, or every source. */
export type Source = { server: string } | "hub" | "all";

export interface LogFilter {
  source: Source;
  level: Level;
  text: string;
  /** How far back the lines go, in milliseconds; `null` for all lines. */
  rangeMs: number | null;
}

export class LogFeed {
  lines = $state.raw<LogLine[]>([]);
  loaded = $state(false);
  error = $state<unknown>(null);
  private pending: LogLine[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private filter: LogFilter = { source: "all", level: "trace", text: "", rangeMs: null };
  private reads = 0;

  constructor(private readonly ipc: Ipc) {}

  async show(filter: LogFilter): Promise<void> {
    this.filter = filter;
    await this.load();
  }

  async load(): Promise<void> {
    const readNumber = (this.reads += 1);
    try {
      const lines = await this.read();
      if (readNumber !== this.reads) return;
      const lastSeq = lines.at(-1)?.seq ?? -1;
      // Lines that arrived during the read are newer than its answer.
      const newer = this.lines.filter((line) => line.seq > lastSeq);
      this.lines = [...lines, ...newer].filter((line) => matchesLine(line, this.filter));
      this.loaded = true;
      this.error = null;
    } catch (thrown) {
      if (readNumber === this.reads) this.error = thrown;
    }
  }

  on(event: Event): void {
    if (event.kind !== "log_added" || !matchesLine(event.line, this.filter)) return;
    this.pending.push(event.line);
    // Renders a burst of lines in batches instead of once per line.
    this.timer ??= setTimeout(() => this.flush(), BATCH_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.reads += 1;
  }

  private read(): Promise<LogLine[]> {
    const { source, level, text, rangeMs } = this.filter;
    return this.ipc.call("logs.list", {
      server: typeof source === "object" ? source.server : null,
      level,
      text: text.trim() || null,
      since: rangeMs === null ? null : Date.now() - rangeMs,
      limit: FIRST_LINES,
    });
  }

  private flush(): void {
    this.timer = undefined;
    const lastSeq = this.lines.at(-1)?.seq ?? -1;
    const added = this.pending.filter(
      (line) => line.seq > lastSeq && matchesLine(line, this.filter),
    );
    this.pending = [];
    this.lines = [...this.lines, ...added].slice(-MAX_LINES);
  }
}

export function matchesLine(line: LogLine, filter: LogFilter): boolean {
  if (filter.source === "hub" && line.server !== null) return false;
  if (typeof filter.source === "object" && line.server !== filter.source.server) return false;
  if (LEVELS.indexOf(line.level) < LEVELS.indexOf(filter.level)) return false;
  const text = filter.text.trim().toLowerCase();
  return !text || line.text.toLowerCase().includes(text);
}
