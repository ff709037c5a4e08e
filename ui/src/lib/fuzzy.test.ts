import { describe, expect, it } from "vitest";
import { scoreMatch } from "./fuzzy";

describe("scoreMatch", () => {
  it("matches characters in order, and nothing else", () => {
    expect(scoreMatch("crtis", "create_issue")).not.toBeNull();
    expect(scoreMatch("sic", "create_issue")).toBeNull();
    expect(scoreMatch("", "create_issue")).not.toBeNull();
  });

  it("prefers a text that contains the whole query, most of all at the start of a word", () => {
    const score = (text: string) => scoreMatch("issue", text) ?? -Infinity;
    expect(score("create_issue")).toBeGreaterThan(score("create_tissue"));
    expect(score("create_tissue")).toBeGreaterThan(score("i_s_s_u_e"));
  });
});
