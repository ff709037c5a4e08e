/** The hooks, in the order in which they run. */

import type { Event, Hook, HookEvent, HookRun, HookSample, HookTrial, HookView, Ipc } from "../ipc";
import { Reloader } from "./reloader";
import { Removals } from "./removals.svelte";

/** The values to store in the secret store, by the name of their variable or header. */
export type HookSecretValues = Record<string, string>;

export class Hooks {
  list = $state.raw<HookView[]>([]);
  loaded = $state(false);
  /** The removals that can still be undone. The hooks to be removed do not run meanwhile. */
  readonly removals = new Removals({
    remove: (name) => this.remove(name),
    disable: (name) => this.suspend(name),
    enable: (name) => this.resume(name),
  });
  /** The hooks without those that are about to be removed. */
  readonly shown = $derived(this.list.filter(({ name }) => !this.removals.ids.includes(name)));
  /** The hooks that were switched off only because they are about to be removed. */
  private readonly suspended = new Set<string>();
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

  /** Replaces the hook `name`. The new hook has the same position. */
  async edit(name: string, hook: Hook, secret_values: HookSecretValues): Promise<void> {
    await this.ipc.call("hooks.edit", { name, hook, secret_values });
    await this.load();
  }

  private async remove(name: string): Promise<void> {
    await this.ipc.call("hooks.remove", { name });
    this.suspended.delete(name);
    await this.load();
  }

  private async suspend(name: string): Promise<void> {
    if (!this.list.some((hook) => hook.name === name && hook.enabled)) return;
    await this.setEnabled(name, false);
    this.suspended.add(name);
  }

  private async resume(name: string): Promise<void> {
    if (this.suspended.delete(name)) await this.setEnabled(name, true);
  }

  async setEnabled(name: string, enabled: boolean): Promise<void> {
    await this.ipc.call(enabled ? "hooks.enable" : "hooks.disable", { name });
    await this.load();
  }

  /** Moves a hook to a position among the shown hooks, counted from 0. */
  async reorder(name: string, position: number): Promise<void> {
    const listPosition = this.list.findIndex((hook) => hook === this.shown[position]);
    await this.ipc.call("hooks.reorder", { name, position: listPosition });
    await this.load();
  }

  /** Runs a hook, which need not be saved. No call is affected. */
  try(hook: Hook, event: HookEvent, payload: string): Promise<HookTrial> {
    return this.ipc.call("hooks.try", { hook, event, payload });
  }

  /** Returns the latest runs of a hook, newest first. */
  loadRuns(name: string): Promise<HookRun[]> {
    return this.ipc.call("hooks.log", { name });
  }

  /** Returns a sample payload for each event. */
  loadSamples(): Promise<HookSample[]> {
    return this.ipc.call("hooks.samples", {});
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("hooks.list", {});
    this.loaded = true;
  }
}
