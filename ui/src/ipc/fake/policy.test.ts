import { describe, expect, it } from "vitest";
import { EMPTY_RULE, exportRules, parseRules, toRuleView } from "./policy";
import { FakeHub } from ".";

describe("the policy file of the fake hub", () => {
  it("keeps the user of a rule, and whether it is disabled", async () => {
    const { defaults } = await new FakeHub(true).call("policy.list", {});
    const rule = { ...EMPTY_RULE, user: "ada", effect: "deny" as const };
    const file = exportRules(defaults, [toRuleView(rule, { disabled: true }), toRuleView(rule)]);
    expect(parseRules(file).rules).toEqual([{ ...rule, disabled: true }, rule]);
  });
});
