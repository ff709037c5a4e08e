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

  it("is normal if the saved size is unknown", async () => {
    localStorage.setItem("drawbridge-text-size", "huge");
    await open("#/settings");
    expect(screen.getByTestId<HTMLSelectElement>("setting-text-size").value).toBe("normal");
  });
});

describe("the switch for forms", () => {
  it("says why it could not be changed, and shows the stored state", async () => {
    const hub = await open("#/settings");
    const before = hub.settings.elicitation_forms;
    hub.failures.set("settings.change", new IpcError("internal", "The store cannot be written."));
    await user.click(screen.getByTestId("setting-forms"));
    await advanceTime(1);
    expect(screen.getByTestId("setting-forms-error").textContent).toContain("cannot be written");
    expect(screen.getByTestId<HTMLInputElement>("setting-forms").checked).toBe(before);
  });
});

describe("the switch of a sampling provider", () => {
  it("says why it could not be changed, and shows the stored state", async () => {
    const hub = await open("#/settings");
    await advanceTime(1);
    const box = () => screen.getByTestId<HTMLInputElement>("sampling-tools");
    const before = box().checked;
    hub.failures.set("sampling.change", new IpcError("internal", "The store cannot be written."));
    await user.click(box());
    await advanceTime(1);
    expect(screen.getByTestId("sampling-tools-error").textContent).toContain("cannot be written");
    expect(box().checked).toBe(before);
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

  it("records other keys, and shows why keys were refused until others are accepted", async () => {
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
    expect(desktop.options.notifications).toEqual({
      approvals: true,
      missed: false,
      failed_servers: true,
      changed_definitions: true,
    });
  });

  it("turns off two kinds, the second before the app has answered about the first", async () => {
    const desktop = await openInApp();
    const changeOptions = desktop.changeOptions.bind(desktop);
    desktop.changeOptions = async (change) => {
      await new Promise((answer) => setTimeout(answer, 50));
      return changeOptions(change);
    };
    for (const kind of ["missed", "approvals"])
      await user.click(screen.getByTestId(`setting-notify-${kind}`));
    await advanceTime(200);
    expect(desktop.options.notifications).toEqual({
      approvals: false,
      missed: false,
      failed_servers: true,
      changed_definitions: true,
    });
    for (const kind of ["missed", "approvals"])
      expect(screen.getByTestId<HTMLInputElement>(`setting-notify-${kind}`).checked).toBe(false);
  });

  it("shows the options disabled in a browser, and says where they can be changed", async () => {
    await open("#/settings");
    expect(screen.getByTestId("app-options-none").textContent).toContain("Drawbridge app");
    for (const testid of ["setting-autostart", "setting-notify-changed_definitions"])
      expect(screen.getByTestId<HTMLInputElement>(testid).disabled).toBe(true);
    expect(screen.getByTestId("shortcut-record").getAttribute("aria-disabled")).toBe("true");
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

  it("shows the stored limit after a failed choice", async () => {
    const hub = await open("#/settings");
    hub.failures.set("settings.change", new IpcError("internal", "The store cannot be written."));
    const kind = () => screen.getByTestId<HTMLSelectElement>("setting-retention-kind");
    await user.selectOptions(kind(), "unlimited");
    await advanceTime(1);
    expect(kind().value).toBe("limited");
    expect(screen.getByText("The store cannot be written.")).toBeTruthy();
  });

  it("keeps an error at its field until the next change", async () => {
    const hub = await open("#/settings");
    const field = screen.getByTestId<HTMLInputElement>("setting-retention");
    await user.clear(field);
    await user.type(field, "1.5");
    await user.tab();
    await user.click(screen.getByTestId("theme-dark"));
    await advanceTime(5000);
    expect(screen.getByText(/whole number from 1 to 3,650/)).toBeTruthy();
    expect(hub.settings.audit_retention_days).toBe(90);
    await user.clear(field);
    await user.type(field, "30");
    await user.tab();
    await advanceTime(1);
    expect(screen.queryByText(/whole number from 1 to 3,650/)).toBeNull();
    expect(hub.settings.audit_retention_days).toBe(30);
  });
});

describe("the search", () => {
  const titles = () =>
    screen
      .getAllByRole("heading", { level: 2 })
      .map(({ textContent }) => textContent)
      .filter((title) => !title.includes("No setting"));

  it("shows the settings with all words, and their sections only", async () => {
    await open("#/settings");
    const all = titles().length;
    await user.type(screen.getByTestId("settings-search"), "denied timeout");
    expect(titles()).toEqual(["Approvals"]);
    expect(screen.getByTestId("setting-timeout")).toBeTruthy();
    expect(screen.queryByTestId("setting-forms")).toBeNull();
    await user.clear(screen.getByTestId("settings-search"));
    expect(titles()).toHaveLength(all);
  });

  it("finds panels and options of the app, and can be cleared", async () => {
    await open("#/settings");
    const field = screen.getByTestId<HTMLInputElement>("settings-search");
    await user.type(field, "replaced");
    expect(titles()).toEqual(["Backup and reset"]);
    await user.clear(field);
    await user.type(field, "log in");
    expect(screen.getByTestId("setting-autostart")).toBeTruthy();
    await user.clear(field);
    await user.type(field, "zzz");
    expect(screen.getByTestId("settings-search-none").textContent).toContain("zzz");
    await user.click(screen.getByTestId("settings-search-clear"));
    expect(field.value).toBe("");
    expect(screen.getByTestId("setting-timeout")).toBeTruthy();
  });
});

describe("the command", () => {
  it("is shown with its path, and whether the PATH has it", async () => {
    await open("#/settings", (hub) => (hub.settings = { ...hub.settings, command_in_path: false }));
    const command = screen.getByTestId("setting-command");
    expect(command.textContent).toContain("/usr/bin/drawbridge");
    expect(command.textContent).toContain("Not in the PATH");
  });

  it("says if it is missing", async () => {
    await open("#/settings", (hub) => (hub.settings = { ...hub.settings, command: null }));
    expect(screen.getByTestId("setting-command").textContent).toContain("same package");
  });
});
