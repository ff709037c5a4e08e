/** The counts of today's calls, which the Overview shows besides the contents of other stores. */

import type { Ipc, OverviewView } from "../ipc";

export class Overview {
  constructor(private readonly ipc: Ipc) {}

  /** Returns the counts of the calls since a moment. */
  showSince(since: number): Promise<OverviewView> {
    return this.ipc.call("overview.show", { since });
  }
}
