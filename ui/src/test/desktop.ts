/** The desktop app on a desktop without a tray. The calls of its methods are recorded. */

import { vi } from "vitest";
import type { ReopenHint } from "../ipc";
import { FakeDesktop } from "../ipc/fake/desktop";
import { advanceTime } from "./app";

export class DesktopWithoutTray extends FakeDesktop {
  override close = vi.fn(() => Promise.resolve());
  override quit = vi.fn(() => Promise.resolve());
  override reopenHint = vi.fn(() => Promise.resolve<ReopenHint | null>({ shortcut: "Ctrl+Alt+D" }));
  override confirmReopenHint = vi.fn(() => Promise.resolve());
  override showsApprovals = vi.fn<(shown: boolean) => Promise<void>>(() => Promise.resolve());
  override fitPopup = vi.fn<(height: number) => Promise<void>>(() => Promise.resolve());

  async requestClose(endsHub = true): Promise<void> {
    this.askToClose(endsHub);
    await advanceTime(1);
  }
}
