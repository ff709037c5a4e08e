import { fireEvent, screen } from "@testing-library/svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { FakeHub } from "../ipc/fake";
import { open, advanceTime, user, withFakeTime } from "../test/app";
import { button, decisions, CLICK_GUARD_MS, openPopup, mockOverflow } from "../test/popup";

withFakeTime();
afterEach(() => vi.restoreAllMocks());

const addCall = (hub: FakeHub, path: string) =>
  hub.addApproval({ arguments: JSON.stringify({ path }) });

async function openBatch(paths: string[]) {
  const hub = await openPopup((fake) => paths.forEach((path) => addCall(fake, path)));
  const shown = [...hub.waiting];
  await user.click(button("batch-open"));
  await advanceTime(CLICK_GUARD_MS);
  return { hub, shown };
}

describe("similar calls", () => {
  it("share a card with a counter, but not with calls of another tool, another client or a changed tool", async () => {
    await openPopup((hub) => {
      addCall(hub, "/a");
      addCall(hub, "/b");
      hub.addApproval({ tool: "write_file" });
      hub.addApproval({ client: "cursor" });
      hub.addApproval({ definition_digest: "another" });
    });
    expect(screen.getByTestId("approval-card").textContent).toContain("1 of 2 similar calls");
    expect(screen.getByTestId("popup-position").textContent).toBe("1 of 4");
    expect(screen.getByTestId("popup-more").textContent).toBe("3 more wait");
  });

  it("show the arguments of each call, and identical arguments once with their count", async () => {
    await openBatch(["/a", "/b", "/a"]);
    const items = screen.getByTestId("batch-list").querySelectorAll("ol > li");
    // The first text begins with the position, “1 of 2”, and the count, “2 calls with …”.
    expect([...items].map((item) => item.textContent.replaceAll(/\s+/g, " ").trim())).toEqual([
      "1 of 22 calls with exactly these arguments path /a",
      "2 of 2 path /b",
    ]);
  });

  it("are decided exactly as they were shown, without later calls", async () => {
    const { hub, shown } = await openBatch(["/a", "/b"]);
    const laterCall = addCall(hub, "/late");
    await advanceTime(1);
    expect(screen.getByTestId("batch-list").textContent).not.toContain("/late");
    await user.click(button("batch-approve"));
    await advanceTime(1);
    expect(decisions(hub)).toEqual(
      shown.map(({ id, digest }) => ({
        id,
        digest,
        verdict: { kind: "approve_once", arguments: null },
      })),
    );
    expect(hub.waiting.map((request) => request.id)).toEqual([laterCall.id]);
    expect(screen.getByTestId("approvals-status").textContent).toBe("2 calls approved.");
    expect(screen.getByTestId("approval-card").dataset["id"]).toBe(laterCall.id);
  });

  it("are counted separately if some were decided elsewhere", async () => {
    const { hub, shown } = await openBatch(["/a", "/b", "/c"]);
    hub.waiting = hub.waiting.filter((request) => request.id !== shown[1]?.id);
    await user.click(button("batch-approve"));
    await advanceTime(1);
    expect(screen.getByTestId("approvals-status").textContent).toBe(
      "2 calls approved. 1 call had ended already: decided elsewhere, missed, or cancelled by the client.",
    );
  });

  it("stay on screen when the oldest call ends while a person reads them", async () => {
    const { hub, shown } = await openBatch(["/a", "/b"]);
    hub.emit({ kind: "approval_ended", id: shown[0]?.id ?? "" });
    await advanceTime(1);
    expect(screen.getByTestId("batch-list").textContent).toContain("/a");
    expect(screen.getByTestId("approval-card").textContent).toContain(
      "1 of these calls has already ended.",
    );
  });

  it("are denied with one reason", async () => {
    const { hub } = await openBatch(["/a", "/b"]);
    await user.click(button("batch-deny"));
    await user.type(screen.getByTestId("deny-reason"), "Not now.");
    await user.click(button("deny-confirm"));
    await advanceTime(1);
    expect(decisions(hub).map((decision) => decision.verdict)).toEqual([
      { kind: "deny", reason: "Not now." },
      { kind: "deny", reason: "Not now." },
    ]);
    expect(screen.getByTestId("approvals-status").textContent).toBe("2 calls denied.");
  });

  it("are approved only after the list was scrolled to its end, but can be denied before", async () => {
    mockOverflow();
    const hub = await openPopup((fake) => ["/a", "/b"].forEach((path) => addCall(fake, path)));
    await user.click(button("batch-open"));
    expect(button("batch-deny").disabled).toBe(true);
    await advanceTime(CLICK_GUARD_MS);
    expect(button("batch-deny").disabled).toBe(false);
    expect(button("batch-approve").disabled).toBe(true);
    const list = screen.getByTestId("batch-list");
    list.scrollTop = 600;
    await fireEvent.scroll(list);
    expect(button("batch-approve").disabled).toBe(false);
    button("batch-approve").focus();
    await user.keyboard("{Enter} ");
    expect(decisions(hub)).toEqual([]);
  });

  it("share a card in the main window too", async () => {
    await open("#/approvals", (hub) => ["/a", "/b"].forEach((path) => addCall(hub, path)));
    expect(screen.getAllByTestId("approval-card")).toHaveLength(1);
    await advanceTime(CLICK_GUARD_MS);
    await user.click(button("batch-open"));
    expect(screen.getByTestId("batch-approve").textContent.trim()).toBe("Approve 2 calls");
  });
});
