/** Whether the hub is there, and whether it lets this page in. */

import type { IpcError } from "../ipc";

export type Standing = "connecting" | "connected" | "lost" | "signed_out";

export class Connection {
  standing = $state<Standing>("connecting");
  /** What could not be read although there is a connection; empty where nothing failed. */
  trouble = $state("");

  changed(connected: boolean): void {
    this.trouble = "";
    if (connected) this.standing = "connected";
    else if (this.standing !== "signed_out") this.standing = "lost";
  }

  failed(error: IpcError): void {
    if (error.code === "signed_out") this.standing = "signed_out";
    else if (this.standing === "connected") this.trouble = error.message;
  }
}
