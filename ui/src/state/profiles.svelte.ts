/** The profiles: which servers and tools a client sees. */

import type { Event, Ipc, Profile, ProfileView } from "../ipc";
import { Reloader } from "./reloader";
import { Removals } from "./removals.svelte";

export class Profiles {
  list = $state.raw<ProfileView[]>([]);
  loaded = $state(false);
  /** The removals that can still be undone. */
  readonly removals = new Removals({ remove: (name) => this.remove(name) });
  /** The profiles without those that are about to be removed. */
  readonly shown = $derived(this.list.filter(({ name }) => !this.removals.ids.includes(name)));
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  /** Also follows servers and clients: a profile shows the cost of its tools, and its clients. */
  on(event: Event): void {
    if (["profiles_changed", "clients_changed", "server_changed"].includes(event.kind))
      void this.load().catch(() => undefined);
  }

  find(name: string): ProfileView | undefined {
    return this.list.find((profile) => profile.name === name);
  }

  async put(profile: Profile): Promise<void> {
    await this.ipc.call("profiles.put", { profile });
    await this.load();
  }

  async remove(name: string): Promise<void> {
    await this.ipc.call("profiles.remove", { name });
    await this.load();
  }

  /** Assigns a profile to a client; `null` lets the client see everything. */
  async assign(client: string, profile: string | null): Promise<void> {
    await this.ipc.call("profiles.assign", { client, profile });
    await this.load();
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("profiles.list", {});
    this.loaded = true;
  }
}
