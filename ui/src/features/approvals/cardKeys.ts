/** The keys that decide about the shown card. */

import { getContext, setContext } from "svelte";

/** The actions of the keys. An action does nothing while the card blocks it. */
export interface CardActions {
  approve?: () => void;
  deny?: () => void;
  edit?: () => void;
}

const KEYS: Record<string, keyof CardActions> = { a: "approve", d: "deny", e: "edit" };

export class CardKeys {
  private actions: CardActions = {};

  /** Lets the keys act on a card, until the returned function is called. */
  offer(actions: CardActions): () => void {
    this.actions = actions;
    return () => {
      if (this.actions === actions) this.actions = {};
    };
  }

  /** Runs the action of a key. Returns whether the key has an action. */
  press(key: string): boolean {
    const name = KEYS[key.toLowerCase()];
    if (name === undefined) return false;
    this.actions[name]?.();
    return true;
  }
}

const CONTEXT = Symbol("card keys");

export function provideCardKeys(): CardKeys {
  return setContext(CONTEXT, new CardKeys());
}

/** Returns the keys of the queue, or `undefined` in the popup, which has none. */
export function useCardKeys(): CardKeys | undefined {
  return getContext<CardKeys | undefined>(CONTEXT);
}
