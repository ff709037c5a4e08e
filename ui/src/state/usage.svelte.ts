/** What the processes of local servers use now. It is asked only while somebody looks. */

import type { Ipc, ServerUsage } from "../ipc";

const EVERY_MS = 2000;

export class Usage {
  list = $state.raw<ServerUsage[]>([]);

  constructor(private readonly ipc: Ipc) {}

  of(id: string): ServerUsage | undefined {
    return this.list.find((usage) => usage.id === id);
  }

  /** Asks at once and every two seconds, while the window is on screen. Returns how to stop. */
  watch(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let stopped = false;
    let asking = false;

    const measure = async () => {
      clearTimeout(timer);
      if (stopped || asking || document.visibilityState === "hidden") return;
      asking = true;
      // A look that failed shows nothing, and is no reason not to look again.
      const list = await this.ipc.call("servers.measure", {}).catch(() => []);
      asking = false;
      if (stopped) return;
      this.list = list;
      timer = setTimeout(() => void measure(), EVERY_MS);
    };
    const look = () => void measure();
    document.addEventListener("visibilitychange", look);
    look();
    return () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
      this.list = [];
    };
  }
}
