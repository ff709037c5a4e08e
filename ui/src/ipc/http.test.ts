import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { httpIpc } from "./http";

class FakeSource {
  static readonly CLOSED = 2;
  static opened: FakeSource[] = [];
  readyState = 0;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  onmessage: ((message: { data: string }) => void) | null = null;
  close = vi.fn();
  constructor(readonly url: string) {
    FakeSource.opened.push(this);
  }
}

const fetched = vi.fn<typeof fetch>();

function answers(status: number, body: unknown) {
  fetched.mockResolvedValueOnce(new Response(JSON.stringify(body), { status }));
}

beforeEach(() => {
  vi.stubGlobal("fetch", fetched);
  vi.stubGlobal("EventSource", FakeSource);
  FakeSource.opened = [];
  fetched.mockReset();
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  location.hash = "";
});

describe("the hub over HTTP", () => {
  it("posts a verb's parameters and returns its answer", async () => {
    const ipc = await httpIpc();
    answers(200, [{ name: "cursor" }]);
    expect(await ipc.call("clients.list", {})).toEqual([{ name: "cursor" }]);
    expect(fetched).toHaveBeenCalledWith(
      "/api/verbs/clients.list",
      expect.objectContaining({ method: "POST", body: "{}" }),
    );
  });

  it("throws the error of the hub", async () => {
    const ipc = await httpIpc();
    answers(404, { error: { code: "not_found", message: "There is no server x." } });
    await expect(ipc.call("servers.show", { id: "x" })).rejects.toMatchObject({
      code: "not_found",
      message: "There is no server x.",
    });
  });

  it("reports on 401 that the browser is not signed in", async () => {
    const ipc = await httpIpc();
    answers(401, { error: { code: "forbidden", message: "no" } });
    await expect(ipc.call("clients.list", {})).rejects.toMatchObject({ code: "signed_out" });
  });

  it("reports a hub that cannot be reached", async () => {
    const ipc = await httpIpc();
    fetched.mockRejectedValueOnce(new TypeError("Failed to fetch"));
    await expect(ipc.call("clients.list", {})).rejects.toMatchObject({ code: "unavailable" });
  });

  it("exchanges a login code for a cookie and removes it from the address", async () => {
    location.hash = "#login=ab%2Fc";
    answers(200, {});
    await httpIpc();
    expect(fetched).toHaveBeenCalledWith(
      "/api/login",
      expect.objectContaining({ body: '{"code":"ab/c"}' }),
    );
    expect(location.hash).toBe("");
  });

  it("passes events on, and reopens a refused stream", async () => {
    vi.useFakeTimers();
    const ipc = await httpIpc();
    const events = vi.fn();
    const connection = vi.fn();
    const stop = ipc.subscribe(events, connection);
    const [source] = FakeSource.opened;
    source?.onopen?.();
    source?.onmessage?.({ data: '{"kind":"clients_changed"}' });
    expect(events).toHaveBeenCalledWith({ kind: "clients_changed" });
    Object.assign(source ?? {}, { readyState: FakeSource.CLOSED });
    source?.onerror?.();
    expect(connection.mock.calls).toEqual([[true], [false]]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(FakeSource.opened).toHaveLength(2);
    stop();
    expect(FakeSource.opened[1]?.close).toHaveBeenCalled();
  });
});
