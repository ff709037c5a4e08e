/** Opens the main window on the fake hub, with fake timers. */

import { cleanup, render } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, vi } from "vitest";
import App from "../App.svelte";
import type { Verb, Verbs } from "../ipc";
import { FakeHub } from "../ipc/fake";
import { loadAllScreens } from "../views/screens.svelte";

// The tests simulate time, but the loading of a file takes real time.
await loadAllScreens();

export const user = userEvent.setup({ advanceTimers: (ms) => vi.advanceTimersByTime(ms) });

/** Installs fake timers. Call it once in a test file. */
export function withFakeTime(): void {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    cleanup();
    vi.useRealTimers();
    location.hash = "";
  });
}

export async function advanceTime(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Opens the window at a hash. `change` changes the fake hub before that. */
export async function open(
  hash: string,
  change: (hub: FakeHub) => void = () => undefined,
): Promise<FakeHub> {
  const hub = new FakeHub();
  change(hub);
  location.hash = hash;
  render(App, { ipc: hub });
  await advanceTime(1);
  return hub;
}

/** Returns the parameters of all calls of a verb, in order. */
export function listParams<V extends Verb>(hub: FakeHub, verb: V): Verbs[V]["params"][] {
  return hub.verbCalls
    .filter((call) => call.verb === verb)
    .map((call) => call.params as Verbs[V]["params"]);
}

/** Follows a link, and waits until the screen has searched. */
export async function follow(hash: string): Promise<void> {
  location.hash = hash;
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  await advanceTime(250);
}
