/** Opens the approval popup on the fake hub, with fake timers. */

import { render, screen } from "@testing-library/svelte";
import { vi } from "vitest";
import { FakeHub } from "../ipc/fake";
import type { Verbs } from "../ipc";
import Popup from "../views/Popup.svelte";
import { listParams, advanceTime } from "./app";

/** How long buttons stay disabled after the card has appeared. */
export const CLICK_GUARD_MS = 500;

/**
 * Opens the popup with the approvals that `addApprovals` adds, and waits until its buttons are
 * enabled. If `empty` is set, the hub has no other data.
 */
export async function openPopup(
  addApprovals: (hub: FakeHub) => void,
  empty = true,
): Promise<FakeHub> {
  const hub = new FakeHub(empty);
  addApprovals(hub);
  render(Popup, { ipc: hub });
  await advanceTime(1);
  await advanceTime(CLICK_GUARD_MS);
  return hub;
}

export function button(id: string): HTMLButtonElement {
  return screen.getByTestId<HTMLButtonElement>(id);
}

export function decisions(hub: FakeHub): Verbs["approvals.decide"]["params"][] {
  return listParams(hub, "approvals.decide");
}

/** Makes every element overflow, so that it has to be scrolled. */
export function mockOverflow(): void {
  vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(900);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
}
