import { describe, expect, it } from "vitest";
import { ago, left, moment, span } from "./time";

const now = new Date(2026, 10, 21, 12, 0, 0).getTime();

describe("time in words", () => {
  it.each([
    [3, "just now"],
    [42, "42 s ago"],
    [125, "2 min ago"],
    [7300, "2 h ago"],
    [90_000, "yesterday"],
    [9 * 86_400, "12 Nov"],
  ])("calls %d seconds ago %j", (seconds, words) => {
    expect(ago(now - seconds * 1000, now)).toBe(words);
  });

  it("never tells of the future", () => {
    expect(ago(now + 60_000, now)).toBe("just now");
  });

  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1200, "1.2 s"],
    [48_000, "48 s"],
    [120_000, "2 min"],
    [125_000, "2 min 5 s"],
  ])("calls a span of %d ms %j", (ms, words) => {
    expect(span(ms)).toBe(words);
  });

  it("rounds what is left upwards", () => {
    expect(left(now + 100, now)).toBe("1 s left");
    expect(left(now + 61_000, now)).toBe("2 min left");
  });

  it("names the day where it was not today", () => {
    expect(moment(now, now)).toBe("12:00:00");
    expect(moment(now - 86_400_000, now)).toBe("20 Nov, 12:00:00");
  });
});
