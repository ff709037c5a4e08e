/** Finds the parts of a text that are marked as code. */

export interface TextPart {
  text: string;
  isCode: boolean;
}

/**
 * Splits a text at its pairs of backticks. A backtick without a partner on the same line is plain
 * text.
 */
export function splitCode(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(/`([^`\n]+)`/g)) {
    if (match.index > end) parts.push({ text: text.slice(end, match.index), isCode: false });
    parts.push({ text: match[1] ?? "", isCode: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isCode: false });
  return parts;
}
