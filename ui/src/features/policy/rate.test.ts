import { describe, expect, it } from "vitest";
import { computeRates } from "./rate";

const day = (approved: number, denied = 0, missed = 0) => ({
  at: 0,
  approved,
  denied,
  missed,
});

describe("the rate of approval requests", () => {
  it("is the number per day and the approved share", () => {
    expect(computeRates([day(6, 1, 1), day(0)])).toEqual({ perDay: "4.0", approved: "75 %" });
    expect(computeRates([day(30)])).toEqual({ perDay: "30", approved: "100 %" });
  });

  it("has no approved share if there were no requests", () => {
    expect(computeRates([day(0)])).toEqual({ perDay: "0", approved: "–" });
    expect(computeRates([])).toEqual({ perDay: "0", approved: "–" });
  });
});
