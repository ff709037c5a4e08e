import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { httpIpc } from "./http";

const fetched = vi.fn<typeof fetch>();

function answers(status: number, body: unknown) {
  fetched.mockResolvedValueOnce(new Response(JSON.stringify(body), { status }));
}

const STORAGE_KEY = "drawbridge-browser";
const SIGNED_IN = JSON.stringify({ id: "b0", token: "old" });

beforeEach(() => {
  vi.stubGlobal("fetch", fetched);
  localStorage.setItem(STORAGE_KEY, SIGNED_IN);
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

  it("reports on 401 that the browser is not signed in, and sends nothing more", async () => {
    const ipc = await httpIpc();
    answers(401, { error: { code: "forbidden", message: "no" } });
    await expect(ipc.call("clients.list", {})).rejects.toMatchObject({ code: "signed_out" });
    await expect(ipc.call("clients.list", {})).rejects.toMatchObject({ code: "signed_out" });
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  it("keeps a token that came after a refused request was sent", async () => {
    const ipc = await httpIpc();
    let refuse!: (response: Response) => void;
    fetched.mockReturnValueOnce(new Promise((resolve) => (refuse = resolve)));
    const refused = ipc.call("clients.list", {});
    answers(200, { id: "b1", token: "new" });
    await ipc.browser?.signIn("abc");
    refuse(new Response("{}", { status: 401 }));
    await expect(refused).rejects.toMatchObject({ code: "signed_out" });
    expect(ipc.browser?.id).toBe("b1");
  });

  it("reports a hub that cannot be reached", async () => {
    const ipc = await httpIpc();
    fetched.mockRejectedValueOnce(new TypeError("Failed to fetch"));
    await expect(ipc.call("clients.list", {})).rejects.toMatchObject({ code: "unavailable" });
  });

  it("exchanges a login code for a token, and sends the token until the hub refuses it", async () => {
    location.hash = "#login=ab%2Fc";
    answers(200, { id: "b1", token: "secret" });
    const ipc = await httpIpc();
    expect(fetched).toHaveBeenCalledWith(
      "/api/login",
      expect.objectContaining({ body: '{"code":"ab/c"}', credentials: "omit" }),
    );
    expect(location.hash).toBe("");
    expect(ipc.browser?.id).toBe("b1");
    expect(ipc.browser?.linkError).toBe("");
    answers(200, []);
    await ipc.call("clients.list", {});
    expect(fetched).toHaveBeenLastCalledWith(
      "/api/verbs/clients.list",
      expect.objectContaining({
        headers: expect.objectContaining({ authorization: "Bearer secret" }) as unknown,
      }),
    );
    answers(401, { error: { code: "forbidden", message: "no" } });
    await expect(ipc.call("clients.list", {})).rejects.toMatchObject({ code: "signed_out" });
    expect(ipc.browser?.id).toBeNull();
  });

  it.each([
    ["#/settings", "#/settings"],
    ["https://example.com/", ""],
  ])("after a link to the screen %s, the hash is '%s'", async (screen, shown) => {
    const link = new URLSearchParams({ login: "a+b", screen });
    location.hash = `#${link.toString()}`;
    answers(200, { id: "b1", token: "secret" });
    await httpIpc();
    expect(fetched).toHaveBeenCalledWith(
      "/api/login",
      expect.objectContaining({ body: '{"code":"a+b"}' }),
    );
    expect(location.hash).toBe(shown);
  });

  it("says why a link or a code did not sign in", async () => {
    localStorage.clear();
    location.hash = "#login=used";
    answers(401, { error: { code: "forbidden", message: "this link was used" } });
    const ipc = await httpIpc();
    expect(ipc.browser?.linkError).toBe("this link was used");
    answers(401, { error: { code: "forbidden", message: "wrong" } });
    await expect(ipc.browser?.signIn("abc")).rejects.toMatchObject({ message: "wrong" });
    answers(200, { id: "b2", token: "secret" });
    await ipc.browser?.signIn("def");
    expect(ipc.browser?.id).toBe("b2");
  });

  it("passes events on, and reopens a stream that ended or failed", async () => {
    vi.useFakeTimers();
    const ipc = await httpIpc();
    const events = vi.fn();
    const connection = vi.fn();
    const text = ': keep-alive\n\ndata: {"kind":"clients_changed"}\n\n';
    fetched.mockResolvedValueOnce(new Response(text));
    fetched.mockResolvedValueOnce(new Response("", { status: 503 }));
    const pending = new Promise<Response>(() => undefined);
    fetched.mockReturnValueOnce(pending);
    const stop = ipc.subscribe(events, connection);
    await vi.advanceTimersByTimeAsync(1);
    expect(events).toHaveBeenCalledWith({ kind: "clients_changed" });
    expect(connection.mock.calls).toEqual([[true], [false]]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(connection.mock.calls).toEqual([[true], [false], [false]]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(fetched).toHaveBeenCalledTimes(3);
    stop();
    await vi.advanceTimersByTimeAsync(5000);
    expect(fetched).toHaveBeenCalledTimes(3);
  });

  it("reopens no stream while the browser is signed out, until a sign-in on another page", async () => {
    vi.useFakeTimers();
    const ipc = await httpIpc();
    const connection = vi.fn();
    fetched.mockResolvedValueOnce(new Response("", { status: 401 }));
    const stop = ipc.subscribe(vi.fn(), connection);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(connection.mock.calls).toEqual([[false]]);
    expect(fetched).toHaveBeenCalledTimes(1);
    expect(ipc.browser?.id).toBeNull();

    fetched.mockReturnValue(new Promise<Response>(() => undefined));
    localStorage.setItem(STORAGE_KEY, SIGNED_IN);
    const change = { key: STORAGE_KEY, oldValue: null, newValue: SIGNED_IN };
    dispatchEvent(new StorageEvent("storage", change));
    expect(fetched).toHaveBeenCalledTimes(2);
    stop();
    dispatchEvent(new StorageEvent("storage", change));
    expect(fetched).toHaveBeenCalledTimes(2);
  });
});
