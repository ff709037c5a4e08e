/** Removals of servers that begin after a delay, so that a person can undo them. */

/** How long a removal can be undone, in milliseconds. */
export const UNDO_MS = 10_000;

export class Removals {
  /** The servers that are about to be removed. */
  ids = $state.raw<string[]>([]);
  /** Why the latest removal failed. */
  error = $state<unknown>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly remove: (id: string) => Promise<void>) {}

  /** Removes the servers after the delay. The delay of earlier removals begins again. */
  schedule(ids: string[]): void {
    this.error = null;
    this.ids = [...new Set([...this.ids, ...ids])];
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.finish(), UNDO_MS);
  }

  /** Keeps all servers that are about to be removed. */
  undo(): void {
    clearTimeout(this.timer);
    this.ids = [];
  }

  /** Removes the servers now. A server that cannot be removed is listed again. */
  async finish(): Promise<void> {
    clearTimeout(this.timer);
    for (const id of this.ids) {
      try {
        await this.remove(id);
      } catch (thrown) {
        this.error = thrown;
      }
      this.ids = this.ids.filter((other) => other !== id);
    }
  }
}
