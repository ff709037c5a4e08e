import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

describe("a disk that is almost full", () => {
  it("is named on every screen until it has space again", async () => {
    const hub = await open("#/logs", (fake) => (fake.diskError = "only 20 MiB are free"));
    expect(screen.getByTestId("low-space-banner").textContent).toContain("only 20 MiB are free");
    hub.diskError = "";
    hub.emit({ kind: "settings_changed" });
    await advanceTime(1);
    expect(screen.queryByTestId("low-space-banner")).toBeNull();
  });

  it("is avoided by limits of the log files", async () => {
    const hub = await open("#/settings");
    for (const [testid, before, after] of [
      ["setting-log-retention", "7", "30"],
      ["setting-log-limit", "100", "50"],
    ] as const) {
      const input = screen.getByTestId<HTMLInputElement>(testid);
      expect(input.value).toBe(before);
      await user.clear(input);
      await user.type(input, `${after}{Tab}`);
      await advanceTime(1);
    }
    const changes = listParams(hub, "settings.change");
    expect(changes[0]).toMatchObject({ log_retention_days: 30, logs_max_mib: null });
    expect(changes[1]).toMatchObject({ log_retention_days: null, logs_max_mib: 50 });
  });

  it("is avoided by a limit of the history", async () => {
    const hub = await open("#/settings");
    const limit = screen.getByTestId<HTMLInputElement>("setting-records-limit");
    expect(limit.value).toBe("2048");
    await user.clear(limit);
    await user.type(limit, "512{Tab}");
    await advanceTime(1);
    expect(listParams(hub, "settings.change")[0]).toMatchObject({ records_max_mib: 512 });
  });
});
