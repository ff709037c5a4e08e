import type { Effect, PolicyView, RuleView, ToolView } from "../../ipc";

/** The effects by precedence. If matching rules have several effects, the first effect decides. */
const PRECEDENCE: Effect[] = ["deny", "allow", "ask"];

/**
 * Returns the effect that the policy would have on calls of the tool if there were no rules for
 * exactly this tool. Counts only rules that decide every call, by any client and user.
 */
export function findInheritedEffect(tool: ToolView, policy: PolicyView): Effect {
  if (tool.own_effect === null) return tool.effect;
  const effects = policy.rules
    .filter((rule) => rule.tool === null && decidesEveryCall(rule, tool))
    .map(({ effect }) => effect);
  return PRECEDENCE.find((effect) => effects.includes(effect)) ?? policy.defaults.tools;
}

/** Returns whether the rule decides every call of the tool, by any client and user. */
function decidesEveryCall(rule: RuleView, tool: ToolView): boolean {
  return (
    (rule.server === null || rule.server === tool.server) &&
    rule.client === null &&
    rule.user === null &&
    (rule.kind === null || rule.kind === "tools") &&
    (!rule.read_only || tool.annotations.read_only === true) &&
    rule.conditions.length === 0 &&
    rule.lifetime.kind !== "session" &&
    rule.remaining !== 0 &&
    !rule.suspended &&
    !rule.disabled
  );
}
