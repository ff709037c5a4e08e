import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Removals, UNDO_MS } from "./removals.svelte";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Returns removals that disable an entry once `answer` is called, and a list of their steps. */
function removalsWithSlowHub() {
  const done: string[] = [];
  const answers: (() => void)[] = [];
  const removals = new Removals({
    disable: async (id) => {
      await new Promise<void>((resolve) => answers.push(resolve));
      done.push(`disable ${id}`);
    },
    enable: (id) => Promise.resolve(void done.push(`enable ${id}`)),
    remove: (id) => Promise.resolve(void done.push(`remove ${id}`)),
  });
  return { removals, done, answer: () => answers.shift()?.() };
}

describe("removals", () => {
  it("enable an entry that is undone before it is disabled", async () => {
    const { removals, done, answer } = removalsWithSlowHub();
    const scheduled = removals.schedule(["a"]);
    const undone = removals.undo();
    answer();
    await Promise.all([scheduled, undone]);
    expect(done).toEqual(["disable a", "enable a"]);
    expect(removals.ids).toEqual([]);
    await vi.advanceTimersByTimeAsync(UNDO_MS);
    expect(done).toHaveLength(2);
  });

  it("leave an entry alone if they are undone before it begins to be disabled", async () => {
    const { removals, done, answer } = removalsWithSlowHub();
    const scheduled = removals.schedule(["a", "b"]);
    const undone = removals.undo();
    answer();
    await Promise.all([scheduled, undone]);
    await vi.advanceTimersByTimeAsync(UNDO_MS);
    expect(done).toEqual(["disable a", "enable a"]);
  });
});
