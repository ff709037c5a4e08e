/** A JSON text as a tree to be drawn, or why it is none. */

import { countNodes, parseLossless, type JsonNode } from "../../lib/lossless";

/** Beyond this a tree takes longer to draw than a person waits. */
const MOST_NODES = 3000;

export interface Tree {
  node: JsonNode | null;
  problem: string;
}

export function treeOf(text: string): Tree {
  try {
    const node = parseLossless(text);
    return countNodes(node) > MOST_NODES
      ? { node: null, problem: "Too large for a tree." }
      : { node, problem: "" };
  } catch (thrown) {
    return { node: null, problem: `Not plain JSON: ${(thrown as Error).message}.` };
  }
}
