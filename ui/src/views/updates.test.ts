import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import type { UpdatesDisabled } from "../ipc";
import { FakeDesktop } from "../ipc/fake/desktop";
import { advanceTime, open, user, withFakeTime } from "../test/app";

withFakeTime();

async function openSettings(desktop: FakeDesktop): Promise<void> {
  await open("#/settings", (hub) => (hub.desktop = desktop));
  await advanceTime(1);
}

async function click(testid: string): Promise<void> {
  await user.click(screen.getByTestId(testid));
  await advanceTime(1);
}

describe("updates of the app", () => {
  it("are checked, installed and started, each on its own click", async () => {
    const desktop = new FakeDesktop();
    await openSettings(desktop);
    expect(screen.getByTestId("updates").textContent).toContain("This is version 0.1.0.");
    expect(screen.queryByTestId("updates-install")).toBeNull();
    await click("updates-check");
    expect(screen.getByTestId("updates-available").textContent).toBe("Version 0.2.0 is available.");
    expect(screen.getByTestId("updates-notes").textContent).toContain("failed servers");
    expect(desktop.updates.view.installed).toBeNull();
    await click("updates-install");
    expect(screen.getByTestId("updates-installed").textContent).toContain(
      "Version 0.2.0 is installed.",
    );
    expect(desktop.updates.restarts).toBe(0);
    await click("updates-check");
    expect(screen.getByTestId("updates-none").textContent).toBe("No newer version was found.");
    await click("updates-restart");
    expect(desktop.updates.restarts).toBe(1);
  });

  it("are checked at once when the person turns the automatic check on", async () => {
    const desktop = new FakeDesktop();
    await openSettings(desktop);
    await click("updates-automatic");
    expect(desktop.updates.view.automatic).toBe(true);
    expect(screen.getByTestId("updates-available")).toBeTruthy();
    await click("updates-automatic");
    expect(desktop.updates.view.automatic).toBe(false);
  });

  it("say why they failed, and change nothing", async () => {
    const desktop = new FakeDesktop();
    await openSettings(desktop);
    desktop.updates.error = "The release is not installed: its publisher did not sign this file";
    await click("updates-check");
    expect(screen.getByTestId("updates-error").textContent).toContain("did not sign");
    expect(screen.queryByTestId("updates-none")).toBeNull();
    await click("updates-automatic");
    expect(screen.getByTestId<HTMLInputElement>("updates-automatic").checked).toBe(false);
  });

  it.each<[UpdatesDisabled, string]>([
    ["package_manager", "A package manager installed and updates this copy of Drawbridge."],
    ["not_configured", "does not say where its updates come from"],
    ["not_app_image", "Only the AppImage updates itself."],
  ])("are disabled with a reason: %s", async (disabled, reason) => {
    const desktop = new FakeDesktop();
    desktop.updates.view = { ...desktop.updates.view, disabled };
    await openSettings(desktop);
    expect(screen.getByTestId("updates-disabled").textContent).toContain(reason);
    for (const part of ["updates-check", "updates-automatic"]) {
      expect(screen.queryByTestId(part)).toBeNull();
    }
  });

  it("are not offered in a browser", async () => {
    await open("#/settings");
    await advanceTime(1);
    expect(screen.queryByTestId("updates")).toBeNull();
    expect(screen.queryByRole("button", { name: "Updates" })).toBeNull();
  });
});
