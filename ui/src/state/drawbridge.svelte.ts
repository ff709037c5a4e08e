/** Whether all calls are paused. */

import type { Event, Ipc } from "../ipc";
import { Reader } from "./reader";

export class Drawbridge {
  paused = $state(false);
  private readonly reader = new Reader(
    () => this.read(),
    (event) => this.apply(event),
  );

  constructor(private readonly ipc: Ipc) {}

  load(): Promise<void> {
    return this.reader.run();
  }

  on(event: Event): void {
    this.reader.on(event);
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
