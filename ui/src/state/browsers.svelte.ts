/** The browsers that are signed in to the web UI. */

import type { BrowserView, Event, Ipc } from "../ipc";
import { Reloader } from "./reloader";

export class Browsers {
  list = $state.raw<BrowserView[] | null>(null);
  private readonly reloader = new Reloader(() => this.read());

  constructor(private readonly ipc: Ipc) {}

  /** The id of this browser, or `null` in the desktop app. */
  get current(): string | null {
    return this.ipc.browser?.id ?? null;
  }

  load(): Promise<void> {
    return this.reloader.run();
  }

  on(event: Event): void {
    if (event.kind === "browsers_changed") void this.load().catch(() => undefined);
  }

  async signOut(id: string): Promise<void> {
    await this.ipc.call("browsers.sign_out", { id });
    await this.load();
  }

  async signOutAll(): Promise<void> {
    await this.ipc.call("browsers.sign_out_all", {});
    await this.load();
  }

  private async read(): Promise<void> {
    this.list = await this.ipc.call("browsers.list", {});
  }
}
