/** The app around the windows, for tests. */

import { vi } from "vitest";
import type { DesktopShell, WayBack } from "../ipc";
import { advanceTime } from "./app";

/** The app around the windows, on a desktop without a tray. */
export class FakeDesktop implements DesktopShell {
  close = vi.fn(() => Promise.resolve());
  quit = vi.fn(() => Promise.resolve());
  wayBack = vi.fn(() => Promise.resolve<WayBack | null>({ shortcut: "Ctrl+Alt+D" }));
  confirmWayBack = vi.fn(() => Promise.resolve());
  showsApprovals = vi.fn<(shown: boolean) => Promise<void>>(() => Promise.resolve());
  fitPopup = vi.fn<(height: number) => Promise<void>>(() => Promise.resolve());
  private ask: ((endsHub: boolean) => void) | null = null;

  onCloseRequested(ask: (endsHub: boolean) => void): () => void {
    this.ask = ask;
    return () => (this.ask = null);
  }

  async requestClose(endsHub = true): Promise<void> {
    this.ask?.(endsHub);
    await advanceTime(1);
  }
}
