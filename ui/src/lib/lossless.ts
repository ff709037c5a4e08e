/**
 * JSON as it was written: numbers keep their lexeme, keys their order, and a key that stands
 * twice stands twice. What a person approves must be what is sent, so `JSON.parse` will not do.
 */

import { reveal } from "./reveal";

export type JsonNode =
  | { kind: "object"; members: JsonMember[] }
  | { kind: "array"; items: JsonNode[] }
  | { kind: "string"; value: string }
  | { kind: "number"; lexeme: string }
  | { kind: "literal"; lexeme: "true" | "false" | "null" };

export interface JsonMember {
  key: string;
  /** The same key stands elsewhere in this object too: who reads it decides which one counts. */
  duplicate: boolean;
  value: JsonNode;
}

export class JsonError extends Error {
  constructor(
    /** What is wrong, without the place. */
    readonly why: string,
    /** Offset in the text, counted from 0. */
    readonly at: number,
  ) {
    super(`${why} at character ${at + 1}`);
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
  const reader = new Reader(text);
  const node = reader.value(0);
  reader.space();
  if (reader.at < text.length) throw new JsonError("unexpected text after the end", reader.at);
  return node;
}

/** How many values there are in all, so that a screen can tell a big one from a small one. */
export function countNodes(node: JsonNode): number {
  if (node.kind === "object") return node.members.reduce((sum, m) => sum + countNodes(m.value), 1);
  if (node.kind === "array") return node.items.reduce((sum, item) => sum + countNodes(item), 1);
  return 1;
}

/** The same JSON over several lines. In texts, characters that would show nothing are written as escapes. */
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
  // JSON has line feeds and the like as escapes already.
  return reveal(JSON.stringify(text))
    .map((part) => (part.kind === "text" ? part.text : escaped(part.code)))
    .join("");
}

/** `U+E0041` → `\udb40\udc41`. */
function escaped(code: string): string {
  const char = String.fromCodePoint(parseInt(code.slice(2), 16));
  return Array.from(
    { length: char.length },
    (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}

class Reader {
  at = 0;
  constructor(private readonly text: string) {}

  value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new JsonError("nested too deeply", this.at);
    this.space();
    const next = this.text[this.at];
    if (next === "{") return this.object(depth);
    if (next === "[") return this.array(depth);
    if (next === '"') return { kind: "string", value: this.string() };
    for (const lexeme of ["true", "false", "null"] as const) {
      if (this.text.startsWith(lexeme, this.at)) {
        this.at += lexeme.length;
        return { kind: "literal", lexeme };
      }
    }
    const lexeme = this.match(NUMBER);
    if (lexeme === "") throw new JsonError("expected a value", this.at);
    return { kind: "number", lexeme };
  }

  space(): void {
    this.match(SPACE);
  }

  private object(depth: number): JsonNode {
    const members: JsonMember[] = [];
    const seen = new Map<string, JsonMember>();
    this.list("}", () => {
      this.space();
      if (this.text[this.at] !== '"') throw new JsonError("expected a key", this.at);
      const key = this.string();
      this.space();
      this.expect(":");
      const earlier = seen.get(key);
      if (earlier) earlier.duplicate = true;
      const member = { key, duplicate: earlier !== undefined, value: this.value(depth + 1) };
      seen.set(key, member);
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
    this.at += 1;
    this.space();
    if (this.text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      item();
      this.space();
      if (this.text[this.at] === end) {
        this.at += 1;
        return;
      }
      this.expect(",");
    }
  }

  private string(): string {
    this.at += 1;
    let value = "";
    for (;;) {
      value += this.match(PLAIN);
      const next = this.text[this.at];
      if (next === '"') {
        this.at += 1;
        return value;
      }
      if (next !== "\\")
        throw new JsonError(
          next === undefined ? "unclosed string" : "control character in a string",
          this.at,
        );
      value += this.escape();
    }
  }

  private escape(): string {
    const letter = this.text[this.at + 1] ?? "";
    if (letter === "u") {
      const hex = this.text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw new JsonError("broken \\u escape", this.at);
      this.at += 6;
      return String.fromCharCode(parseInt(hex, 16));
    }
    const plain = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (plain === undefined) throw new JsonError("unknown escape", this.at);
    this.at += 2;
    return plain;
  }

  private expect(char: string): void {
    if (this.text[this.at] !== char) throw new JsonError(`expected "${char}"`, this.at);
    this.at += 1;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }
}
