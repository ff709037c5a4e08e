/** Reading a whole list while events about it come in. */

import type { Event } from "../ipc";

/**
 * Reads at most once at a time: who asks while a read is under way gets one more read after it,
 * so that a burst of events costs two reads. Events that come during a read are applied once
 * more on top of its answer, which may be older than they are.
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
