/** What the Overview shows beyond the other stores: today's calls. */

import type { Ipc, OverviewView } from "../ipc";

export class Overview {
  constructor(private readonly ipc: Ipc) {}

  /** Returns the calls since midnight on this computer. */
  showToday(now: number): Promise<OverviewView> {
    return this.ipc.call("overview.show", { since: new Date(now).setHours(0, 0, 0, 0) });
  }
}
