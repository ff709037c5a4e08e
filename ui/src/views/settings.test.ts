import { screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { FakeDesktop } from "../ipc/fake/desktop";
import { followTextSize } from "../kit/textSize";
import { advanceTime, open, user, withFakeTime } from "../test/app";

withFakeTime();

afterEach(() => {
  localStorage.clear();
  document.documentElement.style.fontSize = "";
});

describe("the text size", () => {
  it("scales all texts at once, and is kept for the next start", async () => {
    await open("#/settings");
    const select = screen.getByTestId<HTMLSelectElement>("setting-text-size");
    expect(select.value).toBe("normal");
    await user.selectOptions(select, "large");
    expect(document.documentElement.style.fontSize).toBe("115%");
    document.documentElement.style.fontSize = "";
    followTextSize();
    expect(document.documentElement.style.fontSize).toBe("115%");
    await user.selectOptions(select, "normal");
    expect(document.documentElement.style.fontSize).toBe("");
  });

  it("is normal if the saved one is unknown", async () => {
    localStorage.setItem("drawbridge-text-size", "huge");
    await open("#/settings");
    expect(screen.getByTestId<HTMLSelectElement>("setting-text-size").value).toBe("normal");
  });
});

describe("the switch for forms", () => {
  it("says why it could not be changed, and shows what is stored", async () => {
    const hub = await open("#/settings");
    const before = hub.settings.elicitation_forms;
    hub.failures.set("settings.change", new IpcError("internal", "The store cannot be written."));
    await user.click(screen.getByTestId("setting-forms"));
    await advanceTime(1);
    expect(screen.getByTestId("setting-forms-error").textContent).toContain("cannot be written");
    expect(screen.getByTestId<HTMLInputElement>("setting-forms").checked).toBe(before);
  });
});

async function openInApp(): Promise<FakeDesktop> {
  const desktop = new FakeDesktop();
  await open("#/settings", (hub) => (hub.desktop = desktop));
  await advanceTime(1);
  return desktop;
}

describe("the options of the app", () => {
  it("starts Drawbridge at login, and says what failed", async () => {
    const desktop = await openInApp();
    const box = () => screen.getByTestId<HTMLInputElement>("setting-autostart");
    expect(box().checked).toBe(false);
    await user.click(box());
    await advanceTime(1);
    expect(desktop.options.autostart).toBe(true);
    desktop.changeOptions = () => Promise.reject(new IpcError("internal", "The folder is full."));
    await user.click(box());
    await advanceTime(1);
    expect(screen.getByTestId("setting-autostart-error").textContent).toContain("full");
    expect(box().checked).toBe(true);
  });

  it("records other keys, and keeps a refusal until other keys are sent", async () => {
    const desktop = await openInApp();
    const button = () => screen.getByTestId("shortcut-record");
    expect(button().textContent).toContain("Ctrl+Alt+D");
    await user.click(button());
    expect(button().textContent).toContain("Press the keys");
    await user.keyboard("k");
    await advanceTime(1);
    expect(screen.getByTestId("shortcut-problem").textContent).toContain("every program");
    expect(desktop.options.shortcut).toBe("Ctrl+Alt+D");
    await user.click(button());
    await user.keyboard("{Control>}{Shift>}k{/Shift}{/Control}");
    await advanceTime(1);
    expect(screen.queryByTestId("shortcut-problem")).toBeNull();
    expect(desktop.options.shortcut).toBe("Ctrl+Shift+K");
    await user.click(screen.getByTestId("shortcut-off"));
    await advanceTime(1);
    expect(desktop.options.shortcut).toBe("");
    expect(button().textContent).toContain("Off");
  });

  it("turns off one kind of notification", async () => {
    const desktop = await openInApp();
    await user.click(screen.getByTestId("setting-notify-missed"));
    await advanceTime(1);
    expect(desktop.options.notifications).toMatchObject({
      approvals: true,
      missed: false,
      servers: true,
    });
  });

  it("says in a browser where these options are", async () => {
    await open("#/settings");
    expect(screen.getByTestId("app-options-none").textContent).toContain("Drawbridge app");
    expect(screen.queryByTestId("setting-autostart")).toBeNull();
  });
});

describe("a limit", () => {
  it("can be removed, and begins with a suggestion", async () => {
    const hub = await open("#/settings");
    const kind = () => screen.getByTestId<HTMLSelectElement>("setting-retention-kind");
    await user.selectOptions(kind(), "unlimited");
    await advanceTime(1);
    expect(hub.settings.audit_retention_days).toBe(0);
    expect(screen.queryByTestId("setting-retention")).toBeNull();
    await user.selectOptions(kind(), "limited");
    await advanceTime(1);
    expect(hub.settings.audit_retention_days).toBe(90);
    expect(screen.getByTestId<HTMLInputElement>("setting-retention").value).toBe("90");
  });
});
