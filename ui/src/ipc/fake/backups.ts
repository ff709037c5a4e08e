/** Backups of the fake hub. */

import { IpcError } from "..";
import type { BackupsView, BackupView, Done, ResetPart } from "../bindings";

const FOLDER = "/home/me/.local/share/drawbridge/backups";

export class FakeBackups {
  /** The change that the next start makes to the data folder; empty if none is prepared. */
  prepared: "" | "restore" | "reset" = "";
  /** The parts that a prepared reset deletes. */
  resetParts: ResetPart[] = [];
  private files: string[] = [];

  list(): BackupsView {
    return {
      backups: this.files.map((file) => ({ file, bytes: 482_113 })),
      is_replacement_prepared: this.prepared !== "",
    };
  }

  create(): BackupView {
    this.checkNothingIsPrepared();
    this.files = [`${FOLDER}/drawbridge-${this.files.length + 1}.zip`, ...this.files];
    return this.check(this.files[0] ?? "");
  }

  check(file: string): BackupView {
    if (!this.files.includes(file))
      throw new IpcError("invalid", `'${file}' cannot be read: No such file or directory`);
    return { file, version: "0.1.0", created_at: Date.now(), files: 9 };
  }

  restore(file: string): BackupView {
    this.checkNothingIsPrepared();
    const view = this.check(file);
    this.prepared = "restore";
    return view;
  }

  /** Calls `removeSecrets` if secrets are among the parts. */
  reset(parts: ResetPart[], removeSecrets: () => void): Done {
    if (parts.length === 0)
      throw new IpcError("invalid", "'parts' must name at least one part to delete");
    this.checkNothingIsPrepared();
    if (parts.includes("secrets")) removeSecrets();
    if (parts.some((part) => part !== "secrets")) {
      this.prepared = "reset";
      this.resetParts = [...parts];
    }
    return {};
  }

  cancel(): Done {
    if (!this.prepared) throw new IpcError("conflict", "no restore and no reset is prepared");
    this.prepared = "";
    return {};
  }

  private checkNothingIsPrepared() {
    if (this.prepared)
      throw new IpcError(
        "conflict",
        "a restore or a reset is prepared; start Drawbridge again, which completes it, or cancel it with `drawbridge backup cancel`",
      );
  }
}
