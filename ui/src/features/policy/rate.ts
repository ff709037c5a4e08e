/** What the days say in two numbers. */

import type { Day } from "../../ipc";

export function askedOn({ approved, denied, unanswered }: Day): number {
  return approved + denied + unanswered;
}

export function rateOf(days: Day[]): { aDay: string; approved: string } {
  const asked = days.reduce((sum, day) => sum + askedOn(day), 0);
  const approved = days.reduce((sum, day) => sum + day.approved, 0);
  if (asked === 0) return { aDay: "0", approved: "–" };
  const aDay = asked / days.length;
  return {
    aDay: aDay < 9.95 ? aDay.toFixed(1) : String(Math.round(aDay)),
    approved: `${Math.round((100 * approved) / asked)} %`,
  };
}
