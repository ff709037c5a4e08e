import { describe, expect, it } from "vitest";
import { formatAgo, formatTimeLeft, formatMoment, formatDuration } from "./time";

const now = new Date(2026, 10, 21, 12, 0, 0).getTime();

describe("formatted times", () => {
  it.each([
    [3, "just now"],
    [42, "42 s ago"],
    [125, "2 min ago"],
    [7300, "2 h ago"],
    [90_000, "yesterday"],
    [9 * 86_400, "12 Nov"],
  ])("shows %d seconds ago as %j", (seconds, words) => {
    expect(formatAgo(now - seconds * 1000, now)).toBe(words);
  });

  it("treats the future as now", () => {
    expect(formatAgo(now + 60_000, now)).toBe("just now");
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
