/** Reads a whole list while events about it arrive. */

import type { Event } from "../ipc";

/**
 * Runs one read at a time. A request during a read leads to one more read after it, so that a burst
 * of events costs two reads. Events that arrive during a read are applied again to its answer,
 * which may be older.
 */
export class Reader {
  private running: Promise<void> | null = null;
  private again = false;
  private meanwhile: Event[] = [];

  constructor(
    private readonly read: () => Promise<void>,
    private readonly apply: (event: Event) => void = () => undefined,
  ) {}

  on(event: Event): void {
    if (this.running) this.meanwhile.push(event);
    this.apply(event);
  }

  run(): Promise<void> {
    if (this.running) {
      this.again = true;
      return this.running;
    }
    this.running = this.drain().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  private async drain(): Promise<void> {
    do {
      this.again = false;
      this.meanwhile = [];
      await this.read();
      for (const event of this.meanwhile) this.apply(event);
    } while (this.again);
  }
}
