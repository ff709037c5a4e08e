/** The folders that Drawbridge shares with clients. */

import type { Event, FoldersView, Ipc } from "../ipc";
import { Reloader } from "./reloader";

/** The id of the built-in server that shares the folders. */
const SERVER = "folders";

export class Folders {
  view = $state.raw<FoldersView | null>(null);
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    const isRelevant =
      event.kind === "settings_changed" || (event.kind === "server_changed" && event.id === SERVER);
    if (isRelevant) void this.load().catch(() => undefined);
  }

  /** Shares a folder, or changes how a shared folder is shared. */
  async add(path: string, allFiles: boolean): Promise<void> {
    this.view = await this.ipc.call("folders.add", { path, all_files: allFiles });
  }

  async remove(path: string): Promise<void> {
    this.view = await this.ipc.call("folders.remove", { path });
  }

  /** Enables or disables the built-in server that shares the folders. */
  async enable(enabled: boolean): Promise<void> {
    await this.ipc.call("servers.enable", { id: SERVER, enabled });
    await this.load();
  }

  private async read(): Promise<void> {
    this.view = await this.ipc.call("folders.list", {});
  }
}
