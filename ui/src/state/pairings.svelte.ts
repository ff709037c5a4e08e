/** The clients that ask to be paired. */

import type { Event, Ipc, PairingRequest } from "../ipc";
import { Reloader } from "./reloader";

export class Pairings {
  /** Oldest first. */
  list = $state.raw<PairingRequest[]>([]);
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (event.kind === "pairing_requested" || event.kind === "pairing_ended")
      void this.load().catch(() => undefined);
  }

  /** Adds the client under this name. Without a profile, the client sees everything. */
  async approve(request: PairingRequest, name: string, profile: string | null): Promise<void> {
    await this.answer({ id: request.id, approve: true, name, profile });
  }

  async deny(request: PairingRequest): Promise<void> {
    await this.answer({ id: request.id, approve: false, name: null, profile: null });
  }

  private async answer(params: {
    id: string;
    approve: boolean;
    name: string | null;
    profile: string | null;
  }): Promise<void> {
    try {
      await this.ipc.call("pairing.answer", params);
    } finally {
      await this.load();
    }
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("pairing.list", {});
  }
}
