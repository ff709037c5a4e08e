import { screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();
afterEach(() => localStorage.clear());

const options = () =>
  screen.queryAllByTestId("palette-option").map((option) => option.textContent.trim());

async function openPalette(): Promise<HTMLInputElement> {
  await user.keyboard("{Control>}k{/Control}");
  await advanceTime(1);
  return screen.getByTestId<HTMLInputElement>("palette-query");
}

describe("the command palette", () => {
  it("opens a page with the keyboard only", async () => {
    await open("#/approvals");
    const query = await openPalette();
    expect(document.activeElement).toBe(query);
    await user.keyboard("settings");
    const active = document.getElementById(query.getAttribute("aria-activedescendant") ?? "");
    expect(active?.textContent).toContain("Settings");
    await user.keyboard("{Enter}");
    await advanceTime(1);
    expect(location.hash).toBe("#/settings");
    expect(screen.queryByTestId("palette")).toBeNull();
  });

  it("opens a server at one of its tools, found by some of the tool's letters", async () => {
    const hub = await open("#/approvals");
    const tool = (await hub.call("servers.list", {})).servers
      .flatMap(({ tools }) => tools)
      .find(({ name }) => name === "create_issue");
    expect(tool).toBeDefined();
    await openPalette();
    await user.keyboard("crtissue");
    const option = screen
      .getAllByTestId("palette-option")
      .find(({ textContent }) => textContent.includes("create_issue"));
    await user.click(option as HTMLElement);
    await advanceTime(1);
    expect(location.hash).toBe(`#/servers/${tool?.server}/tools/create_issue`);
  });

  it("opens a section of the settings, whose heading gets the focus", async () => {
    await open("#/approvals");
    await openPalette();
    await user.keyboard("backup{Enter}");
    await advanceTime(1);
    expect(location.hash).toBe("#/settings/backups");
    expect(document.activeElement?.id).toBe("settings-backups-title");
  });

  it("opens the form of a new rule", async () => {
    await open("#/approvals");
    await openPalette();
    await user.keyboard("add rule{Enter}");
    await advanceTime(1);
    expect(screen.getByTestId("rule-dialog")).toBeTruthy();
  });

  it("pauses all calls for 15 minutes", async () => {
    const hub = await open("#/approvals");
    await openPalette();
    await user.keyboard("15 min{Enter}");
    await advanceTime(1);
    expect(listParams(hub, "drawbridge.pause")).toEqual([{ for_s: 900 }]);
  });

  it("pauses all calls, and shows why the pause failed", async () => {
    const hub = await open("#/approvals");
    hub.failures.set("drawbridge.pause", new IpcError("internal", "The store cannot be written."));
    await openPalette();
    await user.keyboard("pause{Enter}");
    await advanceTime(1);
    expect(screen.getByTestId("palette").textContent).toContain("The store cannot be written.");
    hub.failures.clear();
    await user.keyboard("{Enter}");
    await advanceTime(1);
    expect(listParams(hub, "drawbridge.pause")).toHaveLength(2);
    expect(hub.paused).toBe(true);
  });

  it("runs an action once if Enter is pressed twice", async () => {
    const hub = await open("#/approvals");
    hub.delay = 1000;
    await openPalette();
    await user.keyboard("pause{Enter}{Enter}");
    await advanceTime(1000);
    expect(listParams(hub, "drawbridge.pause")).toHaveLength(1);
    expect(screen.queryByTestId("palette")).toBeNull();
  });

  it("moves through the options with the arrow keys, around the ends", async () => {
    await open("#/approvals");
    const query = await openPalette();
    const active = () =>
      document.getElementById(query.getAttribute("aria-activedescendant") ?? "")?.textContent;
    const first = active();
    await user.keyboard("{ArrowDown}");
    expect(active()).not.toBe(first);
    await user.keyboard("{ArrowUp}");
    expect(active()).toBe(first);
    await user.keyboard("{ArrowUp}");
    expect(active()?.trim()).toBe(options().at(-1));
  });

  it("finds calls in the hub's records, also by text that is not shown", async () => {
    const hub = await open("#/approvals", (fake) => {
      for (const [index, call] of fake.calls.entries())
        call.reason = index === 3 ? "the zebra rule" : "";
    });
    await openPalette();
    await user.keyboard("zebra");
    expect(screen.getByTestId("palette").textContent).toContain("Searching calls…");
    await advanceTime(250);
    expect(listParams(hub, "calls.list").at(-1)).toMatchObject({ text: "zebra", limit: 8 });
    expect(options()).toHaveLength(1);
    expect(options()[0]).toContain(hub.calls[3]?.tool);
    await user.keyboard("{Enter}");
    await advanceTime(1);
    expect(location.hash).toBe(`#/calls/${hub.calls[3]?.id}`);
  });

  it("says why calls cannot be searched", async () => {
    const hub = await open("#/approvals");
    await openPalette();
    hub.failures.set("calls.list", new IpcError("internal", "The records cannot be read."));
    await user.keyboard("create");
    await advanceTime(250);
    expect(screen.getByRole("alert").textContent).toBe("The records cannot be read.");
    expect(options().length).toBeGreaterThan(0);
  });

  it("lists recently used options first, and each once", async () => {
    await open("#/approvals");
    for (const words of ["audit", "light theme"]) {
      await openPalette();
      await user.keyboard(`${words}{Enter}`);
      await advanceTime(1);
    }
    await openPalette();
    expect(screen.getAllByRole("group")[0]?.getAttribute("aria-label")).toBe("Recent");
    expect(options().slice(0, 2)).toEqual(["Use the light theme", "Audit"]);
    expect(options().filter((option) => option === "Audit")).toHaveLength(1);
    await user.keyboard("audit");
    expect(screen.queryByRole("group", { name: "Recent" })).toBeNull();
  });

  it("connects a client of this computer", async () => {
    const hub = await open("#/approvals");
    const { kinds } = await hub.call("config.list", { project: null, environment: {} });
    const kind = kinds.find(
      ({ is_installed, files }) =>
        is_installed && files.length && !files.some(({ entry, managed }) => entry ?? managed),
    );
    await openPalette();
    await user.keyboard(`connect ${kind?.name}{Enter}`);
    await advanceTime(5);
    expect(location.hash).toBe(`#/clients/+connect/${kind?.id}`);
    expect(screen.getByTestId("connect-dialog").textContent).toContain(kind?.name);
    await user.click(screen.getByRole("button", { name: "Close" }));
    await advanceTime(5);
    expect(location.hash).toBe("#/clients");
    expect(screen.queryByTestId("connect-dialog")).toBeNull();
  });

  it("does not open above another dialog", async () => {
    await open("#/servers/+add");
    await user.keyboard("{Control>}k{/Control}");
    await advanceTime(1);
    expect(screen.queryByTestId("palette")).toBeNull();
  });

  it("says that nothing matches", async () => {
    await open("#/approvals");
    await openPalette();
    await user.keyboard("qqqzzzxxx");
    await advanceTime(250);
    expect(options()).toEqual([]);
    expect(screen.getByTestId("palette").textContent).toContain("Nothing matches.");
  });
});

describe("a page", () => {
  it("is named in the title of the window, and gets the focus after a navigation", async () => {
    await open("#/servers");
    expect(document.title).toContain("Servers – Drawbridge");
    location.hash = "#/policy";
    await advanceTime(5);
    expect(document.title).toContain("Policy – Drawbridge");
    expect(document.activeElement?.id).toBe("page-title");
  });
});
