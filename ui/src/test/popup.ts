/** Opens the approval popup on the fake hub, with fake timers. */

import { render, screen } from "@testing-library/svelte";
import { vi } from "vitest";
import { FakeHub } from "../ipc/fake";
import type { Verbs } from "../ipc";
import Popup from "../views/Popup.svelte";
import { listParams, passTime } from "./app";

/** How long buttons stay disabled after the card has appeared. */
export const GUARD = 500;

/** Opens the popup with the requests that `ask` makes, and waits until its buttons are enabled. */
export async function openPopup(ask: (hub: FakeHub) => void, empty = true): Promise<FakeHub> {
  const hub = new FakeHub(empty);
  ask(hub);
  render(Popup, { ipc: hub });
  await passTime(1);
  await passTime(GUARD);
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
