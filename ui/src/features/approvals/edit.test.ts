import { describe, expect, it } from "vitest";
import { faultOf, pretty } from "./edit";

describe("arguments that are edited", () => {
  it("begin as they came, over several lines, every number as it was written", () => {
    expect(pretty('{"n":1.50,"a":[1e3]}')).toBe('{\n  "n": 1.50,\n  "a": [\n    1e3\n  ]\n}');
    expect(pretty("{broken")).toBe("{broken");
  });

  it("show what cannot be seen as escapes, which say the same", () => {
    const sent = '{"a\u200b":"b\u202ec\udb40\udc41","d":"❤\ufe0f é 漢"}';
    expect(pretty(sent)).toBe(
      '{\n  "a\\u200b": "b\\u202ec\\udb40\\udc41",\n  "d": "❤\ufe0f é 漢"\n}',
    );
    expect(JSON.parse(pretty(sent))).toEqual(JSON.parse(sent));
  });

  it.each([
    ['{"a":1}', ""],
    ["[1]", "Arguments are an object: { … }."],
    ['{\n  "a": 01\n}', 'Line 2, column 9: expected ",".'],
    ["{", "Line 1, column 2: expected a key."],
    ['{\n"a": "b\n"}', "Line 2, column 8: control character in a string."],
  ])("%j has the fault %j", (text, fault) => {
    expect(faultOf(text)).toBe(fault);
  });
});
