/** The secrets to which servers, hooks and the export of traces refer. Values are never read. */

import type { Event, Ipc, SecretStoreChange, SecretView, UseSecretStore } from "../ipc";
import { Reloader } from "./reloader";

export class Secrets {
  list = $state.raw<SecretView[] | null>(null);
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  /** Reloads the list after a change, if the list has been read before. */
  on(event: Event): void {
    const isRelevant =
      event.kind === "settings_changed" ||
      event.kind === "server_changed" ||
      event.kind === "hooks_changed";
    if (isRelevant && this.list) void this.load().catch(() => undefined);
  }

  async set(name: string, value: string): Promise<void> {
    await this.ipc.call("secrets.set", { name, value });
    await this.load();
  }

  async remove(name: string): Promise<void> {
    await this.ipc.call("secrets.remove", { name, even_if_used: true });
    await this.load();
  }

  /** Moves the secrets to another place. */
  async useStore(place: UseSecretStore): Promise<SecretStoreChange> {
    const change = await this.ipc.call("secrets.use_store", place);
    await this.load();
    return change;
  }

  async unlock(passphrase: string): Promise<void> {
    await this.ipc.call("secrets.unlock", { passphrase });
    await this.load();
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("secrets.list", {});
  }
}
