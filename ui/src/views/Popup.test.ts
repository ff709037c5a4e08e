import { cleanup, fireEvent, render, screen } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeHub } from "../ipc/fake";
import Popup from "./Popup.svelte";

const CLICK_GUARD_MS = 500;
let hub: FakeHub;
const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });

beforeEach(() => {
  vi.useFakeTimers();
  hub = new FakeHub(true);
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function open() {
  render(Popup, { ipc: hub });
  await advanceTime(1);
}

async function advanceTime(ms: number) {
  await vi.advanceTimersByTimeAsync(ms);
}

function button(id: string): HTMLButtonElement {
  return screen.getByTestId<HTMLButtonElement>(id);
}

function decisions() {
  return hub.verbCalls
    .filter((call) => call.verb === "approvals.decide")
    .map((call) => call.params);
}

describe("the approval popup", () => {
  it("says that no calls wait", async () => {
    await open();
    expect(screen.getByTestId("popup-empty").textContent).toContain("No calls wait.");
  });

  it("uses only the verbs that its window may use", async () => {
    hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("approve-once"));
    await advanceTime(1);
    expect(new Set(hub.verbCalls.map((call) => call.verb))).toEqual(
      new Set(["approvals.list", "approvals.decide", "drawbridge.show"]),
    );
  });

  it("says in one sentence which client wants to call which tool, with hidden characters revealed", async () => {
    hub.addApproval({ tool: "delete\u202e_file", description: "Safe.\u200b Really." });
    await open();
    expect(
      screen.getByTestId("approval-card").querySelector(".sentence")?.textContent?.trim(),
    ).toBe("claude-code wants to call delete⟨U+202E⟩_file of filesystem");
    expect(screen.getByText("⟨U+200B⟩")).toBeTruthy();
  });

  it("shows every argument as it was written", async () => {
    hub.addApproval({ arguments: '{"n":1.50,"path":"/a","path":"/b","deep":{"list":[null,"x"]}}' });
    await open();
    const text = screen.getByTestId("arguments").textContent;
    for (const part of ["1.50", "/a", "/b", "duplicate key", "deep", "null", "x"])
      expect(text).toContain(part);
    await user.click(button("arguments-raw"));
    expect(screen.getByTestId("arguments").textContent.trim()).toBe(
      '{"n":1.50,"path":"/a","path":"/b","deep":{"list":[null,"x"]}}',
    );
  });

  it("shows malformed arguments unchanged", async () => {
    hub.addApproval({ arguments: "{broken" });
    await open();
    expect(screen.getByTestId("arguments").textContent.trim()).toBe("{broken");
  });

  it("takes no decision in the first half second", async () => {
    hub.addApproval();
    await open();
    for (const id of ["deny", "approve-more", "approve-once"])
      expect(button(id).disabled).toBe(true);
    await advanceTime(CLICK_GUARD_MS);
    for (const id of ["deny", "approve-more", "approve-once"])
      expect(button(id).disabled).toBe(false);
  });

  it("starts the half second again for the next request", async () => {
    hub.addApproval();
    hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("approve-once"));
    await advanceTime(1);
    expect(screen.getByTestId("popup-position").textContent).toBe("1 of 1");
    expect(button("approve-once").disabled).toBe(true);
    expect(decisions()).toHaveLength(1);
  });

  it("starts the half second again when the window becomes visible", async () => {
    hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    await fireEvent(document, new Event("visibilitychange"));
    expect(button("approve-once").disabled).toBe(true);
  });

  it("decides exactly what was shown", async () => {
    const { id, digest } = hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("approve-once"));
    expect(decisions()).toEqual([
      { id, digest, verdict: { kind: "approve_once", arguments: null } },
    ]);
    await advanceTime(1);
    expect(screen.getByTestId("popup-empty")).toBeTruthy();
  });

  it.each([
    ["approve-15m", { kind: "approve_for", seconds: 900, conditions: [] }],
    ["approve-1h", { kind: "approve_for", seconds: 3600, conditions: [] }],
    ["approve-10-calls", { kind: "approve_calls", count: 10, conditions: [] }],
    ["approve-session", { kind: "approve_session", conditions: [] }],
  ])("approves for longer by %s", async (choice, verdict) => {
    const { id, digest } = hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("approve-more"));
    await user.click(button(choice));
    expect(decisions()).toEqual([{ id, digest, verdict }]);
  });

  it("denies with a reason", async () => {
    const { id, digest } = hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("deny"));
    await user.type(screen.getByTestId("deny-reason"), "Not this file. ");
    await user.click(button("deny-confirm"));
    expect(decisions()).toEqual([
      { id, digest, verdict: { kind: "deny", reason: "Not this file." } },
    ]);
  });

  it("ignores Enter until a button was reached with Tab", async () => {
    hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    await user.keyboard("{Enter}");
    button("approve-once").focus();
    await user.keyboard("{Enter} ");
    expect(decisions()).toEqual([]);
    await user.click(button("deny"));
    await user.type(screen.getByTestId("deny-reason"), "no{Enter}");
    expect(decisions()).toEqual([]);
    await user.tab();
    await user.tab();
    expect(document.activeElement).toBe(button("deny-confirm"));
    await user.keyboard("{Enter}");
    expect(decisions()).toMatchObject([{ verdict: { kind: "deny", reason: "no" } }]);
  });

  it("focuses no button at first", async () => {
    hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    expect(document.activeElement).toBe(document.body);
  });

  it("counts down, and shows the next request after the deadline", async () => {
    hub.addApproval({ timeout_ms: 5000 });
    hub.addApproval({ timeout_ms: 50_000, tool: "write_file" });
    await open();
    expect(screen.getByTestId("countdown").textContent).toBe("5 s");
    await advanceTime(2000);
    expect(screen.getByTestId("countdown").textContent).toBe("3 s");
    await advanceTime(3000);
    expect(screen.getByTestId("approval-card").textContent).toContain("write_file");
    expect(decisions()).toEqual([]);
  });

  it("shows more than a minute as minutes and seconds", async () => {
    hub.addApproval({ timeout_ms: 597_000 });
    await open();
    expect(screen.getByTestId("countdown").textContent).toBe("9:57");
  });

  it("shows the differences of a replaced text above the exact arguments", async () => {
    const args = { path: "/a", edits: [{ oldText: "one\ntwo", newText: "one\nzwei" }] };
    hub.addApproval({ tool: "edit_file", arguments: JSON.stringify(args) });
    await open();
    const lines = [...screen.getByTestId("text-edit").querySelectorAll("p")];
    expect(lines.map((line) => line.className.split(" ")[0])).toEqual(["same", "removed", "added"]);
    expect(lines.map((line) => line.textContent.trim())).toEqual([
      "one",
      "−removed: two",
      "+added: zwei",
    ]);
    expect(screen.getByTestId("arguments").textContent).toContain("oldText");
  });

  it("moves between requests, and stays on its request when another arrives", async () => {
    const first = hub.addApproval();
    const second = hub.addApproval({ tool: "write_file" });
    await open();
    expect(screen.getByTestId("popup-position").textContent).toBe("1 of 2");
    expect(screen.getByTestId("popup-more").textContent).toBe("1 more waits");
    await user.click(button("popup-next"));
    hub.addApproval({ tool: "move_file" });
    await advanceTime(1);
    expect(screen.getByTestId("popup-position").textContent).toBe("2 of 3");
    expect(screen.getByTestId("popup-more").textContent).toBe("2 more wait");
    expect(screen.getByTestId("approval-card").dataset["id"]).toBe(second.id);
    await user.click(button("popup-previous"));
    expect(screen.getByTestId("approval-card").dataset["id"]).toBe(first.id);
  });

  it("locks approval until long arguments were scrolled to their end", async () => {
    vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(900);
    vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
    hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    expect(button("approve-once").disabled).toBe(true);
    expect(button("approve-more").disabled).toBe(true);
    expect(button("deny").disabled).toBe(false);
    expect(screen.getByText("Scroll to the end of the arguments to approve.")).toBeTruthy();
    const area = screen.getByTestId("arguments");
    area.scrollTop = 200;
    await fireEvent.scroll(area);
    expect(button("approve-once").disabled).toBe(true);
    area.scrollTop = 600;
    await fireEvent.scroll(area);
    expect(button("approve-once").disabled).toBe(false);
    area.scrollTop = 0;
    await fireEvent.scroll(area);
    expect(button("approve-once").disabled).toBe(false);
  });

  it("shows why a decision was refused", async () => {
    hub.addApproval();
    await open();
    await advanceTime(CLICK_GUARD_MS);
    const [waiting] = hub.waiting;
    if (waiting) waiting.digest = "another";
    hub.emit({ kind: "clients_changed" });
    const call = vi.spyOn(hub, "call");
    call.mockRejectedValueOnce({
      code: "conflict",
      message: "The request changed since it was shown. Nothing was decided.",
    });
    call.mockReturnValue(new Promise(() => undefined) as never);
    await user.click(button("approve-once"));
    await advanceTime(1);
    expect(screen.getByTestId("approval-error").textContent).toContain("Nothing was decided.");
  });
});
