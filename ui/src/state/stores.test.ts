import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { IpcError } from "../ipc";
import { FakeHub } from "../ipc/fake";
import { Stores } from ".";
import { EVERY_CALL, matchesCall } from "./callSearch.svelte";

let hub: FakeHub;
let stores: Stores;
let stop: () => void;

async function settle() {
  await vi.advanceTimersByTimeAsync(0);
}

beforeEach(async () => {
  vi.useFakeTimers();
  hub = new FakeHub();
  stores = new Stores(hub);
  stop = stores.start();
  await settle();
});

afterEach(() => {
  stop();
  vi.useRealTimers();
});

describe("the stores", () => {
  it("read everything when they are connected", () => {
    expect(stores.servers.list.map((s) => s.id)).toEqual([
      "browser",
      "filesystem",
      "github",
      "postgres",
      "tickets",
      "weather",
      "memory",
    ]);
    expect(stores.servers.broken).toHaveLength(1);
    expect(stores.clients.current.map((c) => c.name)).toEqual([
      "claude-code",
      "cursor",
      "lm-studio",
    ]);
    expect(stores.calls.list).toHaveLength(32);
    expect(stores.policy.view.rules).toHaveLength(4);
    expect(stores.settings.view?.version).toBe("0.1.0");
  });

  it("read everything again after they missed events", async () => {
    hub.clients = [];
    hub.servers = [];
    hub.emit({ kind: "lagged" });
    await settle();
    expect(stores.clients.list).toEqual([]);
    expect(stores.servers.list).toEqual([]);
  });

  it("report a lost connection, and read everything when it is back", async () => {
    hub.setConnected(false);
    expect(stores.connection.status).toBe("lost");
    hub.clients = [];
    hub.setConnected(true);
    await settle();
    expect(stores.connection.status).toBe("connected");
    expect(stores.clients.list).toEqual([]);
  });

  it("report that the browser is not signed in", async () => {
    hub.failures.set("clients.list", new IpcError("signed_out", ""));
    hub.emit({ kind: "lagged" });
    await settle();
    expect(stores.connection.status).toBe("signed_out");
  });

  it("report a failed read", async () => {
    hub.failures.set("policy.list", new IpcError("internal", "The store cannot be read."));
    hub.emit({ kind: "lagged" });
    await settle();
    expect(stores.connection.readError).toBe("The store cannot be read.");
  });

  it("read the servers twice for a burst of changes", async () => {
    hub.verbCalls.length = 0;
    for (let i = 0; i < 20; i += 1) hub.emit({ kind: "server_changed", id: "weather" });
    await settle();
    expect(hub.verbCalls.filter((call) => call.verb === "servers.list")).toHaveLength(2);
  });
});

describe("approval requests", () => {
  it("appear oldest first, and disappear when they are decided elsewhere", async () => {
    const first = hub.addApproval();
    const second = hub.addApproval();
    expect(stores.approvals.waiting.map((w) => w.request.id)).toEqual([first.id, second.id]);
    await hub.call("approvals.decide", {
      id: first.id,
      digest: first.digest,
      verdict: { kind: "approve_once", arguments: null },
    });
    expect(stores.approvals.waiting.map((w) => w.request.id)).toEqual([second.id]);
    expect(stores.askedCalls.list[0]).toMatchObject({
      id: first.id,
      decision: "allowed",
      decided_by: "person",
    });
  });

  it("disappear at their deadline", async () => {
    hub.addApproval({ timeout_ms: 5000 });
    await vi.advanceTimersByTimeAsync(4999);
    expect(stores.approvals.waiting).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(stores.approvals.waiting).toHaveLength(0);
    expect(stores.askedCalls.list[0]?.decision).toBe("timed_out");
  });

  it("disappear after their deadline even if the event of their end was lost", async () => {
    hub.emit({
      kind: "approval_requested",
      request: { ...hub.addApproval({ timeout_ms: 60_000 }), id: "ghost", remaining_ms: 1000 },
    });
    expect(stores.approvals.waiting).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(3000);
    expect(stores.approvals.waiting.map((w) => w.request.id)).not.toContain("ghost");
  });

  it("are read again when a decision is refused", async () => {
    const request = hub.addApproval();
    hub.waiting = [];
    await expect(
      stores.approvals.decide(request, { kind: "approve_once", arguments: null }),
    ).rejects.toMatchObject({ code: "not_found" });
    await settle();
    expect(stores.approvals.waiting).toEqual([]);
  });

  it("keep their objects when the list is read again", async () => {
    hub.addApproval();
    const before = stores.approvals.waiting[0];
    await stores.approvals.load();
    expect(stores.approvals.waiting[0]).toBe(before);
  });
});

describe("an event during a read", () => {
  it("is not lost if the answer is older", async () => {
    const early = hub.addApproval();
    hub.delay = 100;
    const reading = stores.approvals.load();
    const snapshot = [...hub.waiting];
    await vi.advanceTimersByTimeAsync(50);
    const laterRequest = hub.addApproval();
    hub.emit({ kind: "approval_ended", id: early.id });
    hub.waiting = snapshot;
    await vi.advanceTimersByTimeAsync(100);
    await reading;
    expect(stores.approvals.waiting.map((w) => w.request.id)).toEqual([laterRequest.id]);
  });
});

describe("calls", () => {
  it("are updated in place", async () => {
    const call = {
      ...(stores.calls.list[0] as (typeof stores.calls.list)[0]),
      id: "new",
      outcome: "running" as const,
    };
    hub.emit({ kind: "call_changed", call });
    hub.emit({ kind: "call_changed", call: { ...call, outcome: "ok" } });
    expect(stores.calls.list.filter((c) => c.id === "new").map((c) => c.outcome)).toEqual(["ok"]);
    expect(stores.calls.list[0]?.id).toBe("new");
  });

  it("are filtered by several fields at once", () => {
    const findCalls = (filter: object) =>
      stores.calls.list.filter((c) => matchesCall(c, { ...EVERY_CALL, ...filter }));
    expect(findCalls({}).length).toBe(32);
    expect(
      findCalls({ client: "cursor", server: "github" }).every(
        (c) => c.tool === "list_pull_requests",
      ),
    ).toBe(true);
    expect(findCalls({ decision: "timed_out", text: "NOBODY" })).toHaveLength(4);
    expect(findCalls({ client: "nobody" })).toEqual([]);
  });
});

describe("a tail of the log", () => {
  it("shows the lines that match, including later lines", async () => {
    const { feed, close } = stores.openLog();
    await feed.show({ source: { server: "weather" }, level: "error", text: "", rangeMs: null });
    expect(feed.lines).toHaveLength(3);
    hub.log({ server: "weather", level: "error", text: "again" });
    hub.log({ server: "weather", level: "info", text: "not this" });
    hub.log({ server: "github", level: "error", text: "nor this" });
    await vi.advanceTimersByTimeAsync(200);
    expect(feed.lines.map((l) => l.text).at(-1)).toBe("again");
    expect(feed.lines).toHaveLength(4);
    close();
    hub.log({ server: "weather", level: "error", text: "closed" });
    await vi.advanceTimersByTimeAsync(200);
    expect(feed.lines).toHaveLength(4);
  });

  it("can show only the lines of the hub", async () => {
    const { feed } = stores.openLog();
    await feed.show({ source: "hub", level: "trace", text: "weather", rangeMs: null });
    expect(feed.lines.every((l) => l.server === null)).toBe(true);
    expect(feed.lines.length).toBeGreaterThan(0);
  });

  it("keeps a hundred thousand lines", async () => {
    const { feed } = stores.openLog();
    await feed.show({ source: "all", level: "trace", text: "", rangeMs: null });
    for (let i = 0; i < 100_200; i += 1) hub.log({ text: `line ${i}` });
    await vi.advanceTimersByTimeAsync(200);
    expect(feed.lines).toHaveLength(100_000);
    expect(feed.lines.at(-1)?.text).toBe("line 100199");
  });
});

describe("a tool's policy", () => {
  it("is set for all clients, and is removed if the person chooses the default", async () => {
    const tool = stores.servers.find("filesystem")?.tools[1];
    if (!tool) throw new Error("no tool");
    await stores.servers.setPolicy(tool, "deny");
    expect(hub.verbCalls.at(-1)?.verb).not.toBe("policy.remove");
    expect(hub.verbCalls).toContainEqual({
      verb: "policy.set",
      params: {
        effect: "deny",
        server: "filesystem",
        tool: "list_directory",
        client: null,
        user: null,
        kind: null,
      },
    });
    expect(stores.servers.find("filesystem")?.tools[1]?.own_effect).toBe("deny");
    await stores.servers.setPolicy(tool, null);
    expect(hub.verbCalls).toContainEqual({
      verb: "policy.remove",
      params: {
        server: "filesystem",
        tool: "list_directory",
        client: null,
        user: null,
        kind: null,
      },
    });
    expect(stores.servers.find("filesystem")?.tools[1]).toMatchObject({
      own_effect: null,
      effect: "ask",
    });
  });
});
