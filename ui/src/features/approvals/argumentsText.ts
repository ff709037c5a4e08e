/** The arguments of a call as editable text. */

import { JsonError, parseLossless, printLossless } from "../../lib/lossless";
import { reveal } from "../../lib/reveal";
import { texts } from "../../texts";

const t = texts.approvals.edit;

/**
 * Formats JSON over several lines, with escapes in place of hidden characters. Returns the text
 * unchanged if it is not JSON.
 */
export function prettyPrint(text: string): string {
  try {
    return escapeHidden(printLossless(parseLossless(text)));
  } catch {
    return text;
  }
}

/** Replaces hidden characters, which an editor would not show, with equivalent JSON escapes. */
function escapeHidden(json: string): string {
  const parts = reveal(json, { multiline: true });
  return parts
    .map((part) =>
      part.kind === "text"
        ? part.text
        : toEscape(String.fromCodePoint(parseInt(part.code.slice(2), 16))),
    )
    .join("");
}

function toEscape(char: string): string {
  return char
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/**
 * Describes the first syntax error in the text with its position, or says that the text is not an
 * object. Returns "" if the text is a JSON object.
 */
export function describeError(text: string): string {
  try {
    return parseLossless(text).kind === "object" ? "" : t.notObject;
  } catch (thrown) {
    if (!(thrown instanceof JsonError)) throw thrown;
    const before = text.slice(0, thrown.offset).split("\n");
    return t.errorAt(before.length, (before.at(-1) ?? "").length + 1, thrown.reason);
  }
}
