import { describe, expect, it } from "vitest";
import { EMPTY_RULE, toRuleView } from "../../ipc/fake/policy";
import { findKindRule, findServerRule } from "./serverRule";

const rule = toRuleView({ ...EMPTY_RULE, server: "github", effect: "allow" });

describe("the rule for all tools of a server", () => {
  it("is a rule that is turned on", () => {
    expect(findServerRule([rule], "github")).toBe(rule);
    expect(findServerRule([{ ...rule, disabled: true }], "github")).toBeUndefined();
  });

  it("is no rule for other requests or for another server", () => {
    const resources = { ...rule, kind: "resources" } as const;
    expect(findServerRule([resources], "github")).toBeUndefined();
    expect(findKindRule([resources], "github", "resources")).toBe(resources);
    expect(findServerRule([rule], "linear")).toBeUndefined();
  });
});
