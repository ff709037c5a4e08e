/** The rule for all tools of a server. */

import type { RuleView } from "../../ipc";

/**
 * Returns the plain rule that covers exactly the tools of this server, for all clients: no
 * condition, and no end.
 */
export function findServerRule(rules: RuleView[], server: string): RuleView | undefined {
  return rules.find(
    (rule) =>
      rule.server === server &&
      rule.tool === null &&
      rule.client === null &&
      rule.user === null &&
      (rule.kind === null || rule.kind === "tools") &&
      !rule.read_only &&
      rule.conditions.length === 0 &&
      rule.effect !== null &&
      rule.result === null &&
      rule.lifetime.kind === "until_deleted",
  );
}
