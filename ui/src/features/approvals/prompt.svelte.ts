/** What every question to a person has: a time, a guard against a hand that was on its way, and one answer. */

import { messageOf } from "../../state/errors";

/** A click that was meant for what stood here before decides nothing. */
const GUARD_MS = 500;
const TICK_MS = 250;

/** To be made where a component begins: it lives as long as that. */
export class Prompt {
  guarded = $state(true);
  sending = $state(false);
  /** All of what is decided was within sight. */
  read = $state(false);
  error = $state("");
  /** What is left of the time to decide, in milliseconds. */
  left = $state(0);
  /** Nothing can be decided: it has only just appeared, its time is up, or a decision is on its way. */
  readonly blocked = $derived(this.guarded || this.sending || this.left <= 0);
  readonly unapprovable = $derived(this.blocked || !this.read);
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `place` changes when it moves on the screen: then it moves under the pointer. */
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

  /** Another button has come to where one was. */
  guard(): void {
    this.guarded = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.guarded = false), GUARD_MS);
  }

  /** Sends an answer. Once it is taken, the question goes; where it is refused, it stays with the reason. */
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
