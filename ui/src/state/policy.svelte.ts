/** The policy: the defaults and the rules. */

import type {
  DefaultEffects,
  Effect,
  Event,
  PolicyStats,
  Ipc,
  DryRun,
  PolicyView,
  PolicyPreset,
  RequestKind,
  RuleSpec,
  RuleView,
  RuleWarning,
} from "../ipc";
import { Reloader } from "./reloader";
import { Removals } from "./removals.svelte";

/** The defaults of a new installation, until the defaults are read. */
const INITIAL_DEFAULTS: DefaultEffects = {
  tools: "ask",
  prompts: "allow",
  resources: "allow",
  sampling: "allow",
  elicitation: "allow",
  roots: "allow",
};

export class Policy {
  view = $state.raw<PolicyView>({ defaults: INITIAL_DEFAULTS, rules: [] });
  loaded = $state(false);
  /** The deletions that can still be undone. A rule has no effect meanwhile. */
  readonly removals = new Removals({
    remove: (id) => this.deleteRule(id),
    disable: (id) => this.suspend(id),
    enable: (id) => this.resume(id),
  });
  /** The rules without those that are about to be deleted. */
  readonly rules = $derived(this.view.rules.filter(({ id }) => !this.removals.ids.includes(id)));
  /** The rules that were switched off only because they are about to be deleted. */
  private readonly suspended = new Set<string>();
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (event.kind === "policy_changed") void this.load().catch(() => undefined);
  }

  async setDefault(kind: RequestKind, effect: Effect): Promise<void> {
    await this.ipc.call("policy.set_default", { effect, kind });
    await this.load();
  }

  /** Adds a rule, or replaces the rule with that id. */
  async save(id: string | null, rule: RuleSpec): Promise<void> {
    await this.ipc.call("policy.save", { id, rule });
    await this.load();
  }

  /** Returns warnings to show before a rule is saved. */
  check(rule: RuleSpec): Promise<RuleWarning[]> {
    return this.ipc.call("policy.check_rule", { rule });
  }

  async setEnabled({ id }: RuleView, enabled: boolean): Promise<void> {
    await this.ipc.call(enabled ? "policy.enable_rule" : "policy.disable_rule", { id });
    await this.load();
  }

  private async deleteRule(id: string): Promise<void> {
    await this.ipc.call("policy.delete_rule", { id });
    this.suspended.delete(id);
    await this.load();
  }

  private async suspend(id: string): Promise<void> {
    const rule = this.view.rules.find((rule) => rule.id === id);
    if (!rule || rule.disabled) return;
    await this.setEnabled(rule, false);
    this.suspended.add(id);
  }

  private async resume(id: string): Promise<void> {
    const rule = this.view.rules.find((rule) => rule.id === id);
    if (rule && this.suspended.delete(id)) await this.setEnabled(rule, true);
  }

  async apply(preset: PolicyPreset): Promise<void> {
    await this.ipc.call("policy.apply_preset", { preset });
    await this.load();
  }

  /** Returns the past calls that a rule would have matched. Saves nothing. */
  dryRun(rule: RuleSpec): Promise<DryRun> {
    return this.ipc.call("policy.preview", { rule });
  }

  /** Returns the stats of the approvals of the last two weeks. */
  loadStats(): Promise<PolicyStats> {
    return this.ipc.call("policy.stats", { days: null });
  }

  async export(): Promise<string> {
    return (await this.ipc.call("policy.export", {})).text;
  }

  /**
   * Adds the rules of a file, or replaces all rules and the defaults with the rules and defaults of
   * the file. Returns the number of rules in the file.
   */
  async import(text: string, replace: boolean): Promise<number> {
    const { rules } = await this.ipc.call("policy.import", { text, replace });
    await this.load();
    return rules;
  }

  private async read(): Promise<void> {
    this.view = await this.ipc.call("policy.list", {});
    this.loaded = true;
  }
}
