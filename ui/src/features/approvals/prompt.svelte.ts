/** The state of an approval card: deadline, guard against accidental clicks, and decision. */

import { messageOf } from "../../state/errors";

/** How long buttons are disabled after a change, so that no accidental click decides. */
const GUARD_MS = 500;
const TICK_MS = 250;

/** Must be created during the initialization of a component, because it uses effects. */
export class Prompt {
  guarded = $state(true);
  sending = $state(false);
  /** Whether the person has seen all of the content. */
  read = $state(false);
  error = $state("");
  /** The time left to decide, in milliseconds. */
  left = $state(0);
  /** Whether no decision is possible: the card is new, has expired, or is being decided. */
  readonly blocked = $derived(this.guarded || this.sending || this.left <= 0);
  readonly unapprovable = $derived(this.blocked || !this.read);
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** The guard starts again whenever `place` changes, because the card moves under the pointer. */
  constructor(deadline: () => number, place: () => unknown) {
    $effect(() => {
      place();
      this.guard();
      return () => clearTimeout(this.timer);
    });
    $effect(() => {
      const until = deadline();
      const tick = () => (this.left = Math.max(0, until - performance.now()));
      tick();
      const timer = setInterval(tick, TICK_MS);
      return () => clearInterval(timer);
    });
    $effect(() => {
      const shown = () => {
        if (document.visibilityState === "visible") this.guard();
      };
      document.addEventListener("visibilitychange", shown);
      return () => document.removeEventListener("visibilitychange", shown);
    });
  }

  /** Disables all buttons for half a second. */
  guard(): void {
    this.guarded = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.guarded = false), GUARD_MS);
  }

  /** Sends a decision. If it is accepted, the card disappears; if not, the card shows the error. */
  async send(act: () => Promise<unknown>): Promise<void> {
    if (this.blocked) return;
    this.sending = true;
    this.error = "";
    try {
      await act();
    } catch (thrown) {
      this.error = messageOf(thrown);
      this.sending = false;
    }
  }
}
