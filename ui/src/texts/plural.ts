/** Returns the count with its noun, e.g. `1 call`, `2 calls` or `2 entries`. */
export function plural(count: number, noun: string, pluralNoun = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : pluralNoun}`;
}
