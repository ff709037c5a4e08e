/** The entries of the audit log that concern no call, newest first. They are read on request. */

import type { AuditEntryView, AuditKind, AuditReport, Ipc } from "../ipc";

export class Audit {
  entries = $state.raw<AuditEntryView[]>([]);
  loaded = $state(false);
  /** The position of the next page; null if there is none. */
  private next = $state.raw<number | null>(null);
  private kind: AuditKind | null = null;
  private readings = 0;

  constructor(private readonly ipc: Ipc) {}

  get hasOlder(): boolean {
    return this.next !== null;
  }

  /** Reads the newest entries of a kind, or of all kinds. */
  async read(kind: AuditKind | null): Promise<void> {
    this.kind = kind;
    await this.readPage(null, []);
  }

  /** Adds the page of older entries. */
  async readOlder(): Promise<void> {
    await this.readPage(this.next, this.entries);
  }

  verify(): Promise<AuditReport> {
    return this.ipc.call("audit.verify", {});
  }

  private async readPage(before: number | null, newer: AuditEntryView[]): Promise<void> {
    const reading = ++this.readings;
    // The person may choose another kind meanwhile.
    const isOutdated = () => reading !== this.readings;
    try {
      const params = { kind: this.kind, since: null, before, limit: null };
      const page = await this.ipc.call("audit.list", params);
      if (isOutdated()) return;
      this.entries = [...newer, ...page.entries];
      this.next = page.next;
      this.loaded = true;
    } catch (error) {
      if (isOutdated()) return;
      // The entries on the screen may be of a kind other than the chosen one.
      if (before === null) this.loaded = false;
      throw error;
    }
  }
}
