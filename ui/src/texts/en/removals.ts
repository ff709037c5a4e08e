/** Texts about removals that can still be undone. */

import { plural } from "../plural";

export const removals = {
  pending: {
    servers: (count: number) =>
      `${plural(count, "server")} will be removed in 10 seconds, with ${count === 1 ? "its" : "their"} secrets, sign-in, rules, cached lists and log.`,
    rules: (count: number) =>
      `${plural(count, "rule")} ${count === 1 ? "is" : "are"} switched off, and will be deleted in 10 seconds.`,
    hooks: (count: number) =>
      `${plural(count, "hook")} ${count === 1 ? "is" : "are"} switched off, and will be removed in 10 seconds, with ${count === 1 ? "its" : "their"} secrets.`,
    profiles: (count: number) => `${plural(count, "profile")} will be removed in 10 seconds.`,
    memory: (count: number) =>
      `${count} memory ${count === 1 ? "entry" : "entries"} will be deleted in 10 seconds.`,
  },
  undo: "Undo",
  now: "Remove now",
  failed: {
    remove: "The removal failed:",
    undo: "Undoing the removal failed:",
  },
};
