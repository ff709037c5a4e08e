/** Whether all calls are paused, and until when. */

import type { DrawbridgeState, Event, Ipc } from "../ipc";
import { Reloader } from "./reloader";

export class Drawbridge {
  paused = $state(false);
  /**
   * When the pause ends by itself; null if calls are not paused, or if a person has to resume
   * them.
   */
  resumesAt = $state<number | null>(null);
  private readonly reloader = new Reloader(
    () => this.read(),
    (event) => this.apply(event),
  );

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    this.reloader.on(event);
  }

  /** Pauses all calls for this many seconds, or until a person resumes them. */
  async pause(seconds: number | null = null): Promise<void> {
    this.set(await this.ipc.call("drawbridge.pause", { for_s: seconds }));
  }

  async resume(): Promise<void> {
    this.set(await this.ipc.call("drawbridge.resume", {}));
  }

  private apply(event: Event): void {
    if (event.kind === "drawbridge_changed") this.set(event);
  }

  private async read(): Promise<void> {
    this.set(await this.ipc.call("drawbridge.show", {}));
  }

  private set({ paused, resumes_at }: DrawbridgeState): void {
    this.paused = paused;
    this.resumesAt = resumes_at;
  }
}
