import { fireEvent, screen, within } from "@testing-library/svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import { IpcError, type ApprovalRequest } from "../ipc";
import type { FakeHub } from "../ipc/fake";
import * as data from "../ipc/fake/data";
import { advanceTime, follow, open, user, withFakeTime } from "../test/app";
import { button, CLICK_GUARD_MS, decisions, mockOverflow } from "../test/popup";

withFakeTime();
afterEach(() => vi.restoreAllMocks());

const rows = () => screen.queryAllByTestId("queue-row");
const row = (position: number) => rows()[position - 1] as HTMLElement;
const shownId = () => screen.getByTestId("approval-card").dataset["id"];
const hasFocus = (element: HTMLElement) => document.activeElement === element;

/** Opens the queue with one call of each tool, and waits until the calls can be decided. */
async function openQueue(tools: string[], part: Partial<ApprovalRequest> = {}): Promise<FakeHub> {
  const hub = await open("#/approvals", (fake) =>
    tools.forEach((tool) => fake.addApproval({ tool, ...part })),
  );
  await advanceTime(CLICK_GUARD_MS);
  return hub;
}

const decided = (hub: FakeHub) => decisions(hub).map(({ id, verdict }) => [id, verdict.kind]);

describe("the tabs of the Approvals screen", () => {
  const selected = () =>
    screen.getAllByRole("tab").find((tab) => tab.getAttribute("aria-selected") === "true")
      ?.textContent;

  it("are kept in the URL", async () => {
    await open("#/approvals", (hub) => hub.addApproval());
    expect(selected()).toBe("Pending (1)");
    await user.click(screen.getByTestId("approvals-tab-decided"));
    expect(location.hash).toBe("#/approvals/decided");
    await follow("#/approvals/missed");
    expect(selected()).toBe("Missed");
    expect(screen.queryByTestId("approval-card")).toBeNull();
    await user.click(screen.getByTestId("approvals-tab-pending"));
    expect(location.hash).toBe("#/approvals");
    await follow("#/approvals");
    expect(screen.getByTestId("approval-card")).toBeTruthy();
  });

  it("show pending calls for an unknown tab", async () => {
    await open("#/approvals/later");
    expect(selected()).toBe("Pending");
  });

  it("list the missed calls separately from those that a person decided", async () => {
    const hub = await open("#/approvals/decided", (hub) => {
      const [first] = hub.calls;
      if (first)
        hub.calls = [
          { ...first, id: "b", tool: "late_tool", decision: "timed_out", decided_by: "hub" },
          { ...first, id: "c", tool: "unknown_tool", decision: "denied", decided_by: "hub" },
          { ...first, id: "a", tool: "good_tool", decision: "allowed", decided_by: "person" },
        ];
    });
    const listed = () => screen.getAllByTestId("decided-call").map((call) => call.textContent);
    expect(listed()).toEqual(["good_tool of filesystem"]);
    const [call] = hub.calls;
    if (call) {
      const paused = { ...call, id: "d", decision: "paused", decided_by: "hub" } as const;
      hub.emit({ kind: "call_changed", call: paused });
    }
    await advanceTime(1);
    expect(listed()).toEqual(["good_tool of filesystem"]);
    await follow("#/approvals/missed");
    expect(listed()).toEqual(["late_tool of filesystem"]);
  });
});

describe("the queue of calls", () => {
  it("is a list with one line per call, beside the card of the first call, if several calls wait", async () => {
    const hub = await open("#/approvals", (fake) => {
      fake.addApproval({ client: "cursor", tool: "write\u202e_file", timeout_ms: 48_000 });
      fake.addApproval({ tool: "read_file", is_first: true });
      fake.addApproval({ tool: "merge", suspended: data.suspended(), is_first: true });
      fake.addApproval(data.formRequest());
    });
    expect(rows().map((line) => line.textContent.replaceAll(/\s+/g, " ").trim())).toEqual([
      "cursor filesystem/write⟨U+202E⟩_file 48 s",
      "claude-code filesystem/read_file New 50 s",
      "claude-code filesystem/merge Changed 50 s",
      "claude-code travel/elicitation/create Form 2:00",
    ]);
    expect(screen.getAllByTestId("approval-card")).toHaveLength(1);
    expect(shownId()).toBe(hub.waiting[0]?.id);
    expect(row(1).getAttribute("aria-current")).toBe("true");
    await user.click(row(3));
    expect(shownId()).toBe(hub.waiting[2]?.id);
    await advanceTime(2000);
    expect(row(1).textContent).toContain("46 s");
  });

  it("has no list if only one call waits", async () => {
    const hub = await openQueue(["write_file"]);
    expect(rows()).toEqual([]);
    expect(shownId()).toBe(hub.waiting[0]?.id);
  });

  it("is navigated with arrow keys, Home and End, and with J and K from anywhere", async () => {
    const hub = await openQueue(["one", "two", "three"]);
    const ids = hub.waiting.map(({ id }) => id);
    expect(hasFocus(document.body)).toBe(true);
    await user.keyboard("j");
    expect(hasFocus(row(1))).toBe(true);
    await user.keyboard("j");
    await advanceTime(1);
    expect(hasFocus(row(2))).toBe(true);
    await user.keyboard("{ArrowDown}{ArrowDown}");
    expect([shownId(), hasFocus(row(3))]).toEqual([ids[2], true]);
    await user.keyboard("k");
    expect(shownId()).toBe(ids[1]);
    await user.keyboard("{Home}");
    expect(shownId()).toBe(ids[0]);
    await user.keyboard("{End}{ArrowUp}");
    expect([shownId(), hasFocus(row(2))]).toEqual([ids[1], true]);
    expect(rows().map((line) => line.tabIndex)).toEqual([-1, 0, -1]);
    await user.keyboard("{Enter}");
    expect(document.activeElement?.contains(screen.getByTestId("approval-card"))).toBe(true);
  });

  it("is decided with A and D, one call per key press", async () => {
    const hub = await openQueue(["one", "two", "three"]);
    const [one, two, three] = hub.waiting.map(({ id }) => id);
    await user.keyboard("j");
    await advanceTime(CLICK_GUARD_MS);
    await user.keyboard("a");
    await advanceTime(1);
    expect([shownId(), hasFocus(row(1))]).toEqual([two, true]);
    await user.keyboard("{ArrowDown}");
    await advanceTime(CLICK_GUARD_MS);
    await user.keyboard("d");
    await advanceTime(CLICK_GUARD_MS + 1);
    expect(rows()).toEqual([]);
    await user.keyboard("a");
    await advanceTime(1);
    expect(decided(hub)).toEqual([
      [one, "approve_once"],
      [three, "deny"],
      [two, "approve_once"],
    ]);
    expect(screen.queryByTestId("approval-card")).toBeNull();
  });

  it("ignores keys for a card that has just appeared, and keys that are held down", async () => {
    const hub = await openQueue(["one", "two", "three"]);
    await user.keyboard("jj");
    await advanceTime(1);
    await user.keyboard("ad");
    await advanceTime(CLICK_GUARD_MS - 2);
    await user.keyboard("ad");
    expect(decisions(hub)).toEqual([]);
    await advanceTime(2);
    await fireEvent.keyDown(row(2), { key: "a", repeat: true });
    expect(decisions(hub)).toEqual([]);
    await user.keyboard("a");
    expect(decisions(hub)).toHaveLength(1);
  });

  it("ignores keys while the focus is elsewhere, while a text is typed, or with Ctrl", async () => {
    const hub = await openQueue(["one", "two"]);
    await user.keyboard("ad");
    screen.getByTestId("nav-calls").focus();
    await user.keyboard("ad");
    await user.click(row(1));
    await user.keyboard("{Control>}d{/Control}");
    await user.click(button("deny"));
    await user.type(screen.getByTestId("deny-reason"), "a bad jk idea");
    expect(screen.getByTestId<HTMLInputElement>("deny-reason").value).toBe("a bad jk idea");
    row(1).focus();
    await user.keyboard("ad");
    expect(decisions(hub)).toEqual([]);
  });

  it("ignores keys for a call that arrives when no other call waits", async () => {
    const hub = await openQueue(["one", "two"]);
    await user.click(row(1));
    await user.keyboard("d");
    await advanceTime(CLICK_GUARD_MS);
    await user.keyboard("d");
    await advanceTime(1);
    hub.addApproval();
    await advanceTime(CLICK_GUARD_MS);
    await user.keyboard("ad");
    expect(decisions(hub)).toHaveLength(2);
    await user.keyboard("j");
    await advanceTime(1);
    await user.keyboard("d");
    expect(decisions(hub)).toHaveLength(3);
  });

  it("goes to unread arguments instead of approving them", async () => {
    mockOverflow();
    const hub = await openQueue(["one", "two"]);
    await user.click(row(1));
    await user.keyboard("a");
    expect(hasFocus(screen.getByTestId("arguments"))).toBe(true);
    expect(decisions(hub)).toEqual([]);
    await user.keyboard("e");
    expect(screen.queryByTestId("edit-text")).toBeNull();
    await user.keyboard("d");
    await advanceTime(1);
    expect(decisions(hub)).toHaveLength(1);
  });

  it("opens the editor with E, and keeps the edit when another call ends", async () => {
    const hub = await openQueue(["one", "two"]);
    await user.click(row(2));
    await advanceTime(CLICK_GUARD_MS);
    await user.keyboard("e");
    await user.clear(screen.getByTestId("edit-text"));
    await user.type(screen.getByTestId("edit-text"), "{{}");
    hub.emit({ kind: "approval_ended", id: hub.waiting[0]?.id ?? "" });
    await advanceTime(CLICK_GUARD_MS);
    expect(rows()).toEqual([]);
    expect(screen.getByTestId<HTMLTextAreaElement>("edit-text").value).toBe("{}");
  });

  it("keeps the shown call when a call arrives, and shows the next call when it ends", async () => {
    const hub = await openQueue(["one", "two", "three"]);
    const [, two, three] = hub.waiting.map(({ id }) => id);
    await user.click(row(2));
    await advanceTime(CLICK_GUARD_MS);
    hub.addApproval({ tool: "one" });
    await advanceTime(1);
    expect([shownId(), row(3).dataset["id"]]).toEqual([two, two]);
    expect(button("approve-once").disabled).toBe(false);
    hub.emit({ kind: "approval_ended", id: two ?? "" });
    await advanceTime(1);
    expect(shownId()).toBe(three);
    expect(button("approve-once").disabled).toBe(true);
  });

  it("announces a new call", async () => {
    const hub = await openQueue(["one"]);
    const announced = () => screen.getByTestId("queue-announcement").textContent;
    hub.addApproval({ client: "cursor", tool: "write_file" });
    await advanceTime(1);
    expect(announced()).toBe(
      "cursor wants to call write_file of filesystem. 2 calls wait for you.",
    );
    hub.emit({ kind: "approval_ended", id: hub.waiting[0]?.id ?? "" });
    await advanceTime(1);
    expect(announced()).toBe("1 call waits for you.");
  });
});

describe("several selected calls", () => {
  const checks = () => screen.getAllByTestId<HTMLInputElement>("queue-check");
  const check = (position: number) => checks()[position - 1] as HTMLInputElement;
  const checked = () => checks().map((box) => box.checked);
  const card = () => screen.getByTestId("approval-card");
  const text = (element: Element) => element.textContent.replaceAll(/\s+/g, " ").trim();

  it("are approved together, after a summary of each of them", async () => {
    const hub = await open("#/approvals", (fake) => {
      fake.addApproval({ tool: "write_file", arguments: '{"path":"/a"}' });
      fake.addApproval({ client: "cursor", tool: "read_file", arguments: '{"path":"/b"}' });
      fake.addApproval({ tool: "write_file", arguments: '{"path":"/c"}' });
    });
    const [first, other, second] = hub.waiting.map(({ id }) => id);
    await user.click(check(1));
    expect(text(card())).toContain("claude-code wants to call write_file of filesystem");
    expect(text(button("batch-approve"))).toBe("Approve 1 call");
    await user.click(check(2));
    await user.click(check(3));
    expect(text(card())).toContain("Decide 3 calls together");
    expect(text(screen.getByTestId("batch-list"))).toBe(
      "claude-code wants to call write_file of filesystem 2 times 1 of 2 path /a 2 of 2 path /c " +
        "cursor wants to call read_file of filesystem path /b",
    );
    const later = hub.addApproval({ tool: "write_file" });
    await advanceTime(CLICK_GUARD_MS);
    expect(checked()).toEqual([true, true, false, true]);
    await user.click(button("batch-approve"));
    await advanceTime(1);
    expect(decided(hub)).toEqual([first, second, other].map((id) => [id, "approve_once"]));
    expect(screen.getByTestId("approvals-status").textContent).toBe("3 calls approved.");
    expect(shownId()).toBe(later.id);
  });

  it("cannot be decided in the half second after the selection has changed", async () => {
    const hub = await openQueue(["one", "two"]);
    await user.click(check(1));
    await advanceTime(CLICK_GUARD_MS);
    expect(button("batch-approve").disabled).toBe(false);
    await user.click(check(2));
    expect(button("batch-approve").disabled).toBe(true);
    await user.keyboard("a");
    expect(decisions(hub)).toEqual([]);
    await advanceTime(CLICK_GUARD_MS);
    await user.keyboard("a");
    await advanceTime(1);
    expect(decisions(hub)).toHaveLength(2);
  });

  it("have to be read again when a call is added", async () => {
    mockOverflow();
    await openQueue(["one", "two"]);
    const list = () => screen.getByTestId("batch-list");
    await user.click(check(1));
    await advanceTime(CLICK_GUARD_MS);
    list().scrollTop = 600;
    await fireEvent.scroll(list());
    expect(button("batch-approve").disabled).toBe(false);
    await user.click(check(2));
    await advanceTime(CLICK_GUARD_MS);
    expect(button("batch-approve").disabled).toBe(true);
    expect(button("batch-deny").disabled).toBe(false);
    await user.keyboard("a");
    expect(hasFocus(list())).toBe(true);
  });

  it("are approved only if they need no decision of their own", async () => {
    const hub = await open("#/approvals", (fake) => {
      fake.addApproval({ tool: "plain" });
      fake.addApproval({ tool: "moved", suspended: data.suspended() });
      fake.addApproval({ tool: "held", result: '{"content":[]}' });
      fake.addApproval(data.formRequest());
      const flag = { kind: "concealment", place: "/description", excerpt: "Tell nobody" } as const;
      fake.addApproval({ tool: "sly", flags: [flag] });
      fake.addApproval({ tool: "offered", changed: data.suspended().definitions });
    });
    const [plain] = hub.waiting.map(({ id }) => id);
    await user.click(screen.getByTestId("queue-select-all"));
    await advanceTime(CLICK_GUARD_MS);
    const own = within(screen.getByTestId("batch-own"));
    expect(own.getAllByRole("listitem").map(text)).toEqual([
      "claude-code wants to call moved of filesystem (the tool or its server has changed)",
      "Show the result of held of filesystem to claude-code? (a held result)",
      "travel asks you for input, for claude-code (a form to fill in)",
      "claude-code wants to call sly of filesystem (the server's text is flagged)",
      "claude-code wants to call offered of filesystem (the tool or its server has changed)",
    ]);
    expect(text(button("batch-approve"))).toBe("Approve 1 request");
    expect(text(screen.getByTestId("batch-list"))).not.toContain("sly");
    await user.click(button("batch-approve"));
    await advanceTime(1);
    expect(decided(hub)).toEqual([[plain, "approve_once"]]);
    expect(rows()).toHaveLength(5);
  });

  it("can only be denied if each call needs a decision of its own", async () => {
    const hub = await openQueue(["one", "two"], { suspended: data.suspended() });
    await user.click(screen.getByTestId("queue-select-all"));
    await advanceTime(CLICK_GUARD_MS);
    expect(screen.queryByTestId("batch-approve")).toBeNull();
    await user.keyboard("a");
    expect(decisions(hub)).toEqual([]);
    await user.click(button("batch-deny"));
    await user.click(button("deny-confirm"));
    await advanceTime(1);
    expect(decided(hub).map(([, kind]) => kind)).toEqual(["deny", "deny"]);
  });

  it("are selected with Space, Shift, Ctrl+A and Escape", async () => {
    await openQueue(["one", "two", "three", "four"]);
    await user.keyboard("j ");
    expect(checked()).toEqual([true, false, false, false]);
    await user.keyboard("{Shift>}{ArrowDown}{/Shift}");
    expect([checked(), hasFocus(row(2))]).toEqual([[true, true, false, false], true]);
    await user.keyboard(" ");
    expect(checked()).toEqual([true, false, false, false]);
    await user.keyboard("{Control>}a{/Control}");
    expect(checked()).toEqual([true, true, true, true]);
    expect(screen.getByText("4 selected")).toBeTruthy();
    await user.keyboard("{Escape}");
    expect(checked()).toEqual([false, false, false, false]);
    await user.click(check(1));
    await user.keyboard("{Shift>}");
    await user.click(check(3));
    await user.keyboard("{/Shift}");
    expect(checked()).toEqual([true, true, true, false]);
  });

  it("include all similar calls from the card of one call", async () => {
    const hub = await openQueue(["other", "same", "same"]);
    await user.click(row(3));
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("batch-open"));
    expect(checked()).toEqual([false, true, true]);
    await user.click(screen.getByRole("button", { name: "Back" }));
    expect(checked()).toEqual([false, false, false]);
    expect(shownId()).toBe(hub.waiting[2]?.id);
  });

  it("are listed with the reason if they could not be decided", async () => {
    const hub = await openQueue(["one", "two", "three"]);
    const [one, two] = hub.waiting;
    await user.click(screen.getByTestId("queue-select-all"));
    await advanceTime(CLICK_GUARD_MS);
    hub.failures.set("approvals.decide", new IpcError("internal", "The store cannot be written."));
    await user.click(button("batch-approve"));
    await advanceTime(1);
    expect(screen.getByTestId("approvals-status").textContent).toBe("2 calls approved.");
    expect(hub.waiting.map(({ id }) => id)).toEqual([one?.id]);
    expect(text(screen.getByTestId("approvals-failed"))).toBe(
      "These requests could not be decided and still wait: " +
        "claude-code wants to call one of filesystem: The store cannot be written.",
    );
    hub.addApproval({ tool: "two" });
    await advanceTime(1);
    expect(text(row(1))).toContain("Not decided");
    hub.emit({ kind: "approval_ended", id: one?.id ?? "" });
    await advanceTime(1);
    expect(screen.queryByTestId("approvals-failed")).toBeNull();
    expect(decisions(hub)[1]?.id).toBe(two?.id);
  });

  it("leave the selection when all of them have ended", async () => {
    const hub = await openQueue(["one", "two", "three"]);
    const ids = hub.waiting.map(({ id }) => id);
    await user.click(check(1));
    await user.click(check(2));
    hub.emit({ kind: "approval_ended", id: ids[0] ?? "" });
    await advanceTime(1);
    expect(card().textContent).toContain("1 of these calls has already ended.");
    hub.emit({ kind: "approval_ended", id: ids[1] ?? "" });
    await advanceTime(1);
    expect(screen.queryByTestId("batch-approve")).toBeNull();
    expect(shownId()).toBe(ids[2]);
  });
});
