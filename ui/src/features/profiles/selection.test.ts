import { describe, expect, it } from "vitest";
import { server, spec, tool } from "../../ipc/fake/data";
import { computeCost, listSelectableNames, validateProfile } from "./selection";

const files = server("files", {
  tools: [
    tool("files", "read", "", { tokens: 100 }),
    tool("files", "write", "", { tokens: 30 }),
    tool("files", "new", "", { tokens: 7, hidden: "not accepted yet" }),
  ],
});
const web = server("web", {
  spec: spec({ name: "web", url: "https://x.example", visibility: "deferred" }),
  tools: [tool("web", "get", "", { tokens: 500 })],
});

describe("the cost of a profile", () => {
  it.each([
    [{}, { tools: 0, tokens: 0 }],
    [{ files: null }, { tools: 2, tokens: 130 }],
    [{ files: ["write", "new", "gone"] }, { tools: 1, tokens: 30 }],
    [
      { files: ["read"], web: null },
      { tools: 1, tokens: 100 },
    ],
  ])("with %j is %j", (selection, cost) => {
    expect(computeCost([files, web], selection)).toEqual(cost);
  });
});

describe("a profile", () => {
  it("keeps a selected tool that is not visible", () => {
    expect(listSelectableNames(files, { files: ["gone", "read"] })).toEqual([
      "read",
      "write",
      "gone",
    ]);
    expect(listSelectableNames(files, {})).toEqual(["read", "write"]);
  });

  it("needs a unique name and a server", () => {
    expect(Object.keys(validateProfile(" ", {}, []))).toEqual(["name", "servers"]);
    expect(validateProfile("writing", { files: null }, ["writing"]).name).toContain("exists");
    expect(validateProfile("writing", { files: null }, [])).toEqual({});
  });
});
