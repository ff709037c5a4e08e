/** The desktop app around the windows, in memory, on a desktop with a tray. */

import {
  IpcError,
  type AppOptions,
  type ChangedOptions,
  type DesktopShell,
  type WayBack,
} from "..";

export class FakeDesktop implements DesktopShell {
  options: AppOptions = {
    autostart: false,
    shortcut: "Ctrl+Alt+D",
    shortcut_status: { kind: "registered" },
    notifications: { approvals: true, missed: true, servers: true, definitions: true },
  };
  private ask: ((endsHub: boolean) => void) | null = null;

  onCloseRequested(ask: (endsHub: boolean) => void): () => void {
    this.ask = ask;
    return () => (this.ask = null);
  }

  /** Makes the window ask whether to close, as if a person had closed it. */
  askToClose(endsHub = true): void {
    this.ask?.(endsHub);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  quit(): Promise<void> {
    return Promise.resolve();
  }

  showsApprovals(_shown: boolean): Promise<void> {
    return Promise.resolve();
  }

  fitPopup(_height: number): Promise<void> {
    return Promise.resolve();
  }

  wayBack(): Promise<WayBack | null> {
    return Promise.resolve(null);
  }

  confirmWayBack(): Promise<void> {
    return Promise.resolve();
  }

  showOptions(): Promise<AppOptions> {
    return Promise.resolve(this.options);
  }

  changeOptions(change: Partial<ChangedOptions>): Promise<AppOptions> {
    const keys = change.shortcut;
    if (keys && !/(Ctrl|Alt|Super)\+/.test(keys))
      return Promise.reject(
        new IpcError(
          "invalid",
          `'${keys}' would take a key from every program; add Ctrl, Alt or the system key`,
        ),
      );
    this.options = {
      ...this.options,
      ...change,
      shortcut_status: { kind: (keys ?? this.options.shortcut) ? "registered" : "off" },
    };
    return Promise.resolve(this.options);
  }
}
