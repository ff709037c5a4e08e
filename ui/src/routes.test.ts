import { describe, expect, it } from "vitest";
import { parseRoute } from "./routes";

describe("a hash", () => {
  it.each([
    ["", "start", null],
    ["#/overview", "overview", null],
    ["#/servers", "servers", null],
    ["#/servers/my%20x", "servers", "my x"],
    ["#/policy/rule-1", "policy", "rule-1"],
    ["#/calls", "calls", null],
    ["#/popup", "popup", null],
    ["#/nowhere", "start", null],
    ["#/logs?server=my%20x", "logs", null],
    ["#/servers/a%3Fb?tab=log", "servers", "a?b"],
    ["#/servers/%E0%A4%A", "servers", null],
  ])("%j leads to %s", (hash, page, id) => {
    const route = parseRoute(hash);
    expect([route.page, route.id]).toEqual([page, id]);
  });

  it("has the filters of the page after a question mark", () => {
    expect(parseRoute("#/logs?server=my%20x&level=warn").query.get("server")).toBe("my x");
    expect(parseRoute("#/logs").query.size).toBe(0);
  });
});
