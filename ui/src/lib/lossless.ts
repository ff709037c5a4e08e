/**
 * Parses and prints JSON without loss: numbers keep their lexeme, keys their order, and duplicate
 * keys are kept. `JSON.parse` would change arguments between the screen and the server.
 */

import { texts } from "../texts";
import { reveal } from "./reveal";

const t = texts.kit.json;

export type JsonNode =
  | { kind: "object"; members: JsonMember[] }
  | { kind: "array"; items: JsonNode[] }
  | { kind: "string"; value: string }
  | { kind: "number"; lexeme: string }
  | { kind: "literal"; lexeme: "true" | "false" | "null" };

export interface JsonMember {
  key: string;
  /** Whether the object has this key more than once. Which value counts depends on the parser. */
  duplicate: boolean;
  value: JsonNode;
}

export class JsonError extends Error {
  constructor(
    /** The error, without its position. */
    readonly reason: string,
    /** Offset in the text, counted from 0. */
    readonly offset: number,
  ) {
    super(t.atCharacter(reason, offset + 1));
  }
}

const MAX_DEPTH = 200;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;
// eslint-disable-next-line no-control-regex -- JSON forbids exactly these in a string
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES: Record<string, string> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

export function parseLossless(text: string): JsonNode {
  const parser = new Parser(text);
  const node = parser.value(0);
  parser.space();
  if (parser.offset < text.length) throw new JsonError(t.textAfterEnd, parser.offset);
  return node;
}

/** Counts all values of a document. */
export function countNodes(node: JsonNode): number {
  if (node.kind === "object") return node.members.reduce((sum, m) => sum + countNodes(m.value), 1);
  if (node.kind === "array") return node.items.reduce((sum, item) => sum + countNodes(item), 1);
  return 1;
}

/** Prints JSON over several lines. Hidden characters in strings are written as escapes. */
export function printLossless(node: JsonNode, indent = ""): string {
  const inner = `${indent}  `;
  const lines = (items: string[]) => items.map((item) => `${inner}${item}`).join(",\n");
  if (node.kind === "object") {
    if (node.members.length === 0) return "{}";
    return `{\n${lines(node.members.map(({ key, value }) => `${quote(key)}: ${printLossless(value, inner)}`))}\n${indent}}`;
  }
  if (node.kind === "array") {
    if (node.items.length === 0) return "[]";
    return `[\n${lines(node.items.map((item) => printLossless(item, inner)))}\n${indent}]`;
  }
  return node.kind === "string" ? quote(node.value) : node.lexeme;
}

function quote(text: string): string {
  // `JSON.stringify` has escaped control characters already.
  return reveal(JSON.stringify(text))
    .map((part) => (part.kind === "text" ? part.text : escapeCode(part.code)))
    .join("");
}

/** Converts `U+E0041` to `\udb40\udc41`. */
function escapeCode(code: string): string {
  const char = String.fromCodePoint(parseInt(code.slice(2), 16));
  return Array.from(
    { length: char.length },
    (_, index) => `\\u${char.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");
}

class Parser {
  offset = 0;
  constructor(private readonly text: string) {}

  value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new JsonError(t.tooDeep, this.offset);
    this.space();
    const next = this.text[this.offset];
    if (next === "{") return this.object(depth);
    if (next === "[") return this.array(depth);
    if (next === '"') return { kind: "string", value: this.string() };
    for (const lexeme of ["true", "false", "null"] as const) {
      if (this.text.startsWith(lexeme, this.offset)) {
        this.offset += lexeme.length;
        return { kind: "literal", lexeme };
      }
    }
    const lexeme = this.match(NUMBER);
    if (lexeme === "") throw new JsonError(t.expectedValue, this.offset);
    return { kind: "number", lexeme };
  }

  space(): void {
    this.match(SPACE);
  }

  private object(depth: number): JsonNode {
    const members: JsonMember[] = [];
    const membersByKey = new Map<string, JsonMember>();
    this.list("}", () => {
      this.space();
      if (this.text[this.offset] !== '"') throw new JsonError(t.expectedKey, this.offset);
      const key = this.string();
      this.space();
      this.expect(":");
      const earlier = membersByKey.get(key);
      if (earlier) earlier.duplicate = true;
      const member = { key, duplicate: earlier !== undefined, value: this.value(depth + 1) };
      membersByKey.set(key, member);
      members.push(member);
    });
    return { kind: "object", members };
  }

  private array(depth: number): JsonNode {
    const items: JsonNode[] = [];
    this.list("]", () => items.push(this.value(depth + 1)));
    return { kind: "array", items };
  }

  private list(end: "}" | "]", item: () => void): void {
    this.offset += 1;
    this.space();
    if (this.text[this.offset] === end) {
      this.offset += 1;
      return;
    }
    for (;;) {
      item();
      this.space();
      if (this.text[this.offset] === end) {
        this.offset += 1;
        return;
      }
      this.expect(",");
    }
  }

  private string(): string {
    this.offset += 1;
    let value = "";
    for (;;) {
      value += this.match(PLAIN);
      const next = this.text[this.offset];
      if (next === '"') {
        this.offset += 1;
        return value;
      }
      if (next !== "\\")
        throw new JsonError(
          next === undefined ? t.unclosedString : t.controlCharacter,
          this.offset,
        );
      value += this.escape();
    }
  }

  private escape(): string {
    const letter = this.text[this.offset + 1] ?? "";
    if (letter === "u") {
      const hex = this.text.slice(this.offset + 2, this.offset + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw new JsonError(t.brokenEscape, this.offset);
      this.offset += 6;
      return String.fromCharCode(parseInt(hex, 16));
    }
    const plain = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (plain === undefined) throw new JsonError(t.unknownEscape, this.offset);
    this.offset += 2;
    return plain;
  }

  private expect(char: string): void {
    if (this.text[this.offset] !== char) throw new JsonError(t.expected(char), this.offset);
    this.offset += 1;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.offset;
    const matched = pattern.exec(this.text)?.[0] ?? "";
    this.offset += matched.length;
    return matched;
  }
}
