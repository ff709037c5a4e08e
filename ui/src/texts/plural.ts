/** Returns the count with its noun, e.g. `1 call`, `2 calls` or `2 entries`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
