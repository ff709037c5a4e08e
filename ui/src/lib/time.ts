/** Formats moments and durations. */

import { texts } from "../texts";

const t = texts.kit.time;

/**
 * Returns a moment relative to now: "just now", "2 min ago", "3 h ago", "in 5 min". If the moment
 * is a day or more away, returns the day with the time: "yesterday, 14:05", "12 Nov, 14:05",
 * "12 Nov 2025, 14:05".
 */
export function formatAgo(at: number, now: number): string {
  const relative = now < at ? t.in : t.ago;
  const seconds = Math.round(Math.abs(now - at) / 1000);
  if (seconds < 10) return t.justNow;
  if (seconds < 60) return relative(t.seconds(seconds));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return relative(t.minutes(minutes));
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return relative(t.hours(hours));
  const yesterday = new Date(now);
  yesterday.setDate(yesterday.getDate() - 1);
  const time = formatClockTime(at).slice(0, 5);
  if (yesterday.toDateString() === new Date(at).toDateString()) return `${t.yesterday}, ${time}`;
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return `${isThisYear ? formatDay(at) : formatDate(at)}, ${time}`;
}

/** Returns the time left, rounded up: "12 min left". */
export function formatTimeLeft(until: number, now: number): string {
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  if (seconds < 60) return t.left(t.seconds(seconds));
  const minutes = Math.ceil(seconds / 60);
  return t.left(minutes < 120 ? t.minutes(minutes) : t.hours(Math.ceil(minutes / 60)));
}

/** Returns a duration: "3 ms", "1.2 s", "2 min 5 s". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return t.milliseconds(Math.round(ms));
  if (ms < 10_000) return t.seconds((ms / 1000).toFixed(1));
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return t.seconds(seconds);
  const minutes = Math.floor(seconds / 60);
  const rest = seconds % 60;
  return rest ? t.minutesAndSeconds(minutes, rest) : t.minutes(minutes);
}

/** Returns a countdown in minutes and seconds, rounded up to a second: "1:05". */
export function formatCountdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Returns the time of day, to the minute. */
export function formatTimeOfDay(at: number): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** Returns the time of day, to the second. */
export function formatClockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((n) => String(n).padStart(2, "0"))
    .join(":");
}

/** Returns the time of day, with the day unless it is today. */
export function formatMoment(at: number, now: number): string {
  return new Date(at).toDateString() === new Date(now).toDateString()
    ? formatClockTime(at)
    : `${formatDay(at)}, ${formatClockTime(at)}`;
}

/** Returns the date and the time, to the second: "12 Nov 2026, 14:05:00". */
export function formatExact(at: number): string {
  return `${formatDate(at)}, ${formatClockTime(at)}`;
}

const DAY_FORMAT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE_FORMAT = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
});

export function formatDay(at: number): string {
  return DAY_FORMAT.format(at);
}

const UTC_DAY_FORMAT = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

/** Returns the day of a moment in UTC: "12 Nov". The hub's stats per day use UTC days. */
export function formatUtcDay(at: number): string {
  return UTC_DAY_FORMAT.format(at);
}

/** Returns the date with the year: "12 Nov 2026". */
export function formatDate(at: number): string {
  return DATE_FORMAT.format(at);
}

const DAY_MS = 24 * 3_600_000;

/**
 * Returns the label of each step of a chart: the local time at which the step begins. The label is
 * the day if steps are a day or longer, the time of day if the chart covers at most a day, or else
 * both.
 * `since` is the beginning of the first step, in milliseconds since 1970.
 */
export function labelSteps(since: number, stepMs: number, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const at = since + index * stepMs;
    const time = formatTimeOfDay(at);
    if (stepMs >= DAY_MS) return formatDay(at);
    return stepMs * count > DAY_MS ? `${formatDay(at)}, ${time}` : time;
  });
}
