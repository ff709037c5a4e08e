import { describe, expect, it } from "vitest";
import { findTextEdits } from "./textEdits";

describe("edits in arguments", () => {
  it.each([
    ["oldText", "newText"],
    ["old_string", "new_string"],
    ["old_str", "new_str"],
  ])("are found by the keys %s and %s", (oldKey, newKey) => {
    const text = JSON.stringify({ path: "/a", edits: [{ [oldKey]: "a", [newKey]: "b" }] });
    expect(findTextEdits(text)).toEqual([{ before: "a", after: "b" }]);
  });

  it.each([
    ["malformed JSON", "{broken"],
    ["a duplicate key", '{"oldText":"a","newText":"b","newText":"c"}'],
    ["half a pair", '{"oldText":"a"}'],
    ["a value that is no text", '{"oldText":"a","newText":1}'],
    [
      "too many edits",
      JSON.stringify(Array.from({ length: 21 }, () => ({ oldText: "a", newText: "b" }))),
    ],
  ])("are not guessed from %s", (_, text) => {
    expect(findTextEdits(text)).toEqual([]);
  });
});
