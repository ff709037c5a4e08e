import { describe, expect, it } from "vitest";
import { countNodes, parseLossless, printLossless, type JsonNode } from "./lossless";

function members(node: JsonNode) {
  if (node.kind !== "object") throw new Error("not an object");
  return node.members;
}

describe("lossless JSON", () => {
  it.each(["1.0", "1e400", "-0", "12345678901234567890123", "0.10", "1E+2"])(
    "keeps the number %s as it was written",
    (lexeme) => {
      expect(parseLossless(lexeme)).toEqual({ kind: "number", lexeme });
    },
  );

  it("keeps the order of keys, also of keys that look like numbers", () => {
    expect(members(parseLossless('{"b":1,"2":2,"a":3,"1":4}')).map((m) => m.key)).toEqual([
      "b",
      "2",
      "a",
      "1",
    ]);
  });

  it("keeps and marks both of two duplicate keys", () => {
    const found = members(parseLossless('{"path":"/tmp","x":1,"path":"/etc"}'));
    expect(found.map((m) => [m.key, m.duplicate])).toEqual([
      ["path", true],
      ["x", false],
      ["path", true],
    ]);
    expect(found[2]?.value).toEqual({ kind: "string", value: "/etc" });
  });

  it("treats keys that differ only in their escapes as duplicates", () => {
    expect(members(parseLossless('{"a":1,"\\u0061":2}')).every((m) => m.duplicate)).toBe(true);
  });

  it("treats __proto__ and constructor as ordinary keys", () => {
    expect(
      members(parseLossless('{"__proto__":{"x":1},"constructor":2}')).map((m) => m.key),
    ).toEqual(["__proto__", "constructor"]);
  });

  it("decodes every escape", () => {
    expect(parseLossless('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u20ac\\ud83d\\ude00"')).toEqual({
      kind: "string",
      value: '"\\/\b\f\n\r\t€😀',
    });
  });

  it("keeps a lone surrogate", () => {
    expect(parseLossless('"\\ud800"')).toEqual({ kind: "string", value: "\ud800" });
  });

  it("reads empty objects and arrays, and allows spaces anywhere", () => {
    expect(parseLossless(' { "a" : [ ] , "b" : { } } ')).toEqual({
      kind: "object",
      members: [
        { key: "a", duplicate: false, value: { kind: "array", items: [] } },
        { key: "b", duplicate: false, value: { kind: "object", members: [] } },
      ],
    });
  });

  it.each([
    "",
    "{",
    "[1,]",
    '{"a":1,}',
    "{a:1}",
    "01",
    "+1",
    ".5",
    "1.",
    "NaN",
    "'a'",
    '"\n"',
    '"\\x41"',
    '"\\u12"',
    "1 2",
    '"a',
    "tru",
    "\u00a01",
  ])("rejects %j like a strict parser", (text) => {
    expect(() => parseLossless(text)).toThrow();
    expect(() => JSON.parse(text) as unknown).toThrow();
  });

  it("reports the position of an error", () => {
    expect(() => parseLossless('{"a":x}')).toThrow("expected a value at character 6");
  });

  it("limits the depth", () => {
    expect(() => parseLossless("[".repeat(100_000))).toThrow("nested too deeply");
  });

  it("counts values", () => {
    expect(countNodes(parseLossless('{"a":[1,2],"b":null}'))).toBe(5);
  });
});

describe("JSON printed over several lines", () => {
  it("keeps numbers as they were written, and duplicate keys", () => {
    const text = '{"n":1.50,"big":12345678901234567890,"p":"a","p":"b","empty":[{},[]]}';
    expect(printLossless(parseLossless(text))).toBe(
      '{\n  "n": 1.50,\n  "big": 12345678901234567890,\n  "p": "a",\n  "p": "b",\n  "empty": [\n    {},\n    []\n  ]\n}',
    );
  });

  it("writes hidden characters as escapes", () => {
    const node = parseLossless('"pay\u202etxt\u{e0041}\\n\\ud800é"');
    expect(printLossless(node)).toBe('"pay\\u202etxt\\udb40\\udc41\\n\\ud800é"');
    expect(parseLossless(printLossless(node))).toEqual(node);
  });
});
