/** Keeps the filters of a screen in the hash of the URL, as in `#/logs?server=github`. */

/**
 * Replaces the filters in the hash, without empty values. Adds no entry to the history, and fires
 * no `hashchange`, because the screen itself has changed the filters.
 */
export function replaceQuery(values: Record<string, string>): void {
  const [path = ""] = location.hash.split("?");
  history.replaceState(null, "", path + formatQuery(values));
}

/** Returns the filters as text that begins with `?`, or an empty text if all of them are empty. */
export function formatQuery(values: Record<string, string>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ""));
  return query.size ? `?${query.toString()}` : "";
}

/** Returns the value of a filter if it is a known value, and otherwise the first known value. */
export function readChoice<T extends string>(
  query: URLSearchParams,
  name: string,
  known: readonly [T, ...T[]],
): T {
  const value = query.get(name);
  return known.find((choice) => choice === value) ?? known[0];
}
