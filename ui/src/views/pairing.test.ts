import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { IpcError } from "../ipc";
import { pairingRequest } from "../ipc/fake/pairing";
import { advanceTime, listParams, open, user, withFakeTime } from "../test/app";

withFakeTime();

async function click(testid: string) {
  await user.click(screen.getByTestId(testid));
  await advanceTime(1);
}

describe("a program that asks to be paired", () => {
  it("is announced on every screen, and shown with its program and folder", async () => {
    const hub = await open("#/calls");
    expect(screen.queryByTestId("pairing-banner")).toBeNull();
    const request = pairingRequest();
    hub.pairings = [request];
    hub.emit({ kind: "pairing_requested", request });
    await advanceTime(1);
    expect(screen.getByTestId("pairing-banner").textContent).toContain("A program asks");
    location.hash = "#/clients";
    await advanceTime(1);
    const title = screen.getByRole("heading", { name: "A program asks to use your servers" });
    expect(title.tagName).toBe("H2");
    const card = screen.getByTestId("pairing-card").textContent;
    expect(card).toContain("notes-assistant");
    expect(card).toContain("/home/ada/.local/bin/notes-assistant");
    expect(card).toContain("/home/ada/notes");
    expect(screen.queryByTestId("pairing-banner")).toBeNull();
  });

  it("is approved with a name and a profile, but not by a click right after it appeared", async () => {
    const hub = await open("#/clients", (hub) => (hub.pairings = [pairingRequest()]));
    await click("pairing-approve");
    expect(listParams(hub, "pairing.answer")).toEqual([]);
    await advanceTime(500);
    await user.clear(screen.getByTestId("pairing-name"));
    await click("pairing-approve");
    expect(screen.getByText("Enter a name first.")).toBeTruthy();
    await user.type(screen.getByTestId("pairing-name"), "notes");
    await user.selectOptions(screen.getByTestId("pairing-profile"), "writing");
    await click("pairing-approve");
    expect(listParams(hub, "pairing.answer")).toEqual([
      { id: "pairing-1", approve: true, name: "notes", profile: "writing" },
    ]);
    expect(screen.queryByTestId("pairing-card")).toBeNull();
    const rows = screen.getAllByTestId("client-row").map((row) => row.dataset.client);
    expect(rows).toContain("notes");
  });

  it("is denied", async () => {
    const hub = await open("#/clients", (hub) => (hub.pairings = [pairingRequest()]));
    await advanceTime(500);
    await click("pairing-deny");
    expect(listParams(hub, "pairing.answer")[0]).toMatchObject({ approve: false });
    expect(screen.queryByTestId("pairing-card")).toBeNull();
  });

  it("keeps its card, with the reason, if it cannot be added", async () => {
    const hub = await open("#/clients", (hub) => (hub.pairings = [pairingRequest()]));
    await advanceTime(500);
    hub.failures.set("pairing.answer", new IpcError("conflict", "A client named 'x' exists."));
    await click("pairing-approve");
    expect(screen.getByTestId("pairing-error").textContent).toContain("A client named");
  });

  it("is shown with its revoked client, even if the system does not reveal the program", async () => {
    await open(
      "#/clients",
      (hub) => (hub.pairings = [pairingRequest({ program: null, revoked_client: "old-laptop" })]),
    );
    expect(screen.getByTestId("pairing-card").textContent).toContain("does not reveal");
    expect(screen.getByTestId("pairing-revoked").textContent).toContain("old-laptop");
  });
});
