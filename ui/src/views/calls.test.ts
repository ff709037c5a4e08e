import { cleanup, screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError, type KeptResult } from "../ipc";
import type { FakeHub } from "../ipc/fake";
import { runningCall, startCall } from "../ipc/fake/calls";
import { advanceTime, follow, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

const tableRows = (testid: string) =>
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

describe("the list", () => {
  it("searches the store with the filters of the URL", async () => {
    const hub = await open("#/calls?client=cursor&decision=denied&from=2026-11-01&to=2026-11-02");
    expect(listParams(hub, "calls.list").at(-1)).toMatchObject({
      client: "cursor",
      server: null,
      decision: "denied",
      text: null,
      since: new Date(2026, 10, 1).getTime(),
      // The end of the day that the URL names.
      until: new Date(2026, 10, 3).getTime(),
    });
    expect(screen.getByTestId<HTMLSelectElement>("call-filter-client").value).toBe("cursor");
    await follow("#/calls?server=github");
    const rows = screen.getAllByTestId("call-row");
    expect(rows.length).toBeGreaterThan(0);
    const found = rows.map((row) => hub.calls.find((call) => call.id === row.dataset["call"]));
    expect(found.every((call) => call?.server === "github")).toBe(true);
    expect(screen.getByTestId("calls-count").textContent).toBe(
      `${rows.length} ${rows.length === 1 ? "request" : "requests"}`,
    );
  });

  it("puts a chosen filter into the URL, and clears all filters", async () => {
    await open("#/calls?text=list");
    await user.selectOptions(screen.getByTestId("call-filter-outcome"), "ok");
    expect(location.hash).toBe("#/calls?outcome=ok&text=list");
    await follow(location.hash);
    await user.click(screen.getByTestId("call-filters-clear"));
    expect(location.hash).toBe("#/calls");
  });

  it("shows new calls that match, and no other calls", async () => {
    const hub = await open("#/calls?server=github");
    const before = screen.getAllByTestId("call-row").length;
    const [call] = hub.calls;
    if (!call) throw new Error("the fake hub has calls");
    for (const [id, server] of [
      ["new-1", "github"],
      ["new-2", "weather"],
    ] as const)
      hub.emit({ kind: "call_changed", call: { ...call, id, server } });
    await advanceTime(1);
    const ids = screen.getAllByTestId("call-row").map((row) => row.dataset["call"]);
    expect(ids).toHaveLength(before + 1);
    expect(ids[0]).toBe("new-1");
  });

  it("reads only the newest calls at first, and renders only the rows near the view", async () => {
    const hub = await open("#/calls", (fake) => {
      const [call] = fake.calls;
      if (!call) throw new Error("the fake hub has calls");
      fake.calls = Array.from({ length: 1200 }, (_, index) => ({
        ...call,
        id: String(5000 - index),
        at: call.at - index,
      }));
    });
    await advanceTime(1);
    expect(listParams(hub, "calls.list").filter(({ limit }) => limit === 500)).toHaveLength(1);
    expect(screen.getByTestId("calls-count").textContent).toBe("the newest 500 requests");
    expect(screen.getAllByTestId("call-row").length).toBeLessThan(150);
    expect(screen.getByRole("table").getAttribute("aria-rowcount")).toBe("501");
  });

  it("is grouped by session, and a heading leads to the calls of its session", async () => {
    const hub = await open("#/calls");
    const calls = screen.getAllByTestId("call-row").length;
    expect(screen.queryByTestId("call-session")).toBeNull();
    await user.click(screen.getByTestId("call-group"));
    expect(location.hash).toBe("#/calls?group=session");
    await follow(location.hash);
    const heading = screen.getAllByTestId("call-session")[0];
    expect(heading?.textContent).toMatch(/claude-code\s*session-1 · .+ – .+ · 5 requests/);
    expect(screen.getAllByTestId("call-row")).toHaveLength(calls);
    const link = screen.getAllByTestId<HTMLAnchorElement>("call-session-link")[0];
    expect(link?.hash).toBe("#/calls?session=session-1");
    await follow("#/calls?session=session-1");
    expect(listParams(hub, "calls.list").at(-1)).toMatchObject({ session: "session-1" });
    expect(screen.getAllByTestId("call-row")).toHaveLength(5);
  });

  it("filters by tool", async () => {
    const hub = await open("#/calls");
    await user.selectOptions(screen.getByTestId("call-filter-tool"), "write_file");
    await follow(location.hash);
    await advanceTime(500);
    expect(listParams(hub, "calls.list").at(-1)).toMatchObject({ tool: "write_file" });
  });

  it("opens the call that the URL names, also if the list does not have it", async () => {
    const hub = await open("#/calls?server=nobody");
    const [call] = hub.calls;
    await follow(`#/calls/${call?.id ?? ""}?server=nobody`);
    expect(screen.getByTestId("call-detail").textContent).toContain(call?.id);
    await follow("#/calls/no-such-call");
    expect(screen.getByTestId("call-missing").textContent).toContain("no-such-call");
  });
});

describe("an opened call", () => {
  const openCall = async (part: object) => {
    const hub = await open("#/calls", (fake) => {
      const call = fake.calls.find(
        ({ method, server }) => method === "tools/call" && server === "github",
      );
      if (!call) throw new Error("the fake hub has a call of github");
      fake.calls = [{ ...call, exposed_name: "github__list", ...part }];
      fake.recordedArguments.set(call.id, '{"page":1}');
    });
    await follow(`#/calls/${hub.calls[0]?.id ?? ""}`);
    return hub;
  };

  it("runs again after a confirmation, and shows the result", async () => {
    const hub = await openCall({});
    await user.click(screen.getByTestId("call-run-again"));
    expect(listParams(hub, "tools.call")).toEqual([]);
    await user.click(screen.getByTestId("call-run"));
    await advanceTime(1);
    expect(listParams(hub, "tools.call")).toEqual([
      { name: "github__list", arguments: { page: 1 } },
    ]);
    expect(screen.getByTestId("call-run-result").textContent).toContain("github__list was called.");
  });

  it("still asks whether to run it again after the hub reports a change of the call", async () => {
    const hub = await openCall({});
    await user.click(screen.getByTestId("call-run-again"));
    const [call] = hub.calls;
    if (!call) throw new Error("the fake hub has the call");
    hub.emit({ kind: "call_changed", call: { ...call } });
    await advanceTime(1);
    expect(screen.getByTestId("call-run")).toBeTruthy();
  });

  it("cannot run again if its record masks a secret, and says so", async () => {
    const hub = await openCall({});
    hub.recordedArguments.set(hub.calls[0]?.id ?? "", '{"token":"•••"}');
    await follow("#/calls");
    await follow(`#/calls/${hub.calls[0]?.id ?? ""}`);
    expect(screen.getByTestId<HTMLButtonElement>("call-run-again").disabled).toBe(true);
    expect(screen.getByTestId("call-detail").textContent).toContain("masks secrets");
  });

  it("cannot run again here if a number would be rounded, but can be copied as a command", async () => {
    const hub = await openCall({});
    hub.recordedArguments.set(hub.calls[0]?.id ?? "", '{"id":12345678901234567890}');
    await follow("#/calls");
    await follow(`#/calls/${hub.calls[0]?.id ?? ""}`);
    expect(screen.getByTestId<HTMLButtonElement>("call-run-again").disabled).toBe(true);
    expect(screen.getByTestId("call-detail").textContent).toContain("too many digits");
    expect(screen.getByRole("button", { name: /curl/ })).toBeTruthy();
  });

  it("leads to a rule with its scope and no effect", async () => {
    const hub = await openCall({});
    const link = screen.getByTestId("call-make-rule").getAttribute("href") ?? "";
    await follow(link);
    expect(screen.getByTestId<HTMLSelectElement>("rule-server").value).toBe("github");
    expect(screen.getByTestId<HTMLSelectElement>("rule-client").value).toBe(hub.calls[0]?.client);
    expect(screen.getByTestId<HTMLSelectElement>("rule-effect").value).toBe("");
    expect(listParams(hub, "policy.save")).toEqual([]);
  });

  it("says who may have cancelled it, and who did", async () => {
    await openCall({ outcome: "cancelled", error: "the user cancelled the call" });
    const text = screen.getByTestId("call-detail").textContent;
    expect(text).toContain("you cancelled it");
    expect(text).toContain("the user cancelled the call");
  });

  it("shows how long it waited and how long the server took", async () => {
    await openCall({ waited_ms: 2000, duration_ms: 300 });
    const steps = within(screen.getByTestId("call-timing")).getAllByRole("listitem");
    expect(steps.map((step) => step.textContent.replaceAll(/\s+/g, " ").trim())).toEqual([
      "Waited 2.0 s",
      "Server 300 ms",
    ]);
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
    expect(tableRows("chart-calls")).toHaveLength(24);
    const listed = screen.getAllByTestId("stats-group");
    expect(listed).toHaveLength(new Set(recent.map((call) => call.server)).size);

    await user.selectOptions(screen.getByTestId("stats-by"), "tool");
    await user.selectOptions(screen.getByTestId("stats-period"), "month");
    await advanceTime(1);
    expect(tableRows("chart-latency")).toHaveLength(30);
    expect(listParams(hub, "calls.stats").at(-1)).toEqual({
      period: "month",
      group_by: "tool",
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
  it("name a collector, and store the value of a header as a secret", async () => {
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

describe("the result of a call", () => {
  const openResult = async (result: KeptResult | null, keeps = false) => {
    const hub = await open("#/calls", (fake) => {
      const call = fake.calls.find(({ outcome }) => outcome === "ok");
      if (!call) throw new Error("the fake hub has a call that succeeded");
      fake.calls = [call];
      fake.settings.keep_results = keeps;
      if (result) fake.results.set(call.id, result);
    });
    await follow(`#/calls/${hub.calls[0]?.id ?? ""}`);
  };

  it("is shown as a tree", async () => {
    const text = '{"content":[{"type":"text","text":"done"}]}';
    await openResult({ text, is_cut: false, bytes: 43 });
    expect(screen.getByTestId("call-result").textContent).toContain("done");
    expect(screen.queryByTestId("call-result-cut")).toBeNull();
  });

  it("says that only its beginning was kept, or nothing", async () => {
    await openResult({ text: '{"content":[{"te', is_cut: true, bytes: 70_000 });
    expect(screen.getByTestId("call-result").textContent).toContain('{"content":[{"te');
    expect(screen.getByTestId("call-result-cut").textContent).toContain("70,000 bytes");
    cleanup();
    await openResult({ text: "", is_cut: true, bytes: 2_000_000 });
    expect(screen.getByTestId("call-result-cut").textContent).toContain("too long");
  });

  it("leads to the setting if results are not kept, and says if it may have been deleted", async () => {
    await openResult(null);
    const note = screen.getByTestId("call-no-result");
    expect(within(note).getByRole<HTMLAnchorElement>("link").hash).toBe("#/settings");
    cleanup();
    await openResult(null, true);
    expect(screen.getByTestId("call-no-result").textContent).toContain("its age");
  });
});

describe("the setting for results", () => {
  it("is off, and shows its limits once it is on", async () => {
    const hub = await open("#/settings");
    expect(screen.queryByTestId("setting-result-size")).toBeNull();
    await user.click(screen.getByTestId("setting-keep-results"));
    await advanceTime(1);
    const size = screen.getByTestId<HTMLInputElement>("setting-result-size");
    expect(size.value).toBe("64");
    await user.clear(size);
    await user.type(size, "128");
    await user.tab();
    await advanceTime(1);
    const changes = listParams(hub, "settings.change");
    expect(changes[0]).toMatchObject({ keep_results: true, kept_result_kib: null });
    expect(changes.at(-1)).toMatchObject({ keep_results: null, kept_result_kib: 128 });
    expect(hub.settings).toMatchObject({ keep_results: true, kept_result_kib: 128 });
  });
});

describe("the audit log of a call", () => {
  const openCall = async (change: (hub: FakeHub) => void = () => undefined) => {
    const hub = await open("#/calls", (fake) => {
      fake.calls = fake.calls.filter((call) => call.outcome === "ok").slice(0, 1);
      change(fake);
    });
    await follow(`#/calls/${hub.calls[0]?.id ?? ""}`);
    return screen.getAllByTestId("call-audit-entry").map((entry) => entry.textContent);
  };

  it("is verified when the call is opened", async () => {
    const [decision, end] = await openCall();
    expect(decision).toMatch(/Decision\s*No\. 2\s*Verified/);
    expect(end).toMatch(/End\s*No\. 3\s*Verified/);
    expect(screen.getByTestId("call-audit").textContent).toContain("verifies the whole log");
  });

  it("says what does not match", async () => {
    const reason = "the record of the call was changed";
    const [, end] = await openCall((hub) => (hub.brokenAudit = { seq: 3, reason }));
    expect(end).toContain("Not verified");
    expect(screen.getByTestId("call-audit").textContent).toContain(reason);
    expect(screen.getByTestId("call-audit").textContent).not.toContain("verifies the whole log");
  });
});

describe("the progress of an opened call", () => {
  it("is shown while the call runs", async () => {
    const hub = await open("#/calls/call-9", (fake) =>
      startCall(fake, { call: runningCall("call-9", "index", "github") }),
    );
    expect(screen.queryByTestId("call-progress")).toBeNull();
    const progress = { progress: 15, total: 60, message: "Reading src" };
    hub.emit({ kind: "call_progressed", id: "call-9", progress });
    await advanceTime(1);
    expect(screen.getByTestId("call-progress").textContent).toMatch(/25 %\s*·\s*Reading src/);
  });
});
