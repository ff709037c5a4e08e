/** Finds the replacements of text in the arguments of a call, such as those of `edit_file`. */

import { parseLossless, type JsonNode } from "../../lib/lossless";

export interface TextEdit {
  before: string;
  after: string;
}

/** The names that widely used servers give to the replaced and the new text. */
const PAIRS = [
  ["oldText", "newText"],
  ["old_text", "new_text"],
  ["oldString", "newString"],
  ["old_string", "new_string"],
  ["old_str", "new_str"],
] as const;
/** Above these limits, no edits are compared. The arguments show the texts anyway. */
const MAX_EDITS = 20;
const MAX_CHARACTERS = 100_000;

/**
 * Returns the edits in the order of the arguments. Returns no edits if the text is not JSON, or if
 * the edits exceed a limit. Skips an object with a duplicate key, because servers differ on which
 * value counts.
 */
export function findTextEdits(text: string): TextEdit[] {
  let edits: TextEdit[];
  try {
    edits = listEdits(parseLossless(text));
  } catch {
    return [];
  }
  const length = edits.reduce((sum, { before, after }) => sum + before.length + after.length, 0);
  return edits.length > MAX_EDITS || length > MAX_CHARACTERS ? [] : edits;
}

function listEdits(node: JsonNode): TextEdit[] {
  if (node.kind === "array") return node.items.flatMap(listEdits);
  if (node.kind !== "object" || node.members.some((member) => member.duplicate)) return [];
  const textOf = (key: string) => {
    const value = node.members.find((member) => member.key === key)?.value;
    return value?.kind === "string" ? value.value : null;
  };
  const own = PAIRS.flatMap(([oldKey, newKey]) => {
    const [before, after] = [textOf(oldKey), textOf(newKey)];
    return before === null || after === null ? [] : [{ before, after }];
  });
  return [...own, ...node.members.flatMap((member) => listEdits(member.value))];
}
