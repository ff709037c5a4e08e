import { describe, expect, it } from "vitest";
import type { Effect, RuleSpec, ToolView } from "../../ipc";
import * as data from "../../ipc/fake/data";
import { DEFAULT_EFFECTS, EMPTY_RULE, toRuleView } from "../../ipc/fake/policy";
import { findInheritedEffect } from "./inheritedEffect";

const SERVER = { server: "filesystem" };
const OWN = { ...SERVER, tool: "read_file" };

function inherit(tool: Partial<ToolView>, byDefault: Effect, ...rules: Partial<RuleSpec>[]) {
  const view = data.tool("filesystem", "read_file", "", { own_effect: "allow", ...tool });
  const ruleViews = rules.map((rule) => toRuleView({ ...EMPTY_RULE, ...rule }));
  return findInheritedEffect(view, {
    defaults: { ...DEFAULT_EFFECTS, tools: byDefault },
    rules: ruleViews,
  });
}

describe("the effect that a tool inherits", () => {
  it("is the hub's effect if the tool has no rule of its own", () => {
    expect(inherit({ own_effect: null, effect: "deny" }, "ask")).toBe("deny");
  });

  it("is the default if no other rule matches", () => {
    expect(inherit({}, "ask", { ...OWN, effect: "allow" })).toBe("ask");
    expect(inherit({}, "ask", { server: "github", effect: "deny" })).toBe("ask");
  });

  it("is the effect of the server's rule although the tool has its own rule", () => {
    const own = { ...OWN, effect: "allow" } as const;
    expect(inherit({}, "ask", { ...SERVER, effect: "deny" }, own)).toBe("deny");
    expect(inherit({}, "ask", own, { effect: "ask" }, { ...SERVER, effect: "allow" })).toBe(
      "allow",
    );
  });

  it("ignores rules that do not decide every call of the tool", () => {
    const conditions = [{ pointer: "/path", is: { path_within: "/etc" } }];
    expect(inherit({}, "ask", { ...SERVER, effect: "deny", conditions })).toBe("ask");
    expect(inherit({}, "ask", { ...SERVER, effect: "deny", client: "cursor" })).toBe("ask");
    expect(inherit({}, "ask", { ...SERVER, effect: "deny", read_only: true })).toBe("ask");
    expect(inherit({}, "ask", { ...SERVER, effect: null, result: "mask" })).toBe("ask");
    expect(inherit({}, "ask", { ...SERVER, effect: "deny", kind: "resources" })).toBe("ask");
    expect(inherit({}, "ask", { ...SERVER, effect: "deny", kind: "tools" })).toBe("deny");
  });

  it("ignores a rule that is turned off", () => {
    const rule = toRuleView({ ...EMPTY_RULE, ...SERVER, effect: "deny" });
    const find = (disabled: boolean) =>
      findInheritedEffect(data.tool("filesystem", "read_file", "", { own_effect: "allow" }), {
        defaults: { ...DEFAULT_EFFECTS, tools: "ask" },
        rules: [{ ...rule, disabled }],
      });
    expect(find(false)).toBe("deny");
    expect(find(true)).toBe("ask");
  });

  it("follows a rule for read-only tools if the tool is read-only", () => {
    const annotations = { ...data.NO_HINTS, read_only: true };
    expect(inherit({ annotations }, "ask", { ...SERVER, effect: "allow", read_only: true })).toBe(
      "allow",
    );
  });
});
