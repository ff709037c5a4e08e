/** Summarizes the approval requests of some days in two numbers. */

import type { DayStats } from "../../ipc";

export interface Rates {
  /** Approval requests per day, such as "4.0". */
  perDay: string;
  /** The approved share, such as "75 %". */
  approved: string;
}

export function computeRates(days: DayStats[]): Rates {
  const requests = days.reduce((sum, day) => sum + day.approved + day.denied + day.missed, 0);
  const approved = days.reduce((sum, day) => sum + day.approved, 0);
  if (requests === 0) return { perDay: "0", approved: "–" };
  const perDay = requests / days.length;
  return {
    perDay: perDay < 9.95 ? perDay.toFixed(1) : String(Math.round(perDay)),
    approved: `${Math.round((100 * approved) / requests)} %`,
  };
}
