import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { runningCall, startCall } from "../ipc/fake/calls";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const cells = (testid: string) =>
  [...within(screen.getByTestId(testid)).getByRole("table").querySelectorAll("tbody tr")].map(
    (row) => [...row.children].map((cell) => cell.textContent),
  );

describe("the running calls", () => {
  it("are shown once they take long, with their progress", async () => {
    const hub = await open("#/calls");
    startCall(hub, { call: runningCall("call-9", "index", "github") });
    await advanceTime(500);
    expect(screen.queryByTestId("running-call")).toBeNull();
    await advanceTime(2000);
    const bar = screen.getByRole<HTMLProgressElement>("progressbar");
    expect(bar.getAttribute("aria-label")).toBe("Progress of index");
    expect(bar.hasAttribute("value"), "nothing is known yet").toBe(false);
    const progress = { progress: 15, total: 60, message: "Reading src" };
    hub.emit({ kind: "call_progressed", id: "call-9", progress });
    await advanceTime(1);
    expect(bar.value).toBe(0.25);
    expect(screen.getByTestId("running-call").textContent).toContain("25 %");
    expect(screen.getByTestId("running-call").textContent).toContain("Reading src");
  });

  it("can be cancelled", async () => {
    const hub = await open("#/calls", (fake) =>
      startCall(fake, { call: runningCall("call-9", "index", "github"), running_ms: 5000 }),
    );
    await user.click(screen.getByRole("button", { name: "Cancel call of index" }));
    await advanceTime(1);
    expect(listParams(hub, "calls.cancel")).toEqual([{ id: "call-9" }]);
    expect(screen.queryByTestId("running-call")).toBeNull();
  });

  it("say why a call could not be cancelled", async () => {
    await open("#/calls", (fake) => {
      startCall(fake, { call: runningCall("call-9", "index", "github"), running_ms: 5000 });
      fake.failures.set("calls.cancel", new IpcError("not_found", "It has ended already."));
    });
    await user.click(screen.getByTestId("call-cancel"));
    await advanceTime(1);
    expect(screen.getByTestId("cancel-error").textContent).toContain("It has ended already.");
  });
});

describe("the charts", () => {
  it("count the calls by time, and compare servers and tools", async () => {
    const hub = await open("#/calls");
    await user.click(screen.getByTestId("calls-tab-charts"));
    await advanceTime(1);
    const counted = hub.calls.filter((call) => call.method === "tools/call");
    const recent = counted.filter((call) => call.at > Date.now() - 22 * 3_600_000);
    expect(recent.length).toBeGreaterThan(0);
    expect(screen.getByTestId("chart-calls").textContent).toContain("Calls:");
    expect(cells("chart-calls")).toHaveLength(24);
    const listed = screen.getAllByTestId("stats-group");
    expect(listed).toHaveLength(new Set(recent.map((call) => call.server)).size);

    await user.selectOptions(screen.getByTestId("stats-by"), "tool");
    await user.selectOptions(screen.getByTestId("stats-period"), "month");
    await advanceTime(1);
    expect(cells("chart-latency")).toHaveLength(30);
    expect(listParams(hub, "calls.stats").at(-1)).toEqual({
      period: "month",
      by: "tool",
      client: null,
      server: null,
      tool: null,
    });
  });

  it("say what to do if there were no calls", async () => {
    await open("#/calls", (fake) => {
      fake.calls = [];
    });
    await user.click(screen.getByTestId("calls-tab-charts"));
    await advanceTime(1);
    expect(screen.getByTestId("stats-empty").textContent).toContain("No calls in this period.");
  });
});

describe("the settings of traces", () => {
  it("name a collector, and store the value of a header in the keyring", async () => {
    const hub = await open("#/settings");
    const url = screen.getByTestId("setting-otlp-endpoint");
    await user.type(url, "http://127.0.0.1:4318");
    await user.tab();
    await advanceTime(1);
    expect(hub.settings.otlp_endpoint).toBe("http://127.0.0.1:4318");
    await user.type(screen.getByTestId("otlp-header-name"), "x-api-key");
    await user.type(screen.getByTestId("otlp-header-value"), "s3cret");
    await user.click(screen.getByTestId("otlp-header-add"));
    await advanceTime(1);
    expect(listParams(hub, "secrets.set")).toEqual([{ name: "otlp.x_api_key", value: "s3cret" }]);
    expect(hub.settings.otlp_headers).toEqual({ "x-api-key": "${keyring:otlp.x_api_key}" });
    await user.click(screen.getByTestId("setting-otlp-content"));
    expect(hub.settings.otlp_content).toBe(true);
    await user.click(screen.getByRole("button", { name: "Remove header x-api-key" }));
    await advanceTime(1);
    expect(hub.settings.otlp_headers).toEqual({});
  });
});
