/** The clients. */

import type { ClientAdded, ClientRotated, ClientView, Event, Ipc } from "../ipc";
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

  /** Adds a client. Without a `user`, it belongs to the default user. */
  async add(name: string, user: string | null): Promise<ClientAdded> {
    const added = await this.ipc.call("clients.add", {
      name,
      token: null,
      user,
      lifetime_s: null,
      profile: null,
    });
    await this.load();
    return added;
  }

  /**
   * Gives a client a new token. A `lifetime_s` of 0 means that the token does not expire; `null`
   * means the lifetime of the old token.
   */
  async rotate(name: string, lifetime_s: number | null): Promise<ClientRotated> {
    const rotated = await this.ipc.call("clients.rotate", { name, token: null, lifetime_s });
    await this.load();
    return rotated;
  }

  /** Gives a client to another user. Its sessions end. */
  async setUser(name: string, user: string): Promise<void> {
    await this.ipc.call("clients.set_user", { name, user });
    await this.load();
  }

  /** Limits the calls of a client in a minute; `null` removes the limit. */
  async limit(name: string, calls_per_minute: number | null): Promise<void> {
    await this.ipc.call("clients.limit", { name, calls_per_minute });
    await this.load();
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
