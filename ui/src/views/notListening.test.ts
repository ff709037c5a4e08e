import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { listParams, open, advanceTime, user, withFakeTime } from "../test/app";

withFakeTime();

const ERROR = "'python3' (process 4711) uses port 8765; close that program, or choose another port";

describe("the HTTP listener", () => {
  it("has a banner on every screen while it does not listen, until another port is chosen there", async () => {
    const hub = await open("#/logs", (fake) => (fake.httpError = ERROR));
    const banner = screen.getByTestId("not-listening-banner");
    expect(banner.textContent).toContain("No client can connect over HTTP.");
    expect(banner.textContent).toContain("'python3' (process 4711) uses port 8765");
    const port = screen.getByTestId<HTMLInputElement>("banner-port");
    await user.clear(port);
    await user.type(port, "9000{Tab}");
    await advanceTime(1);
    expect(listParams(hub, "settings.change")[0]).toMatchObject({ port: 9000 });
    expect(screen.queryByTestId("not-listening-banner")).toBeNull();
  });

  it("keeps its banner, with the reason, if the new port is not free either", async () => {
    const hub = await open("#/servers", (fake) => (fake.httpError = ERROR));
    hub.failures.set("settings.change", new IpcError("conflict", "cannot use port 9000"));
    const port = screen.getByTestId<HTMLInputElement>("banner-port");
    await user.clear(port);
    await user.type(port, "9000{Tab}");
    await advanceTime(1);
    expect(screen.getByTestId("not-listening-banner").textContent).toContain(
      "cannot use port 9000",
    );
  });

  it("has no banner while it listens", async () => {
    await open("#/servers");
    expect(screen.queryByTestId("not-listening-banner")).toBeNull();
  });
});
