/**
 * Reads and writes JSON values that have to survive `JSON.parse` and `JSON.stringify`. Numbers with
 * more digits than a double holds would change, so they are rejected.
 */

import { texts } from "../texts";
import { parseLossless, printLossless, type JsonError, type JsonNode } from "./lossless";

export type Literal = { value: unknown; problem: "" } | { value?: undefined; problem: string };

const t = texts.kit.literal;
/** The number of digits that every double keeps. */
const EXACT_DIGITS = 15;

/** Returns the value of a node, or a problem if `JSON.parse` would change the value. */
export function toValue(node: JsonNode): Literal {
  if (node.kind === "object" && node.members.some((member) => member.duplicate))
    return { problem: t.duplicateKey };
  const parts =
    node.kind === "object"
      ? node.members.map((member) => member.value)
      : node.kind === "array"
        ? node.items
        : [];
  const problem = parts.map((part) => toValue(part).problem).find((problem) => problem !== "");
  if (problem !== undefined) return { problem };
  if (node.kind === "number" && !survivesDouble(node.lexeme)) return { problem: t.tooPrecise };
  return { value: JSON.parse(printLossless(node)) as unknown, problem: "" };
}

/** Reads JSON, or text without quotes if it does not look like JSON. */
export function parseLiteral(text: string): Literal {
  const trimmed = text.trim();
  if (trimmed === "") return { problem: t.empty };
  try {
    return toValue(parseLossless(trimmed));
  } catch (thrown) {
    if (/^["{[]/.test(trimmed)) return { problem: t.notJson((thrown as JsonError).message) };
    return { value: trimmed, problem: "" };
  }
}

/** Writes a value so that `parseLiteral` returns the same value. */
export function formatLiteral(value: unknown): string {
  if (
    typeof value === "string" &&
    value === value.trim() &&
    !value.includes("\n") &&
    parseLiteral(value).value === value
  )
    return value;
  return JSON.stringify(value);
}

/** Returns whether a value from `JSON.parse` is certainly the value that was sent. */
export function isExact(value: unknown): boolean {
  if (typeof value === "number") return toDigits(String(value)).digits.length <= EXACT_DIGITS;
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isExact);
}

function survivesDouble(lexeme: string): boolean {
  const number = Number(lexeme);
  if (!Number.isFinite(number)) return false;
  const [written, rounded] = [toDigits(lexeme), toDigits(String(number))];
  return (
    written.digits === rounded.digits &&
    written.exponent === rounded.exponent &&
    written.sign === rounded.sign
  );
}

/** Normalizes a number to `0.digits · 10^exponent`, however it is written. */
function toDigits(lexeme: string): { sign: string; digits: string; exponent: number } {
  const [, sign = "", whole = "", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(lexeme) ?? [];
  const all = `${whole}${fraction}`;
  const leading = /^0*/.exec(all)?.[0].length ?? 0;
  const digits = all.slice(leading).replace(/0+$/, "");
  if (digits === "") return { sign: "", digits: "", exponent: 0 };
  return { sign, digits, exponent: Number(power) + whole.length - leading };
}
