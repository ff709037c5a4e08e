/** Whether all calls are paused. */

import type { Event, Ipc } from "../ipc";
import { Reloader } from "./reloader";

export class Drawbridge {
  paused = $state(false);
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

  async pause(): Promise<void> {
    this.paused = (await this.ipc.call("drawbridge.pause", {})).paused;
  }

  async resume(): Promise<void> {
    this.paused = (await this.ipc.call("drawbridge.resume", {})).paused;
  }

  private apply(event: Event): void {
    if (event.kind === "drawbridge_changed") this.paused = event.paused;
  }

  private async read(): Promise<void> {
    this.paused = (await this.ipc.call("drawbridge.show", {})).paused;
  }
}
