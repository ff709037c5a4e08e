import { describe, expect, it } from "vitest";
import { isExact, formatLiteral, parseLiteral } from "./literal";

describe("a value as a person writes it", () => {
  it.each<[string, unknown]>([
    ["main", "main"],
    [" two words ", "two words"],
    ["5", 5],
    ['"5"', "5"],
    ["true", true],
    ["null", null],
    ['"true"', "true"],
    ["1.50", 1.5],
    ["-0", -0],
    ['[1,"a"]', [1, "a"]],
    ["/home/ada", "/home/ada"],
    ['""', ""],
    ["1e3", 1000],
    ["5 apples", "5 apples"],
  ])("%s is read", (text, value) => {
    expect(parseLiteral(text)).toEqual({ value, problem: "" });
  });

  it.each([
    "",
    "{",
    '"open',
    "[1,]",
    "12345678901234567890",
    "0.12345678901234567891",
    "1e999",
    '{"a":1,"a":2}',
  ])("%j is rejected with a reason", (text) => {
    expect(parseLiteral(text).problem).not.toBe("");
  });

  it.each<unknown>([
    "plain",
    "5",
    "true",
    "",
    " padded",
    "two\nlines",
    '"quoted"',
    "{",
    5,
    1.5,
    false,
    null,
    ["a", 1],
    { b: [] },
    "a\u200bb",
  ])("%j is the same after formatting and parsing", (value) => {
    expect(parseLiteral(formatLiteral(value)).value).toEqual(value);
  });
});

describe("a number from JSON.parse", () => {
  it("is exact if it has no more digits than every double keeps", () => {
    expect(isExact({ a: [1, 2.5, 1e21, "12345678901234567890"] })).toBe(true);
    expect(isExact([0.30000000000000004])).toBe(false);
    expect(isExact(JSON.parse("12345678901234567891"))).toBe(false);
  });
});
