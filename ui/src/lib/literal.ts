/**
 * JSON values on their way through `JSON.parse` and `JSON.stringify`, as everything goes that a screen sends: a number
 * with more digits than a double holds would become another one. Such a value is told apart here, and not passed on.
 */

import { parseLossless, printLossless, type JsonError, type JsonNode } from "./lossless";

export type Literal = { value: unknown; problem: "" } | { value?: undefined; problem: string };

const TOO_PRECISE =
  "A number here has more digits than this screen can pass on unchanged. Use `drawbridge policy` in a terminal.";
const TWICE = "A key stands twice in it, so it has no one value.";
/** As many digits as every double keeps. */
const SURE_DIGITS = 15;

/** What a node is as a value; a problem where it would not come through as it is. */
export function valueOf(node: JsonNode): Literal {
  if (node.kind === "object" && node.members.some((member) => member.duplicate))
    return { problem: TWICE };
  const parts =
    node.kind === "object"
      ? node.members.map((member) => member.value)
      : node.kind === "array"
        ? node.items
        : [];
  const problem = parts.map((part) => valueOf(part).problem).find((one) => one !== "");
  if (problem !== undefined) return { problem };
  if (node.kind === "number" && !comesThrough(node.lexeme)) return { problem: TOO_PRECISE };
  return { value: JSON.parse(printLossless(node)) as unknown, problem: "" };
}

/** A value as a person writes it: JSON, or a text without quotes where that cannot be taken for JSON. */
export function parseLiteral(text: string): Literal {
  const trimmed = text.trim();
  if (trimmed === "") return { problem: 'Write a value; "" is the empty text.' };
  try {
    return valueOf(parseLossless(trimmed));
  } catch (thrown) {
    if (/^["{[]/.test(trimmed)) return { problem: `Not JSON: ${(thrown as JsonError).message}.` };
    return { value: trimmed, problem: "" };
  }
}

/** The way back: `parseLiteral(literalText(x))` is `x`. */
export function literalText(value: unknown): string {
  if (
    typeof value === "string" &&
    value === value.trim() &&
    !value.includes("\n") &&
    parseLiteral(value).value === value
  )
    return value;
  return JSON.stringify(value);
}

/** Whether a value that came through `JSON.parse` is surely what was sent. */
export function isExact(value: unknown): boolean {
  if (typeof value === "number") return digitsOf(String(value)).digits.length <= SURE_DIGITS;
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(isExact);
}

function comesThrough(lexeme: string): boolean {
  const number = Number(lexeme);
  if (!Number.isFinite(number)) return false;
  const [one, other] = [digitsOf(lexeme), digitsOf(String(number))];
  return one.digits === other.digits && one.exponent === other.exponent && one.sign === other.sign;
}

/** A number by its value, however it is written: `0.digits · 10^exponent`. */
function digitsOf(lexeme: string): { sign: string; digits: string; exponent: number } {
  const [, sign = "", whole = "", fraction = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(lexeme) ?? [];
  const all = `${whole}${fraction}`;
  const leading = /^0*/.exec(all)?.[0].length ?? 0;
  const digits = all.slice(leading).replace(/0+$/, "");
  if (digits === "") return { sign: "", digits: "", exponent: 0 };
  return { sign, digits, exponent: Number(power) + whole.length - leading };
}
