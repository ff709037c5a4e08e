import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const rows = () => screen.queryAllByTestId("folder-row").map((row) => row.textContent ?? "");

describe("the shared folders", () => {
  it("are listed with what is shared, and with the reason if a folder cannot be read", async () => {
    await open("#/settings");
    expect(rows()[0]).toContain("/home/me/notes");
    expect(rows()[0]).toContain("without hidden files and likely secrets");
    expect(rows()[1]).toContain("all files");
    expect(rows()[1]).toContain("No such file or directory");
  });

  it("are added with the keyboard, and removed", async () => {
    const hub = await open("#/settings", (fake) => fake.folders.clear());
    expect(screen.getByTestId("folders-empty").textContent).toContain("No folder is shared.");
    await user.type(
      screen.getByRole("textbox", { name: "Folder to share" }),
      "/home/me/docs{Enter}",
    );
    await advanceTime(1);
    expect(listParams(hub, "folders.add")).toEqual([{ path: "/home/me/docs", all_files: false }]);
    expect(rows()).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: "Stop sharing /home/me/docs" }));
    await advanceTime(1);
    expect(listParams(hub, "folders.remove")).toEqual([{ path: "/home/me/docs" }]);
    expect(rows()).toEqual([]);
  });

  it("show why a folder cannot be shared, and keep what was entered", async () => {
    await open("#/settings");
    await user.click(screen.getByTestId("folder-all-files"));
    await user.type(screen.getByTestId("folder-path"), "notes");
    await user.click(screen.getByTestId("folder-add"));
    await advanceTime(1);
    const section = within(screen.getByTestId("folders"));
    expect(section.getByText(/is not absolute/)).toBeTruthy();
    expect(screen.getByTestId<HTMLInputElement>("folder-path").value).toBe("notes");
  });

  it("are turned off by one switch", async () => {
    const hub = await open("#/settings");
    await user.click(screen.getByTestId("folders-enabled"));
    await advanceTime(1);
    expect(listParams(hub, "servers.enable")).toEqual([{ id: "folders", enabled: false }]);
    expect(screen.getByTestId<HTMLInputElement>("folders-enabled").checked).toBe(false);
  });

  it("stay on, with the reason, if they cannot be turned off", async () => {
    const hub = await open("#/settings");
    hub.failures.set("servers.enable", new IpcError("internal", "The spec cannot be written."));
    await user.click(screen.getByTestId("folders-enabled"));
    await advanceTime(1);
    expect(screen.getByTestId("folders").textContent).toContain("The spec cannot be written.");
    expect(screen.getByTestId<HTMLInputElement>("folders-enabled").checked).toBe(true);
  });
});
