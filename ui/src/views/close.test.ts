import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { open, advanceTime, user, withFakeTime } from "../test/app";
import { FakeDesktop } from "../test/desktop";

withFakeTime();

async function openOnDesktop(): Promise<FakeDesktop> {
  const desktop = new FakeDesktop();
  await open("#/calls", (hub) => (hub.desktop = desktop));
  return desktop;
}

describe("closing the window without a tray", () => {
  it("asks first, and minimizes the window", async () => {
    const desktop = await openOnDesktop();
    expect(screen.queryByTestId("close-dialog")).toBeNull();
    await desktop.close();
    const text = screen.getByTestId("close-dialog").textContent;
    expect(text).toContain("Close the window?");
    expect(text).toContain("Your desktop shows no tray icons");
    expect(text).toContain("clients can no longer use your servers");
    await user.click(screen.getByTestId("close-minimize"));
    await advanceTime(1);
    expect(desktop.minimize).toHaveBeenCalledOnce();
    expect(desktop.quit).not.toHaveBeenCalled();
    expect(screen.queryByTestId("close-dialog")).toBeNull();
  });

  it("quits, or does nothing", async () => {
    const desktop = await openOnDesktop();
    await desktop.close();
    await user.click(screen.getByTestId("close-cancel"));
    await advanceTime(1);
    expect(screen.queryByTestId("close-dialog")).toBeNull();
    expect(desktop.quit).not.toHaveBeenCalled();
    await desktop.close();
    await user.click(screen.getByTestId("close-quit"));
    await advanceTime(1);
    expect(desktop.quit).toHaveBeenCalledOnce();
    expect(desktop.minimize).not.toHaveBeenCalled();
  });

  it("does not threaten with the end of a hub that keeps running", async () => {
    const desktop = await openOnDesktop();
    await desktop.close(false);
    const text = screen.getByTestId("close-dialog").textContent;
    expect(text).toContain("this computer no longer shows the calls");
    expect(text).not.toContain("clients can no longer use your servers");
  });

  it("shows why the window could not be minimized", async () => {
    const desktop = await openOnDesktop();
    desktop.minimize.mockRejectedValue(new IpcError("internal", "The desktop refused."));
    await desktop.close();
    await user.click(screen.getByTestId("close-minimize"));
    await advanceTime(1);
    expect(screen.getByTestId("dialog-error").textContent).toContain("The desktop refused.");
  });
});
