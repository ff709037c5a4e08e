/** “Only where”: which conditions a person can make of the arguments of a call. */

import type { Condition, Test } from "../../ipc";
import { valueOf } from "../../lib/literal";
import { parseLossless, type JsonNode } from "../../lib/lossless";
import { revealText } from "../../lib/reveal";

/** One thing that a value can be held to. */
export interface Choice {
  words: string;
  is: Test;
}

/** One top-level argument. */
export interface Part {
  key: string;
  pointer: string;
  /** The first one is the value itself. */
  choices: Choice[];
  /** Why it cannot be asked for; empty where it can. */
  why: string;
}

/** By pointer, which of its choices; what is not there may have any value. */
export type Chosen = Record<string, number>;

export function partsOf(text: string): Part[] {
  let node: JsonNode;
  try {
    node = parseLossless(text);
  } catch {
    return [];
  }
  if (node.kind !== "object") return [];
  const members = new Map(node.members.map((member) => [member.key, member]));
  return [...members.values()].map(({ key, value, duplicate }) => {
    const pointer = pointerTo(key);
    return {
      key,
      pointer,
      ...(duplicate ? { choices: [], why: "The key stands twice." } : choicesOf(value)),
    };
  });
}

export function conditionsOf(parts: Part[], chosen: Chosen): Condition[] {
  return parts.flatMap(({ pointer, choices }) => {
    const choice = choices[chosen[pointer] ?? -1];
    return choice ? [{ pointer, is: choice.is }] : [];
  });
}

/** One step of a JSON pointer (RFC 6901). */
export function pointerTo(key: string): string {
  return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function choicesOf(node: JsonNode): Pick<Part, "choices" | "why"> {
  if (node.kind === "object" || node.kind === "array")
    return { choices: [], why: `It is a ${node.kind === "array" ? "list" : "group of values"}.` };
  const literal = valueOf(node);
  if (literal.problem)
    return { choices: [], why: "The number has more digits than can be passed on unchanged." };
  if (node.kind !== "string")
    return {
      choices: [{ words: `exactly ${node.lexeme}`, is: { equals: literal.value } }],
      why: "",
    };
  const exact: Choice = { words: "exactly this text", is: { equals: node.value } };
  return { choices: [exact, ...foldersOf(node.value), ...hostOf(node.value)], why: "" };
}

/** The folders that an absolute path is in, the nearest first. */
function foldersOf(path: string): Choice[] {
  const [, root, rest] = /^(\/|[A-Za-z]:[\\/])(.*)$/s.exec(path) ?? [];
  if (root === undefined || rest === undefined) return [];
  const mark = root.endsWith("\\") ? "\\" : "/";
  const steps: string[] = [];
  for (const step of rest.split(root === "/" ? "/" : /[\\/]/)) {
    if (step === "..") steps.pop();
    else if (step !== "" && step !== ".") steps.push(step);
  }
  return steps
    .map((_, at) => steps.slice(0, steps.length - 1 - at))
    .map((parent): Choice => {
      const folder = `${root}${parent.join(mark)}`;
      return { words: `in ${revealText(folder)}`, is: { path_within: folder } };
    });
}

/** The host of a web address. Readers differ about where one with these characters leads. */
function hostOf(text: string): Choice[] {
  if (!/^https?:\/\//i.test(text) || /[\\@\s]/.test(text) || !URL.canParse(text)) return [];
  const { hostname } = new URL(text);
  return hostname ? [{ words: `on the host ${hostname}`, is: { host: hostname } }] : [];
}
