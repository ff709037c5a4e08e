import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { doclingServer } from "../ipc/fake/data";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

describe("the conversion of documents", () => {
  it("is turned on with one switch", async () => {
    const hub = await open("#/settings", (fake) => fake.servers.push(doclingServer()));
    const toggle = screen.getByRole<HTMLInputElement>("switch", { name: "Convert documents" });
    expect(toggle.checked).toBe(false);
    await user.click(toggle);
    await advanceTime(1);
    expect(listParams(hub, "servers.enable")).toEqual([{ id: "docling-tools", enabled: true }]);
    expect(toggle.checked).toBe(true);
  });

  it("stays off, with the reason, if it cannot be turned on", async () => {
    const hub = await open("#/settings", (fake) => fake.servers.push(doclingServer()));
    hub.failures.set("servers.enable", new IpcError("internal", "The spec cannot be written."));
    const toggle = screen.getByTestId<HTMLInputElement>("docling-enabled");
    await user.click(toggle);
    await advanceTime(1);
    expect(screen.getByTestId("docling").textContent).toContain("The spec cannot be written.");
    expect(toggle.checked).toBe(false);
    hub.failures.clear();
    await user.click(toggle);
    await advanceTime(1);
    expect(toggle.checked).toBe(true);
  });

  it("says what is missing and what to do", async () => {
    await open("#/settings", (fake) => {
      const off = doclingServer();
      fake.servers.push({
        ...off,
        spec: { ...off.spec, enabled: true },
        state: "error",
        reason: "Drawbridge cannot find the command 'uvx'",
        remedy: "Install uv.",
      });
    });
    expect(screen.getByTestId("docling-reason").textContent).toContain("'uvx'");
    expect(screen.getByTestId("docling").textContent).toContain("What to do: Install uv.");
  });
});
