import { describe, expect, it } from "vitest";
import { formatTokens } from "./tokens";

describe("a count of tokens", () => {
  it.each([
    [0, "no tokens"],
    [1, "about 1 token"],
    [180, "about 180 tokens"],
    [999, "about 999 tokens"],
    [1000, "about 1k tokens"],
    [1234, "about 1.2k tokens"],
    [9949, "about 9.9k tokens"],
    [9960, "about 10k tokens"],
    [12_345, "about 12k tokens"],
    [999_499, "about 999k tokens"],
    [1_250_000, "about 1.3M tokens"],
  ])("%i is formatted as %s", (count, words) => {
    expect(formatTokens(count)).toBe(words);
  });
});
