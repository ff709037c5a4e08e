/** Compares two versions of a definition. */

import { texts } from "../texts";
import { parseLossless, printLossless, type JsonNode } from "./lossless";

/** A changed field: a JSON pointer, and the values before and after; `null` if there is none. */
export interface Change {
  field: string;
  before: unknown;
  after: unknown;
}

const t = texts.kit.diff;

/** Returns the steps of a JSON pointer: "/inputSchema/a~1b" → "Input schema", "a/b". */
export function describeField(pointer: string): string[] {
  const steps = pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const [first, ...rest] = steps;
  return first === undefined ? [t.wholeDefinition] : [t.fields[first] ?? first, ...rest];
}

export type ChangeKind = "added" | "removed" | "changed";

export function changeKind(change: Change): ChangeKind {
  if (change.before === null) return "added";
  return change.after === null ? "removed" : "changed";
}

export interface ValueTexts {
  before: string;
  after: string;
}

/**
 * Returns both values as text: strings unchanged, or both as JSON if only one is a string, so that
 * "5" and 5 differ.
 */
export function formatValues({ before, after }: Change): ValueTexts {
  const plain = [before, after].every((value) => value === null || typeof value === "string");
  const text = (value: unknown) =>
    value === null ? "" : plain ? String(value) : JSON.stringify(value, null, 2);
  return { before: text(before), after: text(after) };
}

/** Two texts, split into their common start and end and the differing middles. */
export interface Split {
  head: string;
  before: string;
  after: string;
  tail: string;
}

export function splitCommonEnds({ before, after }: ValueTexts): Split {
  // Compares code points, so that no surrogate pair is split.
  const [oldChars, newChars] = [Array.from(before), Array.from(after)];
  const shorter = Math.min(oldChars.length, newChars.length);
  let head = 0;
  while (head < shorter && oldChars[head] === newChars[head]) head += 1;
  let tail = 0;
  while (
    tail < shorter - head &&
    oldChars[oldChars.length - 1 - tail] === newChars[newChars.length - 1 - tail]
  )
    tail += 1;
  return {
    head: oldChars.slice(0, head).join(""),
    before: oldChars.slice(head, oldChars.length - tail).join(""),
    after: newChars.slice(head, newChars.length - tail).join(""),
    tail: oldChars.slice(oldChars.length - tail).join(""),
  };
}

/** Lists the fields of a definition as added, except the field that is named by `heading`. */
export function listAsAdded(definition: unknown, heading: string): Change[] {
  if (typeof definition !== "object" || definition === null) return [];
  return Object.entries(definition)
    .filter(([key, value]) => key !== heading && value !== null)
    .map(([key, value]) => ({
      field: `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      before: null,
      after: value as unknown,
    }));
}

/** Compares two definitions in JSON by their fields, or as a whole if one cannot be parsed. */
export function diffDefinitions(before: string, after: string): Change[] {
  try {
    return diffNodes("", parseLossless(before), parseLossless(after));
  } catch {
    return before === after ? [] : [{ field: "", before, after }];
  }
}

function diffNodes(field: string, before: JsonNode, after: JsonNode): Change[] {
  if (printLossless(before) === printLossless(after)) return [];
  if (
    before.kind !== "object" ||
    after.kind !== "object" ||
    [...before.members, ...after.members].some((member) => member.duplicate)
  ) {
    return [{ field, before: toPlainValue(before), after: toPlainValue(after) }];
  }
  const keys = new Set([...before.members, ...after.members].map((member) => member.key));
  return [...keys].toSorted().flatMap((key) => {
    const [oldValue, newValue] = [before, after].map(
      (node) => node.members.find((member) => member.key === key)?.value,
    );
    const pointer = `${field}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return oldValue && newValue
      ? diffNodes(pointer, oldValue, newValue)
      : [
          {
            field: pointer,
            before: oldValue ? toPlainValue(oldValue) : null,
            after: newValue ? toPlainValue(newValue) : null,
          },
        ];
  });
}

/** Returns the value of a node for a `Change`: numbers, `true`, `false` and `null` as text. */
function toPlainValue(node: JsonNode): unknown {
  if (node.kind === "string") return node.value;
  return node.kind === "object" || node.kind === "array"
    ? JSON.parse(printLossless(node))
    : node.lexeme;
}
