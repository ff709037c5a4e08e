/** Removals that begin after a delay, so that a person can undo them. */

/** How long a removal can be undone, in milliseconds. */
export const UNDO_MS = 10_000;

interface Steps<Id> {
  /** Removes an entry for good. */
  remove: (id: Id) => Promise<void>;
  /** Ends the effect of an entry at once, if it must not last until the entry is removed. */
  disable?: (id: Id) => Promise<void>;
  /** Undoes `disable`. */
  enable?: (id: Id) => Promise<void>;
}

export class Removals<Id extends string | number = string> {
  /** The entries that are about to be removed. */
  ids = $state.raw<Id[]>([]);
  /** Whether a removal or undoing it failed last, and why. `null` if neither failed. */
  failure = $state.raw<{ action: "remove" | "undo"; error: unknown } | null>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The calls of `disable` that have not ended. */
  private readonly disabling = new Map<Id, Promise<void>>();
  /** How many times a person has undone removals. */
  private undone = 0;

  constructor(private readonly steps: Steps<Id>) {}

  /**
   * Removes the entries after the delay. The delay of earlier removals begins again.
   *
   * Throws the error if an entry cannot be disabled. Neither this entry nor the following entries
   * are then removed.
   */
  async schedule(ids: Id[]): Promise<void> {
    this.failure = null;
    const { undone } = this;
    for (const id of ids) {
      if (this.undone !== undone) return;
      if (this.ids.includes(id)) continue;
      // The entry disappears from its list before the hub answers.
      this.ids = [...this.ids, id];
      this.restartTimer();
      const disabling = this.steps.disable?.(id) ?? Promise.resolve();
      this.disabling.set(id, disabling);
      try {
        await disabling;
      } catch (thrown) {
        this.drop(id);
        throw thrown;
      } finally {
        this.disabling.delete(id);
      }
    }
    if (this.ids.length) this.restartTimer();
  }

  /** Keeps all entries that are about to be removed. */
  async undo(): Promise<void> {
    clearTimeout(this.timer);
    this.undone += 1;
    for (const id of this.ids) {
      try {
        await this.disabling.get(id);
        await this.steps.enable?.(id);
      } catch (thrown) {
        this.failure = { action: "undo", error: thrown };
      }
      this.drop(id);
    }
  }

  /** Removes the entries now. An entry that cannot be removed is listed again. */
  async finish(): Promise<void> {
    clearTimeout(this.timer);
    for (const id of this.ids) {
      try {
        await this.disabling.get(id);
        await this.steps.remove(id);
      } catch (thrown) {
        this.failure = { action: "remove", error: thrown };
      }
      this.drop(id);
    }
  }

  private drop(id: Id): void {
    this.ids = this.ids.filter((other) => other !== id);
  }

  private restartTimer(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.finish(), UNDO_MS);
  }
}
