import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import type { FakeHub } from "../ipc/fake";
import { advanceTime, follow, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

/** Adds requests of a client, and waits until they are missed. */
async function miss(hub: FakeHub, client: string, count: number): Promise<void> {
  for (let index = 0; index < count; index++) hub.addApproval({ client, remaining_ms: 1000 });
  await advanceTime(1000);
}

const muteState = () => screen.queryByTestId("client-muted");

describe("a client with three missed calls in a row", () => {
  it("is muted for a minute, as the Approvals and the Clients screen show", async () => {
    const hub = await open("#/approvals");
    await miss(hub, "cursor", 2);
    expect(screen.queryByTestId("muted-notice")).toBeNull();
    await miss(hub, "cursor", 1);
    const notice = screen.getByTestId("muted-notice");
    expect(notice.textContent).toContain("cursor is muted: nobody decided three of its requests");
    expect(notice.textContent).toMatch(/Muted until \d\d:\d\d \(1:00 left\)/);
    await advanceTime(10_000);
    expect(notice.textContent).toContain("(0:50 left)");

    hub.addApproval({ client: "cursor" });
    expect(hub.waiting).toEqual([]);
    await advanceTime(1);
    await follow("#/approvals/missed");
    expect(within(screen.getByTestId("missed-earlier")).getAllByText("Muted")).toHaveLength(1);

    await follow("#/clients");
    const row = screen
      .getAllByTestId("client-row")
      .find((element) => element.dataset["client"] === "cursor") as HTMLElement;
    expect(within(row).getByTestId("client-muted").textContent).toContain("(0:50 left)");
    expect(screen.getAllByTestId("client-muted")).toHaveLength(1);
    await advanceTime(50_000);
    expect(muteState()).toBeNull();
  });

  it("is unmuted by a click", async () => {
    const hub = await open("#/approvals");
    await miss(hub, "cursor", 3);
    await user.click(screen.getByRole("button", { name: "Unmute cursor" }));
    await advanceTime(1);
    expect(listParams(hub, "clients.unmute")).toEqual([{ name: "cursor" }]);
    expect(muteState()).toBeNull();
    hub.addApproval({ client: "cursor" });
    await advanceTime(1);
    expect(screen.getByTestId("approval-card").textContent).toContain("cursor");
  });

  it("is unmuted by a decision about another call", async () => {
    const hub = await open("#/approvals");
    await miss(hub, "cursor", 3);
    const { id, digest } = hub.addApproval({ client: "claude-code" });
    await hub.call("approvals.decide", { id, digest, verdict: { kind: "deny", reason: "" } });
    await advanceTime(1);
    expect(muteState()).toBeNull();
  });

  it("stays muted if the hub cannot unmute it, and says why", async () => {
    const hub = await open("#/clients");
    await miss(hub, "cursor", 3);
    hub.failures.set("clients.unmute", new IpcError("internal", "The store is full."));
    await user.click(screen.getByTestId("client-unmute"));
    await advanceTime(1);
    expect(screen.getByTestId("client-unmute-error").textContent).toBe("The store is full.");
    expect(muteState()).toBeTruthy();
  });
});
