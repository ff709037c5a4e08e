import { describe, expect, it } from "vitest";
import { diffLines } from "./lines";

const formatDiff = (before: string, after: string) =>
  diffLines(before, after).map(
    ({ kind, text }) => ({ same: " ", removed: "-", added: "+", gap: "…" })[kind] + text,
  );

describe("two texts line by line", () => {
  it("have no differences if they are the same", () => {
    expect(formatDiff("a\nb", "a\nb")).toEqual([]);
  });

  it("show removed and added lines, with one line of context", () => {
    expect(formatDiff("1\n2\n3\n4\n5\n6\n7", "1\n2\n3\nx\n5\n6\n7")).toEqual([
      "…",
      " 3",
      "-4",
      "+x",
      " 5",
      "…",
    ]);
  });

  it("keep unchanged lines between two changes", () => {
    expect(formatDiff("a\nkeep\nb", "A\nkeep\nB\nC")).toEqual([
      "-a",
      "+A",
      " keep",
      "-b",
      "+B",
      "+C",
    ]);
  });

  it("are removed and added as a whole if they are very long", () => {
    const long = (letter: string) =>
      Array.from({ length: 1500 }, (_, index) => `${letter}${index}`).join("\n");
    expect(formatDiff(long("a"), long("b"))).toHaveLength(3000);
  });
});
