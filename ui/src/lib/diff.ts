/** What differs between two versions of a definition, in words and as texts to put side by side. */

import { parseLossless, printLossless, type JsonNode } from "./lossless";

/** One field that differs: a JSON pointer, and its value before and after; `null` where there was or is none. */
export interface Change {
  field: string;
  before: unknown;
  after: unknown;
}

const WORDS: Record<string, string> = {
  inputSchema: "Input schema",
  outputSchema: "Output schema",
  description: "Description",
  title: "Title",
  name: "Name",
  annotations: "Annotations",
  icons: "Icons",
  _meta: "_meta",
  execution: "Execution",
};

/** The steps of a JSON pointer, the first one in words: "/inputSchema/properties/a~1b" → Input schema, properties, a/b. */
export function fieldSteps(pointer: string): string[] {
  const steps = pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const [first, ...rest] = steps;
  return first === undefined ? ["The whole definition"] : [WORDS[first] ?? first, ...rest];
}

export type ChangeKind = "added" | "removed" | "changed";

export function kindOf(change: Change): ChangeKind {
  if (change.before === null) return "added";
  return change.after === null ? "removed" : "changed";
}

export interface Texts {
  before: string;
  after: string;
}

/** Both values as texts. A text stands as it is; where only one is a text, both are JSON, so that "5" and 5 differ. */
export function textsOf({ before, after }: Change): Texts {
  const plain = [before, after].every((value) => value === null || typeof value === "string");
  const text = (value: unknown) =>
    value === null ? "" : plain ? String(value) : JSON.stringify(value, null, 2);
  return { before: text(before), after: text(after) };
}

/** Two texts with what they share at both ends apart from what differs between. */
export interface Split {
  head: string;
  before: string;
  after: string;
  tail: string;
}

export function splitTexts({ before, after }: Texts): Split {
  // By code points, so that no character is cut in two.
  const [one, other] = [Array.from(before), Array.from(after)];
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < most - head && one[one.length - 1 - tail] === other[other.length - 1 - tail])
    tail += 1;
  return {
    head: one.slice(0, head).join(""),
    before: one.slice(head, one.length - tail).join(""),
    after: other.slice(head, other.length - tail).join(""),
    tail: one.slice(one.length - tail).join(""),
  };
}

/** What a definition has beside its name, as if each field were new. */
export function fieldsOf(definition: unknown): Change[] {
  if (typeof definition !== "object" || definition === null) return [];
  return Object.entries(definition)
    .filter(([key, value]) => key !== "name" && value !== null)
    .map(([key, value]) => ({
      field: `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
      before: null,
      after: value as unknown,
    }));
}

/** What differs between two definitions as JSON texts, down to the fields; the whole where one cannot be read. */
export function changesBetween(before: string, after: string): Change[] {
  try {
    return between("", parseLossless(before), parseLossless(after));
  } catch {
    return before === after ? [] : [{ field: "", before, after }];
  }
}

function between(field: string, before: JsonNode, after: JsonNode): Change[] {
  if (printLossless(before) === printLossless(after)) return [];
  if (
    before.kind !== "object" ||
    after.kind !== "object" ||
    [...before.members, ...after.members].some((member) => member.duplicate)
  ) {
    return [{ field, before: plain(before), after: plain(after) }];
  }
  const keys = new Set([...before.members, ...after.members].map((member) => member.key));
  return [...keys].toSorted().flatMap((key) => {
    const [one, other] = [before, after].map(
      (node) => node.members.find((member) => member.key === key)?.value,
    );
    const at = `${field}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return one && other
      ? between(at, one, other)
      : [{ field: at, before: one ? plain(one) : null, after: other ? plain(other) : null }];
  });
}

/** In a change, null says that there is nothing. */
function plain(node: JsonNode): unknown {
  if (node.kind === "string") return node.value;
  return node.kind === "object" || node.kind === "array"
    ? JSON.parse(printLossless(node))
    : node.lexeme;
}
