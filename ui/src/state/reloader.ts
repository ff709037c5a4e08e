/** Reads a whole list while events about it arrive. */

import type { Event } from "../ipc";

/**
 * Runs one read at a time. A request during a read leads to one more read after it, so that a burst
 * of events costs two reads. Events that arrive during a read are applied again to its answer,
 * which may be older.
 */
export class Reloader {
  private running: Promise<void> | null = null;
  private mustRunAgain = false;
  private eventsDuringRead: Event[] = [];

  constructor(
    private readonly read: () => Promise<void>,
    private readonly apply: (event: Event) => void = () => undefined,
  ) {}

  on(event: Event): void {
    if (this.running) this.eventsDuringRead.push(event);
    this.apply(event);
  }

  run(): Promise<void> {
    if (this.running) {
      this.mustRunAgain = true;
      return this.running;
    }
    this.running = this.drain().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  private async drain(): Promise<void> {
    do {
      this.mustRunAgain = false;
      this.eventsDuringRead = [];
      await this.read();
      for (const event of this.eventsDuringRead) this.apply(event);
    } while (this.mustRunAgain);
  }
}
