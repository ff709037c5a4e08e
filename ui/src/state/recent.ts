/** The entries of the command palette that were used last. They are saved in this browser only. */

import { readStored, writeStored } from "../lib/stored";

const KEY = "drawbridge-recent";
const MAX_RECENT = 5;

/** Returns the keys of the entries, newest first. */
export function readRecent(): string[] {
  try {
    const saved: unknown = JSON.parse(readStored(KEY) || "[]");
    return Array.isArray(saved) ? saved.filter((key) => typeof key === "string") : [];
  } catch {
    return [];
  }
}

/** Records that an entry was used. */
export function recordUse(key: string): void {
  const others = readRecent().filter((other) => other !== key);
  writeStored(KEY, JSON.stringify([key, ...others].slice(0, MAX_RECENT)));
}
