import { fireEvent, screen } from "@testing-library/svelte";
import { describe, expect, it, vi, afterEach } from "vitest";
import type { FakeHub } from "../ipc/fake";
import { advanceTime, follow, open, withFakeTime } from "../test/app";
import { DesktopWithoutTray } from "../test/desktop";
import { button, CLICK_GUARD_MS, openPopup } from "../test/popup";

withFakeTime();
afterEach(() => vi.restoreAllMocks());

/** Sets the height of the popup's content, which jsdom does not compute. */
function mockHeight(height: number): void {
  vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockReturnValue(
    new DOMRect(0, 0, 460, height),
  );
}

/** Puts the pointer over the window or outside it. A leaving pointer sends the page no event. */
async function movePointer(isOver: boolean): Promise<void> {
  vi.spyOn(document.documentElement, "matches").mockImplementation(
    (selector) => selector === ":hover" && isOver,
  );
  if (isOver) await fireEvent.mouseMove(document.body);
}

function mockVisibility(state: DocumentVisibilityState): void {
  vi.spyOn(document, "visibilityState", "get").mockReturnValue(state);
}

async function openOnDesktop(
  addApprovals: (hub: FakeHub) => void,
): Promise<{ hub: FakeHub; desktop: DesktopWithoutTray }> {
  const desktop = new DesktopWithoutTray();
  const hub = await openPopup((hub) => {
    hub.desktop = desktop;
    addApprovals(hub);
  });
  desktop.fitPopup.mockClear();
  return { hub, desktop };
}

describe("the window of the popup", () => {
  it("gets the height of its content when the content changes", async () => {
    mockHeight(412.4);
    const { hub, desktop } = await openOnDesktop(() => undefined);
    hub.addApproval();
    await advanceTime(1);
    expect(desktop.fitPopup).toHaveBeenLastCalledWith(413);
    expect(screen.getByRole("main").style.height).toBe("");
  });

  it("is not asked to change if it has that height already", async () => {
    mockHeight(window.innerHeight);
    const { hub, desktop } = await openOnDesktop(() => undefined);
    hub.addApproval();
    await advanceTime(1);
    expect(desktop.fitPopup).not.toHaveBeenCalled();
  });

  it("reports its height in any case while it is hidden, because the app waits for the height", async () => {
    mockHeight(window.innerHeight);
    mockVisibility("hidden");
    const { hub, desktop } = await openOnDesktop(() => undefined);
    hub.addApproval();
    await advanceTime(1);
    expect(desktop.fitPopup).toHaveBeenLastCalledWith(window.innerHeight);
  });

  it("changes only after the pointer has left it", async () => {
    mockHeight(412);
    const { hub, desktop } = await openOnDesktop((hub) => hub.addApproval());
    await movePointer(true);
    hub.addApproval({ tool: "another" });
    await advanceTime(5000);
    expect(screen.getByTestId("popup-position").textContent).toBe("1 of 2");
    expect(desktop.fitPopup).not.toHaveBeenCalled();
    await movePointer(false);
    await advanceTime(250);
    expect(desktop.fitPopup).toHaveBeenCalledExactlyOnceWith(412);
  });

  it("forgets the pointer when it is hidden", async () => {
    mockHeight(412);
    const { hub, desktop } = await openOnDesktop((hub) => hub.addApproval());
    await movePointer(true);
    mockVisibility("hidden");
    await fireEvent(document, new Event("visibilitychange"));
    mockVisibility("visible");
    hub.addApproval({ tool: "another" });
    await advanceTime(1);
    expect(desktop.fitPopup).toHaveBeenCalledExactlyOnceWith(412);
    await movePointer(true);
    hub.addApproval({ tool: "a third" });
    await advanceTime(1);
    expect(desktop.fitPopup).toHaveBeenCalledOnce();
  });

  it("may change under the pointer while it is hidden", async () => {
    mockHeight(412);
    const { hub, desktop } = await openOnDesktop((hub) => hub.addApproval());
    await movePointer(true);
    mockVisibility("hidden");
    hub.addApproval({ tool: "another" });
    await advanceTime(1);
    expect(desktop.fitPopup).toHaveBeenLastCalledWith(412);
  });

  it("takes no decision for half a second after its size has changed", async () => {
    await openOnDesktop((hub) => hub.addApproval());
    expect(button("approve-once").disabled).toBe(false);
    await fireEvent(window, new Event("resize"));
    expect(button("approve-once").disabled).toBe(true);
    await advanceTime(CLICK_GUARD_MS);
    expect(button("approve-once").disabled).toBe(false);
  });

  it("takes no decision for half a second after another card has appeared", async () => {
    const { hub } = await openOnDesktop((hub) => {
      hub.addApproval({ id: "first", tool: "one", remaining_ms: 2000 });
      hub.addApproval({ id: "second", tool: "two", remaining_ms: 60_000 });
    });
    await movePointer(true);
    expect(screen.getByTestId("approval-card").dataset["id"]).toBe("first");
    // `openPopup` has waited for `CLICK_GUARD_MS` already.
    await advanceTime(2000 - CLICK_GUARD_MS);
    expect(hub.waiting).toHaveLength(1);
    expect(screen.getByTestId("approval-card").dataset["id"]).toBe("second");
    expect(button("approve-once").disabled).toBe(true);
  });
});

describe("the main window", () => {
  it("tells the app whether it shows the Approvals screen", async () => {
    const desktop = new DesktopWithoutTray();
    await open("#/calls", (hub) => (hub.desktop = desktop));
    expect(desktop.showsApprovals).toHaveBeenLastCalledWith(false);
    await follow("#/approvals");
    expect(desktop.showsApprovals).toHaveBeenLastCalledWith(true);
    await follow("#/clients");
    expect(desktop.showsApprovals).toHaveBeenLastCalledWith(false);
  });

  it("lets the popup appear while the Approvals screen shows the guide", async () => {
    const desktop = new DesktopWithoutTray();
    await open("#/approvals", (hub) => {
      hub.desktop = desktop;
      hub.calls = [];
    });
    expect(screen.getByTestId("guide")).toBeTruthy();
    expect(desktop.showsApprovals).toHaveBeenLastCalledWith(false);
  });
});
