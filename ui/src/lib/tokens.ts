/** Formats token counts. They are estimates, and are shown as such. */

import { texts } from "../texts";

const t = texts.kit.amounts;

/** Returns "no tokens", "about 180 tokens", "about 1.2k tokens", "about 12k tokens". */
export function formatTokens(count: number): string {
  if (count <= 0) return t.noTokens;
  return count === 1 ? t.aboutOneToken : t.aboutTokens(formatCount(count));
}

/** Returns "180", "1.2k", "12k", "1.3M". */
export function formatCount(count: number): string {
  if (count < 1000) return String(Math.round(count));
  if (count < 999_500) return t.thousands(roundToTwoDigits(count / 1000));
  return t.millions(roundToTwoDigits(count / 1_000_000));
}

function roundToTwoDigits(value: number): string {
  return value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}
