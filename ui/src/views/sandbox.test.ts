import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { listParams, open, advanceTime, user, withFakeTime } from "../test/app";

withFakeTime();

describe("the sandbox of a server", () => {
  it("is shown with the permissions of the server, and with a badge", async () => {
    await open("#/servers/filesystem/details");
    expect(screen.getByTestId("server-sandboxed").getAttribute("title")).toContain("Landlock 7");
    expect(screen.getByTestId("server-sandbox-facts").textContent).toContain(
      "its own folder; reads and writes /home/ada/Projects; the whole network",
    );
  });

  it("is shown as none, without a badge, if the server has none", async () => {
    await open("#/servers/filesystem/details", (hub) => {
      const server = hub.servers.find((server) => server.id === "filesystem");
      if (server) delete server.spec.sandbox;
    });
    expect(screen.queryByTestId("server-sandboxed")).toBeNull();
    expect(screen.getByTestId("server-sandbox-facts").textContent).toContain("none");
  });

  it("is saved as a preset, which needs the folder of the project", async () => {
    const hub = await open("#/servers/filesystem/details");
    await user.click(screen.getByTestId("server-edit"));
    await user.click(screen.getByTestId("advanced"));
    await user.selectOptions(screen.getByTestId("server-sandbox"), "readProject");
    await user.click(screen.getByTestId("server-save"));
    const folders = screen.getByTestId("server-sandbox-read");
    expect(folders.getAttribute("aria-invalid")).toBe("true");
    expect(listParams(hub, "servers.update")).toEqual([]);
    await user.type(folders, "~/project");
    await user.click(screen.getByTestId("server-save"));
    await advanceTime(1);
    expect(listParams(hub, "servers.update")).toMatchObject([
      { spec: { sandbox: { files: "listed", read: ["~/project"], network: "all" } } },
    ]);
  });
});
