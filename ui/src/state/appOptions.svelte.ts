/** The options of the desktop app on this computer. There are none in a browser. */

import type { AppOptions, ChangedOptions, DesktopShell } from "../ipc";

export class AppOptionsStore {
  /** `null` in a browser, and before they are read. */
  current = $state.raw<AppOptions | null>(null);

  constructor(private readonly desktop: DesktopShell | null) {}

  get isApp(): boolean {
    return this.desktop !== null;
  }

  /** Reads the options again, because other programs can change them too. */
  async load(): Promise<void> {
    if (this.desktop) this.current = await this.desktop.showOptions();
  }

  async change(change: Partial<ChangedOptions>): Promise<void> {
    if (this.desktop) this.current = await this.desktop.changeOptions(change);
  }
}
