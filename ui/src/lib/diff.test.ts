import { describe, expect, it } from "vitest";
import { changesBetween, fieldsOf, fieldSteps, kindOf, splitTexts, textsOf } from "./diff";

describe("a field that differs", () => {
  it.each([
    ["/description", ["Description"]],
    ["/inputSchema/properties/a~1b/type", ["Input schema", "properties", "a/b", "type"]],
    ["/x~01", ["x~1"]],
    ["", ["The whole definition"]],
  ])("%j is named in steps", (pointer, steps) => {
    expect(fieldSteps(pointer)).toEqual(steps);
  });

  it("is new, gone or changed", () => {
    expect(kindOf({ field: "/a", before: null, after: 1 })).toBe("added");
    expect(kindOf({ field: "/a", before: 1, after: null })).toBe("removed");
    expect(kindOf({ field: "/a", before: false, after: 0 })).toBe("changed");
  });

  it("shows a text as it stands, and a text that became a number as JSON", () => {
    expect(textsOf({ field: "/a", before: "reads", after: "writes" })).toEqual({
      before: "reads",
      after: "writes",
    });
    expect(textsOf({ field: "/a", before: "5", after: 5 })).toEqual({ before: '"5"', after: "5" });
    expect(textsOf({ field: "/a", before: null, after: { type: "x" } })).toEqual({
      before: "",
      after: '{\n  "type": "x"\n}',
    });
  });
});

describe("two texts", () => {
  it.each([
    ["Merge it.", "Merge it now.", { head: "Merge it", before: "", after: " now", tail: "." }],
    ["aaa", "aa", { head: "aa", before: "a", after: "", tail: "" }],
    ["x😀y", "x😁y", { head: "x", before: "😀", after: "😁", tail: "y" }],
    ["same", "same", { head: "same", before: "", after: "", tail: "" }],
    ["", "new", { head: "", before: "", after: "new", tail: "" }],
  ])("%j and %j share their ends", (before, after, split) => {
    expect(splitTexts({ before, after })).toEqual(split);
  });
});

it("a new definition is shown field by field, without its name", () => {
  expect(
    fieldsOf({ name: "t", description: "reads", title: null, inputSchema: {} }).map((c) => c.field),
  ).toEqual(["/description", "/inputSchema"]);
  expect(fieldsOf("odd")).toEqual([]);
});

describe("two definitions as texts", () => {
  it("differ by their fields, whatever the order of their keys", () => {
    expect(
      changesBetween(
        '{"description":"a","inputSchema":{"a/b":1.0,"same":[1,2]},"title":"T"}',
        '{"title":"T","inputSchema":{"same":[1,2],"a/b":1.50},"description":"b","_meta":{}}',
      ),
    ).toEqual([
      { field: "/_meta", before: null, after: {} },
      { field: "/description", before: "a", after: "b" },
      { field: "/inputSchema/a~1b", before: "1.0", after: "1.50" },
    ]);
  });

  it("differ as a whole where one cannot be read", () => {
    expect(changesBetween("{", "{}")).toEqual([{ field: "", before: "{", after: "{}" }]);
    expect(changesBetween("{}", "{ }")).toEqual([]);
  });
});
