/** The rules, and what happens where none matches. */

import type { Effect, Event, Ipc, PolicyView, RuleView } from "../ipc";
import { Reader } from "./reader";

export class Policy {
  view = $state.raw<PolicyView>({ default: "ask", rules: [] });
  loaded = $state(false);
  private readonly reader = new Reader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reader.run();
  }

  on(event: Event): void {
    if (event.kind === "policy_changed") void this.load().catch(() => undefined);
  }

  async setDefault(effect: Effect): Promise<void> {
    await this.ipc.call("policy.set_default", { effect });
    await this.load();
  }

  async remove(rule: RuleView): Promise<void> {
    await this.ipc.call("policy.remove", { server: rule.server, tool: rule.tool, client: rule.client });
    await this.load();
  }

  private async read(): Promise<void> {
    this.view = await this.ipc.call("policy.list", {});
    this.loaded = true;
  }
}
