import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { IpcError } from "../ipc";
import { FakeHub } from "../ipc/fake";
import { Usage } from "./usage.svelte";

let hub: FakeHub;
let usage: Usage;
let visibility: DocumentVisibilityState = "visible";

function show(state: DocumentVisibilityState) {
  visibility = state;
  document.dispatchEvent(new Event("visibilitychange"));
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(document, "visibilityState", "get").mockImplementation(() => visibility);
  visibility = "visible";
  hub = new FakeHub();
  usage = new Usage(hub);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("the usage of servers", () => {
  it("is read every two seconds while it is watched", async () => {
    const stop = usage.watch();
    await vi.advanceTimersByTimeAsync(4001);
    expect(hub.verbCalls).toHaveLength(3);
    expect(usage.of("filesystem")?.processes).toBe(2);
    stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(hub.verbCalls).toHaveLength(3);
    expect(usage.list).toEqual([]);
  });

  it("is not read while the window is hidden, and at once when it is visible again", async () => {
    const stop = usage.watch();
    await vi.advanceTimersByTimeAsync(1);
    show("hidden");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(hub.verbCalls).toHaveLength(1);
    show("visible");
    await vi.advanceTimersByTimeAsync(1);
    expect(hub.verbCalls).toHaveLength(2);
    stop();
  });

  it("is read again after a failure", async () => {
    hub.failures.set("servers.usage", new IpcError("internal", "no"));
    const stop = usage.watch();
    await vi.advanceTimersByTimeAsync(1);
    expect(usage.list).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(usage.list).toHaveLength(1);
    stop();
  });

  it("has one read at a time", async () => {
    hub.delay = 5000;
    const stop = usage.watch();
    show("visible");
    await vi.advanceTimersByTimeAsync(4900);
    expect(hub.verbCalls).toHaveLength(1);
    stop();
  });
});
