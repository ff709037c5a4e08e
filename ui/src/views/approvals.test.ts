import { fireEvent, screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ApprovalRequest } from "../ipc";
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

/** Opens the queue with one call of each of the tools, and waits until it can be decided. */
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

  it("list calls that nobody decided apart from those that a person decided", async () => {
    await open("#/approvals/decided", (hub) => {
      const [first] = hub.calls;
      if (first)
        hub.calls = [
          { ...first, id: "b", tool: "late_tool", decision: "timed_out", decided_by: "hub" },
          { ...first, id: "a", tool: "good_tool", decision: "allowed", decided_by: "person" },
        ];
    });
    expect(screen.getAllByTestId("decided-call").map((call) => call.textContent)).toEqual([
      "good_tool of filesystem",
    ]);
    await follow("#/approvals/missed");
    expect(screen.getAllByTestId("decided-call").map((call) => call.textContent)).toEqual([
      "late_tool of filesystem",
    ]);
  });
});

describe("a queue of several calls", () => {
  it("is a list with one line a call, beside the card of the first", async () => {
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

  it("is decided with A and D, one call a key press", async () => {
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

  it("takes no key for a card that has just appeared, and none that is held down", async () => {
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

  it("takes no key while the focus is elsewhere, while a text is typed, or with Ctrl", async () => {
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

  it("keeps the selected call when others arrive, and selects the next one when it ends", async () => {
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
