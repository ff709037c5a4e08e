/** Answers of the hub that are read again with each tick of a clock. */

import { untrack } from "svelte";
import { messageOf } from "./errors";

/** An answer, and the choice for which it was read. */
interface Latest<C, A> {
  choice: C;
  answer: A;
}

/**
 * Reads an answer when the component is created, whenever `choose` returns another choice, and with
 * each tick of the clock. A tick during a read starts no further read, so that answers are shown
 * even if a read takes longer than the time between two ticks. If the choice changes during a read,
 * the answer of that read is discarded.
 */
export class Polled<C, A> {
  latest = $state.raw<Latest<C, A> | null>(null);
  /** Why the last read failed, or an empty text. */
  error = $state("");
  /** The choice that is being read, as JSON. */
  private reading: string | null = null;
  /** Counts the reads, because a choice may be made again while its first read still runs. */
  private reads = 0;

  constructor(
    clock: { readonly now: number },
    choose: (now: number) => C,
    read: (choice: C) => Promise<A>,
  ) {
    $effect(() => {
      const choice = choose(clock.now);
      untrack(() => void this.update(choice, read));
    });
  }

  private async update(choice: C, read: (choice: C) => Promise<A>): Promise<void> {
    const key = JSON.stringify(choice);
    if (key === this.reading) return;
    this.reading = key;
    const number = ++this.reads;
    try {
      const answer = await read(choice);
      if (number === this.reads) [this.latest, this.error] = [{ choice, answer }, ""];
    } catch (thrown) {
      if (number === this.reads) this.error = messageOf(thrown);
    } finally {
      if (number === this.reads) this.reading = null;
    }
  }
}
