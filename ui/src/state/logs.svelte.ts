/** A live tail of the log through a filter. Each place that shows one opens its own. */

import type { Event, Ipc, Level, LogLine } from "../ipc";

export const LINES_KEPT = 1000;
const BATCH_MS = 100;
const LEVELS: Level[] = ["trace", "debug", "info", "warn", "error"];

/** A server's id, the hub alone, or every source. */
export type Source = { server: string } | "hub" | "all";

export interface LogFilter {
  source: Source;
  level: Level;
  text: string;
}

export class LogFeed {
  lines = $state.raw<LogLine[]>([]);
  loaded = $state(false);
  error = $state<unknown>(null);
  private fresh: LogLine[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private filter: LogFilter = { source: "all", level: "trace", text: "" };
  private reads = 0;

  constructor(private readonly ipc: Ipc) {}

  async show(filter: LogFilter): Promise<void> {
    this.filter = filter;
    await this.load();
  }

  async load(): Promise<void> {
    const read = (this.reads += 1);
    const { source, level, text } = this.filter;
    const server = typeof source === "object" ? source.server : null;
    try {
      const lines = await this.ipc.call("logs.list", {
        server,
        level,
        text: text.trim() || null,
        limit: LINES_KEPT,
      });
      if (read !== this.reads) return;
      const last = lines.at(-1)?.seq ?? -1;
      // What came while the answer was on its way is newer than the answer.
      const newer = this.lines.filter((line) => line.seq > last);
      this.lines = [...lines, ...newer]
        .filter((line) => matchesLine(line, this.filter))
        .slice(-LINES_KEPT);
      this.loaded = true;
      this.error = null;
    } catch (thrown) {
      if (read === this.reads) this.error = thrown;
    }
  }

  on(event: Event): void {
    if (event.kind !== "log_added" || !matchesLine(event.line, this.filter)) return;
    this.fresh.push(event.line);
    // A flood of lines is drawn a few times a second, not once a line.
    this.timer ??= setTimeout(() => this.flush(), BATCH_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.reads += 1;
  }

  private flush(): void {
    this.timer = undefined;
    const last = this.lines.at(-1)?.seq ?? -1;
    const fresh = this.fresh.filter((line) => line.seq > last && matchesLine(line, this.filter));
    this.fresh = [];
    this.lines = [...this.lines, ...fresh].slice(-LINES_KEPT);
  }
}

export function matchesLine(line: LogLine, filter: LogFilter): boolean {
  if (filter.source === "hub" && line.server !== null) return false;
  if (typeof filter.source === "object" && line.server !== filter.source.server) return false;
  if (LEVELS.indexOf(line.level) < LEVELS.indexOf(filter.level)) return false;
  const text = filter.text.trim().toLowerCase();
  return !text || line.text.toLowerCase().includes(text);
}
