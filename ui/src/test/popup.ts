/** The approval popup on the fake hub, with the clock in the test's hand. */

import { render, screen } from "@testing-library/svelte";
import { vi } from "vitest";
import { FakeHub } from "../ipc/fake";
import type { Verbs } from "../ipc";
import Popup from "../views/Popup.svelte";
import { asked, pass } from "./app";

export const GUARD = 500;

/** Opens it on what `ask` asks for, and waits until its first half second is over. */
export async function openPopup(ask: (hub: FakeHub) => void, empty = true): Promise<FakeHub> {
  const hub = new FakeHub(empty);
  ask(hub);
  render(Popup, { ipc: hub });
  await pass(1);
  await pass(GUARD);
  return hub;
}

export function button(id: string): HTMLButtonElement {
  return screen.getByTestId<HTMLButtonElement>(id);
}

export function decisions(hub: FakeHub): Verbs["approvals.decide"]["params"][] {
  return asked(hub, "approvals.decide");
}

/** An area that is higher than what can be seen of it. */
export function tooHigh(): void {
  vi.spyOn(HTMLElement.prototype, "scrollHeight", "get").mockReturnValue(900);
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
}
