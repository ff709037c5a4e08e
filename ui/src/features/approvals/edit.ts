/** The arguments as a text that a person changes. */

import { JsonError, parseLossless, printLossless } from "../../lib/lossless";

/** Over several lines where it is JSON, else as it is. */
export function pretty(text: string): string {
  try {
    return printLossless(parseLossless(text));
  } catch {
    return text;
  }
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
