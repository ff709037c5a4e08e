/** The time for screens that say how long ago something was. Ticks only while something reads it. */

import { createSubscriber } from "svelte/reactivity";

class Clock {
  private readonly subscribe: () => void;

  constructor(readonly every: number) {
    this.subscribe = createSubscriber((update) => {
      const timer = setInterval(update, every);
      return () => clearInterval(timer);
    });
  }

  get now(): number {
    this.subscribe();
    return Date.now();
  }
}

/** Every five seconds. */
export const clock = new Clock(5000);

/** Every second, for what counts down. */
export const seconds = new Clock(1000);
