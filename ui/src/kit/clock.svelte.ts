/** Reactive clocks for relative times. A clock ticks only while something reads it. */

import { createSubscriber } from "svelte/reactivity";

class Clock {
  private readonly subscribe: () => void;

  constructor(intervalMs: number) {
    this.subscribe = createSubscriber((update) => {
      const timer = setInterval(update, intervalMs);
      return () => clearInterval(timer);
    });
  }

  get now(): number {
    this.subscribe();
    return Date.now();
  }
}

/** Ticks every five seconds. */
export const clock = new Clock(5000);

/** Ticks every second, for countdowns. */
export const secondsClock = new Clock(1000);
