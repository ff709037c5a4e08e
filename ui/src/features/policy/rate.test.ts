import { describe, expect, it } from "vitest";
import { rateOf } from "./rate";

const day = (approved: number, denied = 0, unanswered = 0) => ({
  at: 0,
  approved,
  denied,
  unanswered,
});

describe("how often a person is asked", () => {
  it("is said as prompts a day and the share that was approved", () => {
    expect(rateOf([day(6, 1, 1), day(0)])).toEqual({ aDay: "4.0", approved: "75 %" });
    expect(rateOf([day(30)])).toEqual({ aDay: "30", approved: "100 %" });
  });

  it("has no share where nothing was asked", () => {
    expect(rateOf([day(0)])).toEqual({ aDay: "0", approved: "–" });
    expect(rateOf([])).toEqual({ aDay: "0", approved: "–" });
  });
});
