import { emit } from "@tauri-apps/api/event";
import { clearMocks, mockIPC } from "@tauri-apps/api/mocks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { tauriIpc } from "./tauri";

afterEach(clearMocks);

describe("the hub in the desktop app", () => {
  it("invokes a verb as a command with its request", async () => {
    const handler = vi.fn<(command: string, args: unknown) => unknown>(() => []);
    mockIPC(handler);
    expect(await tauriIpc(false).call("approvals.list", {})).toEqual([]);
    expect(handler).toHaveBeenCalledWith("approvals_list", { request: {} });
  });

  it("throws the error of the hub", async () => {
    mockIPC(() =>
      Promise.reject({ code: "conflict", message: "Decided already." } as unknown as Error),
    );
    await expect(tauriIpc(false).call("approvals.list", {})).rejects.toMatchObject({
      code: "conflict",
      message: "Decided already.",
    });
  });

  it.each([
    { window: "main window", isPopup: false, own: "hub-main", other: "hub-popup" },
    { window: "popup", isPopup: true, own: "hub-popup", other: "hub-main" },
  ])("reports the events for the $window, and the connection", async ({ isPopup, own, other }) => {
    mockIPC(() => undefined, { shouldMockEvents: true });
    const events = vi.fn();
    const connected = vi.fn();
    tauriIpc(isPopup).subscribe(events, connected);
    await vi.waitFor(() => {
      expect(connected).toHaveBeenCalledWith(true);
    });
    await emit(other, { kind: "policy_changed" });
    await emit(own, { kind: "settings_changed" });
    expect(events.mock.calls).toEqual([[{ kind: "settings_changed" }]]);
  });

  it("asks before the window closes, and runs the commands of the app", async () => {
    const handler = vi.fn<(command: string, args: unknown) => unknown>();
    mockIPC(handler, { shouldMockEvents: true });
    const ask = vi.fn();
    const { desktop } = tauriIpc(false);
    desktop?.onCloseRequested(ask);
    await vi.waitFor(async () => {
      await emit("close-requested", true);
      expect(ask).toHaveBeenCalledWith(true);
    });
    expect(handler).toHaveBeenCalledWith("close_asked", {});
    await desktop?.close();
    expect(handler).toHaveBeenCalledWith("window_close", {});
    await desktop?.quit();
    expect(handler).toHaveBeenCalledWith("app_quit", {});
    await desktop?.showsApprovals(true);
    expect(handler).toHaveBeenCalledWith("approvals_shown", { shown: true });
    await desktop?.fitPopup(321);
    expect(handler).toHaveBeenCalledWith("popup_measured", { height: 321 });
    await desktop?.changeOptions({ autostart: true });
    expect(handler).toHaveBeenCalledWith("options_change", { request: { autostart: true } });
  });

  it("reads how to reopen the app, and confirms that the person has read it", async () => {
    const handler = vi.fn<(command: string, args: unknown) => unknown>(() => ({ shortcut: null }));
    mockIPC(handler);
    const { desktop } = tauriIpc(false);
    expect(await desktop?.reopenHint()).toEqual({ shortcut: null });
    expect(handler).toHaveBeenCalledWith("reopen_hint", {});
    await desktop?.confirmReopenHint();
    expect(handler).toHaveBeenCalledWith("reopen_hint_read", {});
  });
});
