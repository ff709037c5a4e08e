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

describe("what servers use", () => {
  it("is asked every two seconds, and not after the look has ended", async () => {
    const stop = usage.watch();
    await vi.advanceTimersByTimeAsync(4001);
    expect(hub.asked).toHaveLength(3);
    expect(usage.of("filesystem")?.processes).toBe(2);
    stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(hub.asked).toHaveLength(3);
    expect(usage.list).toEqual([]);
  });

  it("is not asked while the window is out of sight, and at once when it is back", async () => {
    const stop = usage.watch();
    await vi.advanceTimersByTimeAsync(1);
    show("hidden");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(hub.asked).toHaveLength(1);
    show("visible");
    await vi.advanceTimersByTimeAsync(1);
    expect(hub.asked).toHaveLength(2);
    stop();
  });

  it("is asked again after it could not be told", async () => {
    hub.failures.set("servers.measure", new IpcError("internal", "no"));
    const stop = usage.watch();
    await vi.advanceTimersByTimeAsync(1);
    expect(usage.list).toEqual([]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(usage.list).toHaveLength(1);
    stop();
  });

  it("is asked once at a time, however slow the answer", async () => {
    hub.delay = 5000;
    const stop = usage.watch();
    show("visible");
    await vi.advanceTimersByTimeAsync(4900);
    expect(hub.asked).toHaveLength(1);
    stop();
  });
});
