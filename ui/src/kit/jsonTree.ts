/** Parses JSON for the tree view. */

import { countNodes, parseLossless, type JsonNode } from "../lib/lossless";
import { texts } from "../texts";

const t = texts.kit.json;

/** A larger tree takes too long to render. */
const MAX_NODES = 3000;

export interface Tree {
  /** Null if there is a problem. */
  node: JsonNode | null;
  /** Why there is no tree; empty if there is one. */
  problem: string;
}

export function toTree(text: string): Tree {
  try {
    const node = parseLossless(text);
    return countNodes(node) > MAX_NODES
      ? { node: null, problem: t.tooLargeForTree }
      : { node, problem: "" };
  } catch (thrown) {
    return { node: null, problem: t.notJson((thrown as Error).message) };
  }
}
