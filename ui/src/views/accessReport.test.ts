import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

describe("the access report of a server", () => {
  it("is shown with the refusals of the sandbox, and with a proposed sandbox", async () => {
    await open("#/servers/filesystem/details");
    await advanceTime(1);
    expect(screen.getByTestId("access-report-state").textContent).toContain("in its sandbox");
    expect(screen.getByTestId("access-refused-panel").textContent).toContain(".ssh/id_ed25519");
    await user.click(screen.getByTestId("access-written"));
    expect(screen.getByTestId("access-written-panel").textContent).toContain("/Projects");
    expect(screen.getByTestId("sandbox-proposal").textContent).toContain("no network");
    expect(screen.getByTestId("sandbox-proposal-excluded").textContent).toContain("/home/ada");
  });

  it("proposes a sandbox that the server uses once a person accepts it", async () => {
    const hub = await open("#/servers/filesystem/details");
    await advanceTime(1);
    await user.click(screen.getByTestId("use-sandbox"));
    await advanceTime(1);
    expect(listParams(hub, "servers.update")).toMatchObject([
      { id: "filesystem", pending: true, spec: { sandbox: { files: "listed", network: "none" } } },
    ]);
  });

  it("is recorded again on request", async () => {
    const hub = await open("#/servers/filesystem/details");
    await advanceTime(1);
    await user.click(screen.getByTestId("server-record"));
    await advanceTime(1);
    expect(listParams(hub, "servers.record")).toEqual([{ id: "filesystem" }]);
    expect(screen.getByTestId("access-report-state").textContent).toContain("still in progress");
  });

  it("has no section for a remote server", async () => {
    await open("#/servers/filesystem/details", (hub) => {
      const server = hub.servers.find((server) => server.id === "filesystem");
      if (server) {
        server.spec = { name: "filesystem", url: "https://example.com/mcp" };
      }
    });
    await advanceTime(1);
    expect(screen.queryByTestId("access-report-state")).toBeNull();
  });
});
