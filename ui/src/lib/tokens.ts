/** What a list of tools costs a model, in words. The count is an estimate, and is said as one. */

/** "no tokens", "about 180 tokens", "about 1.2k tokens", "about 12k tokens". */
export function aboutTokens(count: number): string {
  if (count <= 0) return "no tokens";
  return `about ${shortCount(count)} ${count === 1 ? "token" : "tokens"}`;
}

/** "180", "1.2k", "12k", "1.3M". */
export function shortCount(count: number): string {
  if (count < 1000) return String(Math.round(count));
  if (count < 999_500) return `${short(count / 1000)}k`;
  return `${short(count / 1_000_000)}M`;
}

function short(value: number): string {
  return value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}
