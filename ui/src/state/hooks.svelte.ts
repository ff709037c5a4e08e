/** The hooks in the order in which they run, and how they have run. */

import type { Event, Hook, HookEvent, HookRun, HookSample, HookTrial, HookView, Ipc } from "../ipc";
import { Reloader } from "./reloader";

/** The values of variables or headers that go to the secret store, by name. */
export type HookSecretValues = Record<string, string>;

export class Hooks {
  list = $state.raw<HookView[]>([]);
  loaded = $state(false);
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (event.kind === "hooks_changed") void this.load().catch(() => undefined);
  }

  async add(hook: Hook, secret_values: HookSecretValues): Promise<void> {
    await this.ipc.call("hooks.add", { hook, position: null, secret_values });
    await this.load();
  }

  /** Replaces the hook `name`. The position in the order stays. */
  async edit(name: string, hook: Hook, secret_values: HookSecretValues): Promise<void> {
    await this.ipc.call("hooks.edit", { name, hook, secret_values });
    await this.load();
  }

  async remove(name: string): Promise<void> {
    await this.ipc.call("hooks.remove", { name });
    await this.load();
  }

  async setEnabled(name: string, enabled: boolean): Promise<void> {
    await this.ipc.call(enabled ? "hooks.enable" : "hooks.disable", { name });
    await this.load();
  }

  /** Moves a hook to a position, counted from 0. */
  async reorder(name: string, position: number): Promise<void> {
    await this.ipc.call("hooks.reorder", { name, position });
    await this.load();
  }

  /** Runs a hook, which need not be saved. No call is affected. */
  try(hook: Hook, event: HookEvent, payload: string): Promise<HookTrial> {
    return this.ipc.call("hooks.try", { hook, event, payload });
  }

  /** Reads the latest runs of a hook, the newest first. */
  runs(name: string): Promise<HookRun[]> {
    return this.ipc.call("hooks.log", { name });
  }

  samples(): Promise<HookSample[]> {
    return this.ipc.call("hooks.samples", {});
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("hooks.list", {});
    this.loaded = true;
  }
}
