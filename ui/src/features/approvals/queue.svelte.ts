/** The lines of the queue, and the selected one. */

import type { RequestWithDeadline } from "../../state/approvals.svelte";
import { groupRequests, type Group } from "./groups";

/** A waiting request, with the similar requests beside which it is listed. */
export interface Line {
  waiting: RequestWithDeadline;
  group: Group;
}

export class Queue {
  /** The oldest group first, and in a group the oldest request first. */
  readonly lines: Line[] = $derived.by(() =>
    groupRequests(this.waiting()).flatMap((group) =>
      group.waiting.map((waiting) => ({ waiting, group })),
    ),
  );
  private chosen = $state.raw({ id: "", key: "", index: 0 });
  /** The index of the selected line; 0 if there is none. */
  readonly index: number = $derived.by(() => {
    const { id, key, index } = this.chosen;
    const found = this.lines.findIndex(({ waiting }) => waiting.request.id === id);
    if (found >= 0) return found;
    // The selected request has ended. A similar one takes its place, or else the next one.
    const isSimilar = (at: number) => this.lines[at]?.group.key === key;
    if (isSimilar(index)) return index;
    if (isSimilar(index - 1)) return index - 1;
    return Math.max(0, Math.min(index, this.lines.length - 1));
  });
  readonly selected: Line | undefined = $derived(this.lines[this.index]);

  constructor(private readonly waiting: () => RequestWithDeadline[]) {}

  select({ waiting, group }: Line): void {
    const { id } = waiting.request;
    const index = this.lines.findIndex((line) => line.waiting.request.id === id);
    if (id === this.chosen.id && index === this.chosen.index) return;
    this.chosen = { id, key: group.key, index };
  }

  /** Selects the line that is `step` lines further down, if there is one. */
  move(step: number): void {
    const line = this.lines[this.index + step];
    if (line) this.select(line);
  }

  /** Remembers where the selected line is, so that its neighbour is found when it ends. */
  settle(): void {
    if (this.selected) this.select(this.selected);
  }
}
