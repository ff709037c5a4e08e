/** The app around the windows, for tests. */

import { vi } from "vitest";
import type { DesktopShell } from "../ipc";
import { advanceTime } from "./app";

/** The app around the windows, on a desktop without a tray. */
export class FakeDesktop implements DesktopShell {
  minimize = vi.fn(() => Promise.resolve());
  quit = vi.fn(() => Promise.resolve());
  showsApprovals = vi.fn<(shown: boolean) => Promise<void>>(() => Promise.resolve());
  fitPopup = vi.fn<(height: number) => Promise<void>>(() => Promise.resolve());
  private ask: ((endsHub: boolean) => void) | null = null;

  onCloseRequested(ask: (endsHub: boolean) => void): () => void {
    this.ask = ask;
    return () => (this.ask = null);
  }

  async close(endsHub = true): Promise<void> {
    this.ask?.(endsHub);
    await advanceTime(1);
  }
}
