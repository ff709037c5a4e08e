import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import type { FakeHub } from "../ipc/fake";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";
import { openPopup } from "../test/popup";

withFakeTime();

/** Adds a request, a call of another session, and seven older calls of the request's session. */
function addRequest(hub: FakeHub) {
  hub.waiting = [];
  const { session } = hub.addApproval();
  const [call] = hub.calls;
  if (!call) return;
  hub.calls = Array.from({ length: 8 }, (_, index) => ({
    ...call,
    id: `c${index}`,
    at: Date.now() - index * 60_000,
    session: index === 0 ? "another" : session,
    tool: `tool_${index}`,
    decision: index === 2 ? "denied" : "allowed",
    outcome: index === 2 ? "not_sent" : "ok",
  }));
}

const openCalls = async () => {
  await user.click(screen.getByTestId("last-calls"));
  await advanceTime(1);
};

describe("the last calls of a session", () => {
  it("are read when the section is opened, and lead to the calls", async () => {
    const hub = await open("#/approvals", addRequest);
    expect(listParams(hub, "approvals.last_calls")).toEqual([]);
    await openCalls();
    const rows = screen.getAllByTestId("last-call");
    expect(rows.map((row) => row.dataset["call"])).toEqual(["c1", "c2", "c3", "c4", "c5"]);
    expect(rows[0]?.textContent).toMatch(/tool_1\s*OK\s*1 min ago/i);
    expect(rows[1]?.textContent).toMatch(/tool_2\s*Denied/);
    expect(rows[0]?.querySelector("time")?.title).toMatch(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d$/);
    expect(rows[0]?.querySelector("a")?.hash).toBe("#/calls/c1");
    const deny = screen.getByTestId<HTMLButtonElement>("deny");
    expect(deny.disabled, "the buttons moved under the pointer").toBe(true);
    await advanceTime(500);
    expect(deny.disabled).toBe(false);
  });

  it("have no links in the popup, which has no Calls screen", async () => {
    await openPopup(addRequest, false);
    await openCalls();
    expect(screen.getAllByTestId("last-call")).toHaveLength(5);
    expect(screen.queryByRole("link", { name: /tool_1/ })).toBeNull();
  });

  it("say why they cannot be read", async () => {
    const hub = await open("#/approvals", addRequest);
    hub.failures.set("approvals.last_calls", new IpcError("internal", "The store cannot be read."));
    await openCalls();
    expect(screen.getByTestId("last-calls-error").textContent).toContain("cannot be read");
  });
});
