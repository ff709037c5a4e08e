/** The desktop app, in memory, on a desktop with a tray. */

import {
  IpcError,
  type AppOptions,
  type ChangedOptions,
  type DesktopShell,
  type Updates,
  type UpdatesView,
  type ReopenHint,
} from "..";

export class FakeDesktop implements DesktopShell {
  readonly updates = new FakeUpdates();
  options: AppOptions = {
    autostart: false,
    shortcut: "Ctrl+Alt+D",
    shortcut_status: { kind: "registered" },
    notifications: {
      approvals: true,
      missed: true,
      failed_servers: true,
      changed_definitions: true,
    },
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

  showsApprovals: DesktopShell["showsApprovals"] = () => Promise.resolve();
  fitPopup: DesktopShell["fitPopup"] = () => Promise.resolve();

  reopenHint(): Promise<ReopenHint | null> {
    return Promise.resolve(null);
  }

  confirmReopenHint(): Promise<void> {
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

/** Version 0.2.0 is published, and version 0.1.0 runs. */
export class FakeUpdates implements Updates {
  view: UpdatesView = {
    version: "0.1.0",
    disabled: null,
    automatic: false,
    available: null,
    installed: null,
  };
  /** The error of every check, installation and change of the setting; empty if they succeed. */
  error = "";
  restarts = 0;

  show(): Promise<UpdatesView> {
    return Promise.resolve(this.view);
  }

  check(): Promise<UpdatesView> {
    const available =
      this.view.installed === null
        ? { version: "0.2.0", notes: "- Notifications of failed servers\n- Updates" }
        : null;
    return this.change({ available });
  }

  setAutomatic(automatic: boolean): Promise<UpdatesView> {
    return this.change({ automatic });
  }

  install(): Promise<UpdatesView> {
    return this.change({ available: null, installed: this.view.available?.version ?? null });
  }

  restart(): Promise<void> {
    this.restarts += 1;
    return Promise.resolve();
  }

  private change(change: Partial<UpdatesView>): Promise<UpdatesView> {
    if (this.view.disabled !== null) {
      const message = "this copy of Drawbridge does not update itself";
      return Promise.reject(new IpcError("conflict", message));
    }
    if (this.error) return Promise.reject(new IpcError("unavailable", this.error));
    this.view = { ...this.view, ...change };
    return Promise.resolve(this.view);
  }
}
