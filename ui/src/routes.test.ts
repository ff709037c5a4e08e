import { describe, expect, it } from "vitest";
import { parseRoute } from "./routes";

describe("a hash", () => {
  it.each([
    ["", "approvals", null],
    ["#/servers", "servers", null],
    ["#/servers/my%20x", "servers", "my x"],
    ["#/policy/rule-1", "policy", "rule-1"],
    ["#/calls", "calls", null],
    ["#/popup", "popup", null],
    ["#/nowhere", "approvals", null],
    ["#/servers/%E0%A4%A", "servers", null],
  ])("%j leads to %s", (hash, page, id) => {
    expect(parseRoute(hash)).toEqual({ page, id });
  });
});
