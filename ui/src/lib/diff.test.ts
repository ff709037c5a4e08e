import { describe, expect, it } from "vitest";
import {
  diffDefinitions,
  listAsAdded,
  describeField,
  changeKind,
  splitCommonEnds,
  formatValues,
} from "./diff";

describe("a changed field", () => {
  it.each([
    ["/description", ["Description"]],
    ["/inputSchema/properties/a~1b/type", ["Input schema", "properties", "a/b", "type"]],
    ["/x~01", ["x~1"]],
    ["", ["The whole definition"]],
  ])("%j has the steps %j", (pointer, steps) => {
    expect(describeField(pointer)).toEqual(steps);
  });

  it("is added, removed or changed", () => {
    expect(changeKind({ field: "/a", before: null, after: 1 })).toBe("added");
    expect(changeKind({ field: "/a", before: 1, after: null })).toBe("removed");
    expect(changeKind({ field: "/a", before: false, after: 0 })).toBe("changed");
  });

  it("shows strings unchanged, and a string that became a number as JSON", () => {
    expect(formatValues({ field: "/a", before: "reads", after: "writes" })).toEqual({
      before: "reads",
      after: "writes",
    });
    expect(formatValues({ field: "/a", before: "5", after: 5 })).toEqual({
      before: '"5"',
      after: "5",
    });
    expect(formatValues({ field: "/a", before: null, after: { type: "x" } })).toEqual({
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
  ])("%j and %j are split at their common ends", (before, after, split) => {
    expect(splitCommonEnds({ before, after })).toEqual(split);
  });
});

it("a new definition is shown field by field, without its name", () => {
  expect(
    listAsAdded({ name: "t", description: "reads", title: null, inputSchema: {} }, "name").map(
      (c) => c.field,
    ),
  ).toEqual(["/description", "/inputSchema"]);
  expect(listAsAdded("odd", "name")).toEqual([]);
});

describe("two definitions as texts", () => {
  it("are compared by their fields, in any order of keys", () => {
    expect(
      diffDefinitions(
        '{"description":"a","inputSchema":{"a/b":1.0,"same":[1,2]},"title":"T"}',
        '{"title":"T","inputSchema":{"same":[1,2],"a/b":1.50},"description":"b","_meta":{}}',
      ),
    ).toEqual([
      { field: "/_meta", before: null, after: {} },
      { field: "/description", before: "a", after: "b" },
      { field: "/inputSchema/a~1b", before: "1.0", after: "1.50" },
    ]);
  });

  it("differ as a whole if one cannot be parsed", () => {
    expect(diffDefinitions("{", "{}")).toEqual([{ field: "", before: "{", after: "{}" }]);
    expect(diffDefinitions("{}", "{ }")).toEqual([]);
  });
});
