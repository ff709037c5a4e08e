/** The connection to the hub. */

import type { IpcError } from "../ipc";

export type ConnectionStatus = "connecting" | "connected" | "lost" | "signed_out";

export class Connection {
  status = $state<ConnectionStatus>("connecting");
  /** Why a read failed while the hub was connected; empty if none failed since it connected. */
  readError = $state("");

  setConnected(connected: boolean): void {
    this.readError = "";
    if (connected) this.status = "connected";
    else if (this.status !== "signed_out") this.status = "lost";
  }

  recordFailure(error: IpcError): void {
    if (error.code === "signed_out") this.status = "signed_out";
    else if (this.status === "connected") this.readError = error.message;
  }
}
