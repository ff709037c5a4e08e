import { describe, expect, it } from "vitest";
import { formatAgo, formatExact, formatTimeLeft, formatMoment, formatDuration } from "./time";

const now = new Date(2026, 10, 21, 12, 0, 0).getTime();

describe("formatted times", () => {
  it.each([
    [3, "just now"],
    [42, "42 s ago"],
    [125, "2 min ago"],
    [7300, "2 h ago"],
    [90_000, "yesterday, 11:00"],
    [47 * 3600, "19 Nov, 13:00"],
    [9 * 86_400, "12 Nov, 12:00"],
    [365 * 86_400, "21 Nov 2025, 12:00"],
    [-42, "in 42 s"],
    [-125, "in 2 min"],
    [-90_000, "22 Nov, 13:00"],
  ])("shows a moment %d seconds ago as %j", (seconds, words) => {
    expect(formatAgo(now - seconds * 1000, now)).toBe(words);
  });

  it("shows the date and the time to the second, on 24 hours", () => {
    expect(formatExact(new Date(2026, 10, 21, 16, 5, 9).getTime())).toBe("21 Nov 2026, 16:05:09");
  });

  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1200, "1.2 s"],
    [48_000, "48 s"],
    [120_000, "2 min"],
    [125_000, "2 min 5 s"],
  ])("shows a duration of %d ms as %j", (ms, words) => {
    expect(formatDuration(ms)).toBe(words);
  });

  it("rounds the time left up", () => {
    expect(formatTimeLeft(now + 100, now)).toBe("1 s left");
    expect(formatTimeLeft(now + 61_000, now)).toBe("2 min left");
  });

  it("shows the day unless it is today", () => {
    expect(formatMoment(now, now)).toBe("12:00:00");
    expect(formatMoment(now - 86_400_000, now)).toBe("20 Nov, 12:00:00");
  });
});
