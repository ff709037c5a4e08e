import { describe, expect, it } from "vitest";
import { diffLines } from "./lines";

const drawn = (before: string, after: string) =>
  diffLines(before, after).map(
    ({ kind, text }) => ({ same: " ", gone: "-", new: "+", gap: "…" })[kind] + text,
  );

describe("two texts line by line", () => {
  it("are nothing where they are the same", () => {
    expect(drawn("a\nb", "a\nb")).toEqual([]);
  });

  it("show what is gone and what is new, with one line around", () => {
    expect(drawn("1\n2\n3\n4\n5\n6\n7", "1\n2\n3\nx\n5\n6\n7")).toEqual([
      "…",
      " 3",
      "-4",
      "+x",
      " 5",
      "…",
    ]);
  });

  it("find what stayed between two changes", () => {
    expect(drawn("a\nkeep\nb", "A\nkeep\nB\nC")).toEqual(["-a", "+A", " keep", "-b", "+B", "+C"]);
  });

  it("tell very long ones as a whole", () => {
    const long = (letter: string) =>
      Array.from({ length: 1500 }, (_, at) => `${letter}${at}`).join("\n");
    expect(drawn(long("a"), long("b"))).toHaveLength(3000);
  });
});
