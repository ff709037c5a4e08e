/** The provider that answers sampling requests in place of clients, and its budget. */

import type { ChangeSampling, Event, Ipc, SamplingCheck, SamplingView } from "../ipc";
import { Reloader } from "./reloader";

export class Sampling {
  view = $state.raw<SamplingView | null>(null);
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    // A sampling request that has ended may have used the budget.
    const mayUseBudget =
      event.kind === "call_changed" &&
      event.call.method === "sampling/createMessage" &&
      event.call.outcome !== "running";
    if (event.kind === "settings_changed" || mayUseBudget) void this.load().catch(() => undefined);
  }

  async change(change: Partial<ChangeSampling>): Promise<void> {
    this.view = await this.ipc.call("sampling.change", {
      enabled: null,
      url: null,
      models: null,
      images: null,
      tools: null,
      timeout_s: null,
      requests_per_day: null,
      tokens_per_day: null,
      key: null,
      ...change,
    });
  }

  /** Sends a tiny request to the provider. */
  async check(): Promise<SamplingCheck> {
    try {
      return await this.ipc.call("sampling.check", {});
    } finally {
      void this.load().catch(() => undefined);
    }
  }

  private async read(): Promise<void> {
    this.view = await this.ipc.call("sampling.show", {});
  }
}
