/** The time left until a deadline, for countdowns. */

import { secondsClock } from "../../kit/clock.svelte";
import type { RequestWithDeadline } from "../../state/approvals.svelte";

/** Returns the whole seconds left, rounded up. In an effect or a template, it ticks. */
export function secondsLeft({ deadline }: RequestWithDeadline): number {
  void secondsClock.now;
  return Math.max(0, Math.ceil((deadline - performance.now()) / 1000));
}
