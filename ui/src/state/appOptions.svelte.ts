/** The options of the desktop app on this computer. There are none in a browser. */

import type { AppOptions, ChangedOptions, DesktopShell, NotificationOptions } from "../ipc";

export class AppOptionsStore {
  /** `null` in a browser, and before the options are read. */
  current = $state.raw<AppOptions | null>(null);
  /** Ends after the latest change, even if it fails. */
  private latestChange: Promise<void> = Promise.resolve();

  constructor(private readonly desktop: DesktopShell | null) {}

  get isApp(): boolean {
    return this.desktop !== null;
  }

  /** Reads the options again, because other programs can change them too. */
  async load(): Promise<void> {
    if (this.desktop) this.current = await this.desktop.showOptions();
  }

  change(change: Partial<ChangedOptions>): Promise<void> {
    return this.runAfterEarlierChanges(() => change);
  }

  /** Turns the notifications of one kind on or off. */
  setNotification(kind: keyof NotificationOptions, on: boolean): Promise<void> {
    // The app stores the choices for all kinds together, so the others must be up to date.
    return this.runAfterEarlierChanges(() =>
      this.current ? { notifications: { ...this.current.notifications, [kind]: on } } : {},
    );
  }

  private runAfterEarlierChanges(toChange: () => Partial<ChangedOptions>): Promise<void> {
    const change = this.latestChange.then(async () => {
      if (this.desktop) this.current = await this.desktop.changeOptions(toChange());
    });
    this.latestChange = change.catch(() => undefined);
    return change;
  }
}
