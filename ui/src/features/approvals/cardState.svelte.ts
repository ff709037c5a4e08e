/** The state of an approval card: deadline, guard against accidental clicks, and decision. */

import { messageOf } from "../../state/errors";

/** How long the card is guarded after a change, so that no accidental click decides. */
const GUARD_MS = 500;
const TICK_MS = 250;

/** Must be created during the initialization of a component, because it uses effects. */
export class CardState {
  /** Whether the card appeared or changed a moment ago, so that a click may be accidental. */
  guarded = $state(true);
  /** Whether a decision was sent and not answered yet. */
  sending = $state(false);
  /** Whether the person has seen all of the content. */
  read = $state(false);
  error = $state("");
  /** The time left to decide, in milliseconds. */
  timeLeft = $state(0);
  /**
   * Whether all buttons except “Back” are disabled: while the card is guarded, while a decision is
   * sent, or after the deadline.
   */
  readonly blocked = $derived(this.guarded || this.sending || this.timeLeft <= 0);
  /** Whether the buttons that approve are disabled: also until the person has seen the content. */
  readonly approveBlocked = $derived(this.blocked || !this.read);
  private timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * `deadline` is a time of `performance.now()`. Whenever `guardKey` changes, the card is
   * guarded, because it moves under the pointer.
   */
  constructor(deadline: () => number, guardKey: () => unknown) {
    const key = $derived(guardKey());
    $effect(() => {
      void key;
      this.guard();
      return () => clearTimeout(this.timer);
    });
    $effect(() => {
      const end = deadline();
      const tick = () => (this.timeLeft = Math.max(0, end - performance.now()));
      tick();
      const timer = setInterval(tick, TICK_MS);
      return () => clearInterval(timer);
    });
    $effect(() => {
      const guardIfVisible = () => {
        if (document.visibilityState === "visible") this.guard();
      };
      document.addEventListener("visibilitychange", guardIfVisible);
      return () => document.removeEventListener("visibilitychange", guardIfVisible);
    });
  }

  /** Disables all buttons except “Back” for half a second. */
  guard(): void {
    this.guarded = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.guarded = false), GUARD_MS);
  }

  /**
   * Sends a decision, unless the card is blocked. If the hub accepts the decision, the card
   * disappears; if not, the card shows the error.
   */
  async send(sendDecision: () => Promise<unknown>): Promise<void> {
    if (this.blocked) return;
    this.sending = true;
    this.error = "";
    try {
      await sendDecision();
    } catch (thrown) {
      this.error = messageOf(thrown);
      this.sending = false;
    }
  }
}
