/** The time left until a deadline, for countdowns. */

import { secondsClock } from "../../kit/clock.svelte";
import type { RequestWithDeadline } from "../../state/approvals.svelte";

/**
 * Returns the whole seconds left, rounded up. Effects and templates that call this function run
 * again each second.
 */
export function secondsLeft({ deadline }: RequestWithDeadline): number {
  void secondsClock.now;
  return Math.max(0, Math.ceil((deadline - performance.now()) / 1000));
}
