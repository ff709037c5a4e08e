/** Finds the rule for all tools of a server, or for all its requests of a kind. */

import type { RequestKind, RuleView } from "../../ipc";

/**
 * Returns the plain rule that covers exactly the tools of this server, for all clients, without
 * conditions and without an end.
 */
export function findServerRule(rules: RuleView[], server: string): RuleView | undefined {
  return findRule(rules, server, (kind) => kind === null || kind === "tools");
}

/** Returns the plain rule for all requests of this kind to this server. */
export function findKindRule(
  rules: RuleView[],
  server: string,
  kind: RequestKind,
): RuleView | undefined {
  return findRule(rules, server, (covered) => covered === kind);
}

function findRule(
  rules: RuleView[],
  server: string,
  covers: (kind: RequestKind | null) => boolean,
): RuleView | undefined {
  return rules.find(
    (rule) =>
      rule.server === server &&
      rule.tool === null &&
      rule.client === null &&
      rule.user === null &&
      covers(rule.kind) &&
      !rule.read_only &&
      rule.conditions.length === 0 &&
      rule.effect !== null &&
      rule.result === null &&
      rule.lifetime.kind === "until_deleted" &&
      !rule.disabled,
  );
}
