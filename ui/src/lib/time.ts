/** Moments and spans in words. */

/** How long ago, coarsely: "just now", "2 min ago", "3 h ago", "12 Nov". */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ago`;
  return hours < 48 ? "yesterday" : day(at);
}

/** Time left, coarsely: "12 min left". */
export function left(until: number, now: number): string {
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  if (seconds < 60) return `${seconds} s left`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min left` : `${Math.ceil(minutes / 60)} h left`;
}

/** A span: "3 ms", "1.2 s", "2 min 5 s". */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const rest = seconds % 60;
  return rest ? `${Math.floor(seconds / 60)} min ${rest} s` : `${Math.floor(seconds / 60)} min`;
}

/** The time of day, to the second. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((n) => String(n).padStart(2, "0"))
    .join(":");
}

/** The time of day where it was today, else the day too. */
export function moment(at: number, now: number): string {
  return new Date(at).toDateString() === new Date(now).toDateString()
    ? clockTime(at)
    : `${day(at)}, ${clockTime(at)}`;
}

function day(at: number): string {
  return new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }).format(at);
}
