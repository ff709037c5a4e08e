import { describe, expect, it } from "vitest";
import { describeError, prettyPrint } from "./argumentsText";

describe("arguments that are edited", () => {
  it("are formatted over several lines, with numbers as they were written", () => {
    expect(prettyPrint('{"n":1.50,"a":[1e3]}')).toBe('{\n  "n": 1.50,\n  "a": [\n    1e3\n  ]\n}');
    expect(prettyPrint("{broken")).toBe("{broken");
  });

  it("have equivalent escapes in place of hidden characters", () => {
    const sent = '{"a\u200b":"b\u202ec\udb40\udc41","d":"❤\ufe0f é 漢"}';
    expect(prettyPrint(sent)).toBe(
      '{\n  "a\\u200b": "b\\u202ec\\udb40\\udc41",\n  "d": "❤\ufe0f é 漢"\n}',
    );
    expect(JSON.parse(prettyPrint(sent))).toEqual(JSON.parse(sent));
  });

  it.each([
    ['{"a":1}', ""],
    ["[1]", "Arguments are a JSON object: { … }."],
    ['{\n  "a": 01\n}', 'Line 2, column 9: expected ",".'],
    ["{", "Line 1, column 2: expected a key."],
    ['{\n"a": "b\n"}', "Line 2, column 8: control character in a string."],
  ])("%j has the error %j", (text, error) => {
    expect(describeError(text)).toBe(error);
  });
});
