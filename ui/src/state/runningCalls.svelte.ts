/** The running calls of tools, with their progress. */

import type { Call, CallProgress, Event, Ipc } from "../ipc";
import { Reloader } from "./reloader";

export interface RunningCall {
  call: Call;
  /** When the call began to run, by the clock of this window. */
  since: number;
  progress: CallProgress | null;
}

export class RunningCalls {
  list = $state.raw<RunningCall[]>([]);
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

  /** Cancels a call at its server. The client gets an error that says why. */
  async cancel(id: string): Promise<void> {
    await this.ipc.call("calls.cancel", { id });
  }

  private apply(event: Event): void {
    if (event.kind === "call_progressed") {
      this.list = this.list.map((running) =>
        running.call.id === event.id ? { ...running, progress: event.progress } : running,
      );
    }
    if (event.kind !== "call_changed" || event.call.method !== "tools/call") return;
    const { call } = event;
    const isKnown = this.list.some((running) => running.call.id === call.id);
    if (call.outcome !== "running") {
      if (isKnown) this.list = this.list.filter((running) => running.call.id !== call.id);
    } else if (!isKnown) {
      this.list = [...this.list, { call, since: Date.now(), progress: null }];
    }
  }

  private async read(): Promise<void> {
    const running = await this.ipc.call("calls.running", {});
    this.list = running.map(({ call, running_ms, progress }) => ({
      call,
      since: Date.now() - running_ms,
      progress,
    }));
  }
}
