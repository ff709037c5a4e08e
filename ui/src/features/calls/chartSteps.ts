/** The names of a chart's steps. */

import { formatDay } from "../../lib/time";

const DAY_MS = 24 * 3_600_000;

/** Returns the beginning of each step, as a person reads it: the time of day, or the day. */
export function nameSteps(since: number, stepMs: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const at = since + index * stepMs;
    const time = new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    if (stepMs >= DAY_MS) return formatDay(at);
    return stepMs * count > DAY_MS ? `${formatDay(at)}, ${time}` : time;
  });
}
