import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

describe("the doctor on the Settings screen", () => {
  it("shows problems first, each with its remedy", async () => {
    await open("#/settings");
    await user.click(screen.getByTestId("doctor-run"));
    await advanceTime(1);
    expect(screen.getByTestId("doctor-summary").textContent).toBe("9 OK, 1 warning, 1 failure.");
    const checks = screen.getAllByTestId("doctor-check");
    expect(checks[0]?.dataset.status).toBe("failure");
    expect(checks[0]?.textContent).toContain("Runtimes");
    expect(checks[0]?.textContent).toContain("Install uv");
    expect(checks[1]?.dataset.status).toBe("warning");
  });

  it("says why the checks could not run", async () => {
    const hub = await open("#/settings");
    hub.failures.set("doctor.run", new IpcError("unavailable", "The hub has stopped."));
    await user.click(screen.getByTestId("doctor-run"));
    await advanceTime(1);
    expect(screen.getByTestId("doctor").textContent).toContain("The hub has stopped.");
  });

  it("lists the files of the diagnostics before they are saved", async () => {
    await open("#/settings");
    await user.click(screen.getByTestId("doctor-bundle"));
    await advanceTime(1);
    const dialog = within(screen.getByTestId("bundle-dialog"));
    const files = dialog.getAllByTestId("bundle-file").map((row) => row.textContent);
    expect(files.some((text) => text?.includes("logs/hub.log"))).toBe(true);
    expect(dialog.getByTestId<HTMLButtonElement>("bundle-download").disabled).toBe(false);
  });
});

describe("the allowed hosts", () => {
  it("are saved as a list, and an invalid host is refused with the reason", async () => {
    const hub = await open("#/settings", (fake) => {
      fake.settings.started_with_hosts = ["mcp-hub"];
    });
    const field = screen.getByTestId<HTMLInputElement>("setting-hosts");
    expect(document.body.textContent).toContain("it was started with them: mcp-hub.");
    await user.type(field, "hub.example:443, 10.0.0.7{Tab}");
    await advanceTime(1);
    expect(listParams(hub, "settings.change")[0]).toMatchObject({
      allowed_hosts: ["hub.example:443", "10.0.0.7"],
    });
    await user.clear(field);
    await user.type(field, "*{Tab}");
    await advanceTime(1);
    expect(field.getAttribute("aria-invalid")).toBe("true");
    expect(document.body.textContent).toContain("'*' is not a host");
  });
});
