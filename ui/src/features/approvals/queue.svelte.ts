/** The lines of the queue, the current line, and the selection for a joint decision. */

import type { RequestWithDeadline } from "../../state/approvals.svelte";
import { groupRequests, type Group } from "./groups";

/** A waiting request, with its group of similar requests. */
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
  /**
   * The line that was shown last: the id of its request, the key of its group, and its index at
   * that time.
   */
  private chosen = $state.raw({ id: "", key: "", index: 0 });
  /** The index of the line whose card is shown; 0 if there is none. */
  readonly index: number = $derived.by(() => {
    const { id, key, index } = this.chosen;
    const found = this.indexOf(id);
    if (found >= 0) return found;
    // The current request has ended. A similar request takes its place, or else the next request.
    const isSimilar = (at: number) => this.lines[at]?.group.key === key;
    if (isSimilar(index)) return index;
    if (isSimilar(index - 1)) return index - 1;
    return Math.max(0, Math.min(index, this.lines.length - 1));
  });
  readonly current: Line | undefined = $derived(this.lines[this.index]);
  /** The selected requests, also those that have ended since. Later requests are not added. */
  selected = $state.raw<RequestWithDeadline[]>([]);
  /** The id of the line from which a range begins; empty for the shown line. */
  private rangeStart = "";

  constructor(private readonly waiting: () => RequestWithDeadline[]) {}

  /** Shows the card of a line. */
  show({ waiting, group }: Line): void {
    const { id } = waiting.request;
    const index = this.indexOf(id);
    if (id === this.chosen.id && index === this.chosen.index) return;
    this.chosen = { id, key: group.key, index };
  }

  /** Shows the card of the line that is `step` lines further down, if that line exists. */
  move(step: number): void {
    const line = this.lines[this.index + step];
    if (line) this.show(line);
  }

  isSelected({ waiting }: Line): boolean {
    return this.selected.includes(waiting);
  }

  /** Selects or deselects a line, and shows it. */
  setSelected(line: Line, isSelected: boolean): void {
    this.rangeStart = line.waiting.request.id;
    this.setAll([line], isSelected);
    this.show(line);
  }

  /**
   * Selects or deselects all lines from the start of the range to this line. A range begins at the
   * line that was last selected or deselected, or else at the shown line.
   */
  setRangeSelected(line: Line, isSelected: boolean): void {
    const start = this.indexOf(this.rangeStart);
    const ends = [start < 0 ? this.index : start, this.indexOf(line.waiting.request.id)];
    this.setAll(this.lines.slice(Math.min(...ends), Math.max(...ends) + 1), isSelected);
    this.show(line);
  }

  selectAll(): void {
    this.setAll(this.lines, true);
  }

  /** Selects the requests of a group, and no others. */
  selectGroup({ waiting }: Group): void {
    this.selected = waiting;
  }

  clearSelection(): void {
    this.rangeStart = "";
    this.selected = [];
  }

  /**
   * Follows a change of the lines. Records the place of the current line, which a neighbour takes
   * later, and clears the selection if all its requests have ended.
   */
  reconcile(): void {
    if (this.current) this.show(this.current);
    if (this.selected.length && !this.lines.some((line) => this.isSelected(line)))
      this.clearSelection();
  }

  private indexOf(id: string): number {
    return this.lines.findIndex(({ waiting }) => waiting.request.id === id);
  }

  private setAll(lines: Line[], isSelected: boolean): void {
    const changed = new Set(lines);
    this.selected = this.lines
      .filter((line) => (changed.has(line) ? isSelected : this.isSelected(line)))
      .map(({ waiting }) => waiting);
  }
}
