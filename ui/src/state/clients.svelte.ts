/** The clients. */

import type { ClientAdded, ClientView, Event, Ipc } from "../ipc";
import { Reloader } from "./reloader";

export class Clients {
  list = $state.raw<ClientView[]>([]);
  loaded = $state(false);
  readonly current = $derived(this.list.filter((client) => client.revoked_at === null));
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (event.kind === "clients_changed" || event.kind === "profiles_changed")
      void this.load().catch(() => undefined);
  }

  async add(name: string): Promise<ClientAdded> {
    const added = await this.ipc.call("clients.add", { name, token: null });
    await this.load();
    return added;
  }

  async revoke(name: string): Promise<void> {
    await this.ipc.call("clients.revoke", { name });
    await this.load();
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("clients.list", {});
    this.loaded = true;
  }
}
