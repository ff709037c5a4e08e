/** The arguments as a text that a person changes. */

import { JsonError, parseLossless, printLossless } from "../../lib/lossless";
import { reveal } from "../../lib/reveal";

/** Over several lines where it is JSON, else as it is. What would show nothing stands there as JSON's own escapes. */
export function pretty(text: string): string {
  try {
    return escapeHidden(printLossless(parseLossless(text)));
  } catch {
    return text;
  }
}

/** The same JSON: in a text field a person would edit around what cannot be seen. */
function escapeHidden(json: string): string {
  const parts = reveal(json, { multiline: true });
  return parts
    .map((part) =>
      part.kind === "text"
        ? part.text
        : escaped(String.fromCodePoint(parseInt(part.code.slice(2), 16))),
    )
    .join("");
}

function escaped(char: string): string {
  return char
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** What is wrong with the text, and where; empty where nothing is. */
export function faultOf(text: string): string {
  try {
    return parseLossless(text).kind === "object" ? "" : "Arguments are an object: { … }.";
  } catch (thrown) {
    if (!(thrown instanceof JsonError)) throw thrown;
    const before = text.slice(0, thrown.at).split("\n");
    return `Line ${before.length}, column ${(before.at(-1) ?? "").length + 1}: ${thrown.why}.`;
  }
}
