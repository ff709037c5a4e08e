import type { Effect, PolicyView, RuleView, ToolView } from "../../ipc";

/** The effect of the first matching rule in this order decides. */
const PRECEDENCE: Effect[] = ["deny", "allow", "ask"];

/**
 * Returns the effect that calls of the tool have without the rules of exactly this tool, for a
 * client that has no rule of its own.
 */
export function findInheritedEffect(tool: ToolView, policy: PolicyView): Effect {
  if (tool.own_policy === null) return tool.policy;
  const effects = policy.rules
    .filter((rule) => rule.tool === null && decidesEveryCall(rule, tool))
    .map(({ effect }) => effect);
  return PRECEDENCE.find((effect) => effects.includes(effect)) ?? policy.defaults.tools;
}

/** Returns whether the rule decides every call of the tool, whatever its client and arguments. */
function decidesEveryCall(rule: RuleView, tool: ToolView): boolean {
  return (
    (rule.server === null || rule.server === tool.server) &&
    rule.client === null &&
    (rule.kind === null || rule.kind === "tools") &&
    (!rule.read_only || tool.annotations.read_only === true) &&
    rule.conditions.length === 0 &&
    rule.lifetime.kind !== "session" &&
    rule.remaining !== 0 &&
    !rule.suspended
  );
}
