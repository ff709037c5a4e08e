/** The usage of local servers. It is read only while a component watches it. */

import type { Ipc, ServerUsage } from "../ipc";

const INTERVAL_MS = 2000;

export class Usage {
  list = $state.raw<ServerUsage[]>([]);

  constructor(private readonly ipc: Ipc) {}

  of(id: string): ServerUsage | undefined {
    return this.list.find((usage) => usage.id === id);
  }

  /**
   * Reads the usage now and every two seconds, while the window is visible. Returns a function that
   * stops the reads.
   */
  watch(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stopped = false;
    let reading = false;

    const read = async () => {
      clearTimeout(timer);
      if (stopped || reading || document.visibilityState === "hidden") return;
      reading = true;
      // After a failure nothing is shown, and the next read follows as usual.
      const list = await this.ipc.call("servers.usage", {}).catch(() => []);
      reading = false;
      if (stopped) return;
      this.list = list;
      timer = setTimeout(() => void read(), INTERVAL_MS);
    };
    const readNow = () => void read();
    document.addEventListener("visibilitychange", readNow);
    readNow();
    return () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", readNow);
      this.list = [];
    };
  }
}
