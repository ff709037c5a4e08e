/** Scores how well a text matches a query, for a search in which a query may skip characters. */

/** The score of a character at the start of a word. */
const WORD_START = 8;
/** The score of a character right after the one that was matched before. */
const ADJACENT = 5;

/**
 * Returns a score, or `null` if the text does not contain the characters of the query in their
 * order. The spaces of the query may be missing. A higher score is a better match. The query and
 * the text must be in lower case. An empty query matches every text.
 */
export function scoreMatch(query: string, text: string): number | null {
  const found = text.indexOf(query);
  if (found >= 0) return 1000 - Math.min(found, 500) + (isWordStart(text, found) ? 200 : 0);
  let score = 0;
  let previous = -1;
  for (const char of query) {
    if (char === " ") continue;
    const index = text.indexOf(char, previous + 1);
    if (index < 0) return null;
    if (isWordStart(text, index)) score += WORD_START;
    else if (index === previous + 1) score += ADJACENT;
    else score -= Math.min(index - previous, 10);
    previous = index;
  }
  return score;
}

function isWordStart(text: string, index: number): boolean {
  return index === 0 || /[\s_\-./:]/.test(text.charAt(index - 1));
}
