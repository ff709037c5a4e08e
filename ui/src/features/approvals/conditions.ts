/** The conditions that a person can derive from the arguments of a call. */

import type { Condition, Predicate } from "../../ipc";
import { toValue } from "../../lib/literal";
import { parseLossless, type JsonNode } from "../../lib/lossless";
import { revealText } from "../../lib/reveal";
import { texts } from "../../texts";

const t = texts.approvals.conditions;

/** A condition on a value. */
export interface Choice {
  label: string;
  is: Predicate;
}

/** The possible conditions on one top-level argument. */
export interface ArgumentOptions {
  key: string;
  pointer: string;
  /** The first choice is the exact value. */
  choices: Choice[];
  /** Why there is no choice; empty if there is one. */
  reason: string;
}

/** The index of the choice by pointer. An argument without an entry may have any value. */
export type Chosen = Record<string, number>;

export function listOptions(text: string): ArgumentOptions[] {
  let node: JsonNode;
  try {
    node = parseLossless(text);
  } catch {
    return [];
  }
  if (node.kind !== "object") return [];
  const members = new Map(node.members.map((member) => [member.key, member]));
  return [...members.values()].map(({ key, value, duplicate }) => {
    const pointer = toPointer(key);
    return {
      key,
      pointer,
      ...(duplicate ? { choices: [], reason: t.duplicateKey } : listChoices(value)),
    };
  });
}

export function toConditions(options: ArgumentOptions[], chosen: Chosen): Condition[] {
  return options.flatMap(({ pointer, choices }) => {
    const choice = choices[chosen[pointer] ?? -1];
    return choice ? [{ pointer, is: choice.is }] : [];
  });
}

/** Returns the JSON pointer (RFC 6901) of a top-level key. */
export function toPointer(key: string): string {
  return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function listChoices(node: JsonNode): Pick<ArgumentOptions, "choices" | "reason"> {
  if (node.kind === "array") return { choices: [], reason: t.isList };
  if (node.kind === "object") return { choices: [], reason: t.isObject };
  const literal = toValue(node);
  if (literal.problem) return { choices: [], reason: t.tooPrecise };
  if (node.kind !== "string")
    return {
      choices: [{ label: t.exactly(node.lexeme), is: { equals: literal.value } }],
      reason: "",
    };
  const exact: Choice = { label: t.exactText, is: { equals: node.value } };
  return { choices: [exact, ...listFolders(node.value), ...listHosts(node.value)], reason: "" };
}

/** Lists the folders that contain an absolute path, nearest first. */
function listFolders(path: string): Choice[] {
  const [, root, rest] = /^(\/|[A-Za-z]:[\\/])(.*)$/s.exec(path) ?? [];
  if (root === undefined || rest === undefined) return [];
  const separator = root.endsWith("\\") ? "\\" : "/";
  const steps: string[] = [];
  for (const step of rest.split(root === "/" ? "/" : /[\\/]/)) {
    if (step === "..") steps.pop();
    else if (step !== "" && step !== ".") steps.push(step);
  }
  return steps
    .map((_, index) => steps.slice(0, steps.length - 1 - index))
    .map((parent): Choice => {
      const folder = `${root}${parent.join(separator)}`;
      return { label: t.inFolder(revealText(folder)), is: { path_within: folder } };
    });
}

/**
 * Returns the host of a URL, or nothing if the URL has characters that parsers read differently.
 */
function listHosts(text: string): Choice[] {
  if (!/^https?:\/\//i.test(text) || /[\\@\s]/.test(text) || !URL.canParse(text)) return [];
  const { hostname } = new URL(text);
  return hostname ? [{ label: t.onHost(hostname), is: { host: hostname } }] : [];
}
