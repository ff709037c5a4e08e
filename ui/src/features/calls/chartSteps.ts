/** The labels of the steps on a chart's time axis. */

import { formatDay } from "../../lib/time";

const DAY_MS = 24 * 3_600_000;

/**
 * Returns the label of each step: the local time at which the step begins. The label is the day if
 * steps are a day or longer, the time of day if the chart covers at most a day, or else both.
 * `since` is the beginning of the first step, in milliseconds since 1970.
 */
export function labelSteps(since: number, stepMs: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const at = since + index * stepMs;
    const time = new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    if (stepMs >= DAY_MS) return formatDay(at);
    return stepMs * count > DAY_MS ? `${formatDay(at)}, ${time}` : time;
  });
}
