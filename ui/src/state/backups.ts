/** Backups of the hub's data folder. Nothing is cached, because other programs make backups too. */

import type { BackupsView, BackupView, Ipc, ResetPart } from "../ipc";

export class Backups {
  constructor(private readonly ipc: Ipc) {}

  list(): Promise<BackupsView> {
    return this.ipc.call("backup.list", {});
  }

  create(): Promise<BackupView> {
    return this.ipc.call("backup.create", {});
  }

  /** Reads the facts about an archive on the computer of the hub. */
  check(file: string): Promise<BackupView> {
    return this.ipc.call("backup.check", { file });
  }

  /** Prepares a restore, which the next start of the hub performs. */
  async restore(file: string): Promise<void> {
    await this.ipc.call("backup.restore", { file });
  }

  /** Deletes secrets at once, and prepares the deletion of other parts for the next start. */
  async reset(parts: ResetPart[]): Promise<void> {
    await this.ipc.call("backup.reset", { parts });
  }

  async cancel(): Promise<void> {
    await this.ipc.call("backup.cancel", {});
  }
}
