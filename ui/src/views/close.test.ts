import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { open, advanceTime, user, withFakeTime } from "../test/app";
import { DesktopWithoutTray } from "../test/desktop";

withFakeTime();

async function openOnDesktop(): Promise<DesktopWithoutTray> {
  const desktop = new DesktopWithoutTray();
  await open("#/calls", (hub) => (hub.desktop = desktop));
  return desktop;
}

describe("closing the window without a tray", () => {
  it("asks first, and closes the window", async () => {
    const desktop = await openOnDesktop();
    expect(screen.queryByTestId("close-dialog")).toBeNull();
    await desktop.requestClose();
    const text = screen.getByTestId("close-dialog").textContent;
    expect(text).toContain("Close the window?");
    expect(text).toContain("Your desktop shows no tray icons");
    expect(text).toContain("Ctrl+Alt+D shows the pending calls.");
    expect(text).toContain("clients can no longer use your servers");
    await user.click(screen.getByTestId("close-keep-running"));
    await advanceTime(1);
    expect(desktop.close).toHaveBeenCalledOnce();
    expect(desktop.quit).not.toHaveBeenCalled();
    expect(screen.queryByTestId("close-dialog")).toBeNull();
  });

  it("quits, or does nothing", async () => {
    const desktop = await openOnDesktop();
    await desktop.requestClose();
    await user.click(screen.getByTestId("close-cancel"));
    await advanceTime(1);
    expect(screen.queryByTestId("close-dialog")).toBeNull();
    expect(desktop.quit).not.toHaveBeenCalled();
    await desktop.requestClose();
    await user.click(screen.getByTestId("close-quit"));
    await advanceTime(1);
    expect(desktop.quit).toHaveBeenCalledOnce();
    expect(desktop.close).not.toHaveBeenCalled();
  });

  it("does not warn about the end of a hub that keeps running", async () => {
    const desktop = await openOnDesktop();
    await desktop.requestClose(false);
    const text = screen.getByTestId("close-dialog").textContent;
    expect(text).toContain("this computer no longer shows the calls");
    expect(text).not.toContain("clients can no longer use your servers");
  });

  it("shows why the window could not be closed", async () => {
    const desktop = await openOnDesktop();
    desktop.close.mockRejectedValue(new IpcError("internal", "The desktop refused."));
    await desktop.requestClose();
    await user.click(screen.getByTestId("close-keep-running"));
    await advanceTime(1);
    expect(screen.getByTestId("dialog-error").textContent).toContain("The desktop refused.");
  });
});

describe("the hint that says how to reopen the app without a tray", () => {
  const normalized = (element: HTMLElement) => element.textContent.replace(/\s+/g, " ");

  it("is shown until the person has read it", async () => {
    const desktop = await openOnDesktop();
    await advanceTime(1);
    expect(normalized(screen.getByTestId("reopen-hint-banner"))).toContain(
      "Your desktop shows no tray icons. Drawbridge also runs without a window. To see its screens, start Drawbridge again, or run drawbridge open in a terminal. Ctrl+Alt+D shows the pending calls.",
    );
    await user.click(screen.getByTestId("reopen-hint-confirm"));
    await advanceTime(1);
    expect(desktop.confirmReopenHint).toHaveBeenCalledOnce();
    expect(screen.queryByTestId("reopen-hint-banner")).toBeNull();
  });

  it("is not shown if there is a tray", async () => {
    const desktop = new DesktopWithoutTray();
    desktop.reopenHint.mockResolvedValue(null);
    await open("#/calls", (hub) => (hub.desktop = desktop));
    await advanceTime(1);
    expect(screen.queryByTestId("reopen-hint-banner")).toBeNull();
  });

  it("does not name the shortcut if the shortcut does not work", async () => {
    const desktop = new DesktopWithoutTray();
    desktop.reopenHint.mockResolvedValue({ shortcut: null });
    await open("#/calls", (hub) => (hub.desktop = desktop));
    await advanceTime(1);
    const text = normalized(screen.getByTestId("reopen-hint-banner"));
    expect(text).toContain("or run drawbridge open in a terminal.");
    expect(text).not.toContain("shows the pending calls");
  });

  it("does not keep a person from quitting the app in the palette", async () => {
    const desktop = await openOnDesktop();
    await user.keyboard("{Control>}k{/Control}");
    await user.type(screen.getByTestId("palette-query"), "quit{Enter}");
    await advanceTime(1);
    expect(desktop.quit).toHaveBeenCalledOnce();
  });
});
