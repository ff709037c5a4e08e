/**
 * Notices jumps in a long list. While a person drags the scroll bar, each frame shows other rows. A
 * frame has time only for the rows in view, so the list renders no others.
 */

/** The list counts as at rest this long after its last jump, in milliseconds. */
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
