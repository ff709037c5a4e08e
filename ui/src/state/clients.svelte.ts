/** The clients, and which of them are muted. */

import type { ClientAdded, ClientRotated, ClientView, Event, Ipc } from "../ipc";
import { Reloader } from "./reloader";

/** A muted client, whose calls that need a decision are refused. */
export interface MutedClient {
  name: string;
  /** When the mute ends, in milliseconds since 1970. */
  until: number;
  /** `until` on this page's clock, in milliseconds since the time origin of `performance.now()`. */
  deadline: number;
}

export class Clients {
  list = $state.raw<ClientView[]>([]);
  loaded = $state(false);
  readonly current = $derived(this.list.filter((client) => client.revoked_at === null));
  readonly revoked = $derived(this.list.filter((client) => client.revoked_at !== null));
  /** The muted clients, by name. A client leaves the list as soon as its mute ends. */
  muted = $state.raw<MutedClient[]>([]);
  private readonly reloader = new Reloader(() => this.read());
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (
      event.kind === "clients_changed" ||
      event.kind === "client_muted" ||
      event.kind === "client_unmuted" ||
      event.kind === "profiles_changed"
    )
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

  /** Gives a client to another user. The client's sessions end. */
  async setUser(name: string, user: string): Promise<void> {
    await this.ipc.call("clients.set_user", { name, user });
    await this.load();
  }

  /** Limits the calls of a client in a minute; `null` removes the limit. */
  async limit(name: string, calls_per_minute: number | null): Promise<void> {
    await this.ipc.call("clients.limit", { name, calls_per_minute });
    await this.load();
  }

  /** Lets a muted client ask again. */
  async unmute(name: string): Promise<void> {
    await this.ipc.call("clients.unmute", { name });
    await this.load();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  async revoke(name: string): Promise<void> {
    await this.ipc.call("clients.revoke", { name });
    await this.load();
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("clients.list", {});
    const now = performance.now();
    this.setMuted(
      this.list.flatMap(({ name, mute }) =>
        mute ? [{ name, until: mute.until, deadline: now + mute.remaining_ms }] : [],
      ),
    );
    this.loaded = true;
  }

  private setMuted(list: MutedClient[]): void {
    const now = performance.now();
    this.muted = list.filter(({ deadline }) => deadline > now);
    clearTimeout(this.timer);
    if (this.muted.length === 0) return;
    const next = Math.min(...this.muted.map(({ deadline }) => deadline));
    this.timer = setTimeout(() => this.setMuted(this.muted), Math.max(0, next - now) + 1);
  }
}
