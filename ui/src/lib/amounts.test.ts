import { describe, expect, it } from "vitest";
import { formatMemory, formatPercent } from "./amounts";

describe("amounts", () => {
  it.each([
    [640, "640 KB"],
    [12_700, "12.4 MB"],
    [131_072, "128 MB"],
    [1_572_864, "1.5 GB"],
  ])("%i KiB are formatted as %s", (kib, text) => {
    expect(formatMemory(kib)).toBe(text);
  });

  it.each([
    [0, "0 %"],
    [0.04, "0 %"],
    [0.44, "0.4 %"],
    [9.96, "10 %"],
    [137.2, "137 %"],
  ])("%d percent is formatted as %s", (value, text) => {
    expect(formatPercent(value)).toBe(text);
  });
});
