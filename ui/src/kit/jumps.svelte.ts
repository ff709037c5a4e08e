/**
 * Notices jumps in a long list. During a drag of the scroll bar, each frame shows other rows, and
 * needs the time for the rows in view, so the list renders no others.
 */

/** How long after a jump the list is at rest, in milliseconds. */
const REST_MS = 150;

export class Jumps {
  /** Whether the list has just jumped. */
  recent = $state(false);
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** Records a jump to rows that were not in view. */
  record(): void {
    this.recent = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.recent = false), REST_MS);
  }

  /** Stops the timer, when the list is removed. */
  end(): void {
    clearTimeout(this.timer);
  }
}
