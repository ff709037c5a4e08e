import { describe, expect, it } from "vitest";
import { splitCode } from "./codeText";

describe("splitCode", () => {
  it("splits a text at its pairs of backticks", () => {
    expect(splitCode("Run `drawbridge serve`, or `npx -y x`.")).toEqual([
      { text: "Run ", isCode: false },
      { text: "drawbridge serve", isCode: true },
      { text: ", or ", isCode: false },
      { text: "npx -y x", isCode: true },
      { text: ".", isCode: false },
    ]);
  });

  it("leaves a single backtick as it is", () => {
    expect(splitCode("a ` b")).toEqual([{ text: "a ` b", isCode: false }]);
    expect(splitCode("a ` b\nc ` d")).toEqual([{ text: "a ` b\nc ` d", isCode: false }]);
    expect(splitCode("")).toEqual([]);
  });
});
