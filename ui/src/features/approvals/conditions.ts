/** Derives from a call's arguments the conditions that a person can choose. */

import type { Condition, Predicate } from "../../ipc";
import { toValue } from "../../lib/literal";
import { parseLossless, type JsonNode } from "../../lib/lossless";
import { revealHidden } from "../../lib/reveal";
import { texts } from "../../texts";

const t = texts.approvals.conditions;

/** A predicate that the value satisfies, with its label. */
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
  /** Why `choices` is empty; "" if it is not. */
  unavailableReason: string;
}

/**
 * Maps an argument's pointer to the index in its choices. An argument without an entry may have any
 * value.
 */
export type ChosenIndexes = Record<string, number>;

/**
 * Lists the top-level arguments with their possible conditions; nothing if the text is not a JSON
 * object. `project` is the project folder in which the client works, or null.
 */
export function listArgumentOptions(
  argumentsJson: string,
  project: string | null = null,
): ArgumentOptions[] {
  let node: JsonNode;
  try {
    node = parseLossless(argumentsJson);
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
      ...(duplicate
        ? { choices: [], unavailableReason: t.duplicateKey }
        : listChoices(value, project)),
    };
  });
}

export function toConditions(options: ArgumentOptions[], chosen: ChosenIndexes): Condition[] {
  return options.flatMap(({ pointer, choices }) => {
    const choice = choices[chosen[pointer] ?? -1];
    return choice ? [{ pointer, is: choice.is }] : [];
  });
}

/** Returns the JSON pointer (RFC 6901) of a top-level key. */
export function toPointer(key: string): string {
  return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

function listChoices(
  node: JsonNode,
  project: string | null,
): Pick<ArgumentOptions, "choices" | "unavailableReason"> {
  if (node.kind === "array") return { choices: [], unavailableReason: t.isList };
  if (node.kind === "object") return { choices: [], unavailableReason: t.isObject };
  const literal = toValue(node);
  if (literal.problem) return { choices: [], unavailableReason: t.tooPrecise };
  if (node.kind !== "string")
    return {
      choices: [{ label: t.exactly(node.lexeme), is: { equals: literal.value } }],
      unavailableReason: "",
    };
  const exact: Choice = { label: t.exactText, is: { equals: node.value } };
  return {
    choices: [
      exact,
      ...listProjectChoices(node.value, project),
      ...listFolderChoices(node.value),
      ...listHostChoices(node.value),
    ],
    unavailableReason: "",
  };
}

/** Lists the condition on the client's project folder, if it contains the absolute path. */
function listProjectChoices(path: string, project: string | null): Choice[] {
  const isInside =
    project !== null &&
    (path === project || path.startsWith(`${project}/`) || path.startsWith(`${project}\\`)) &&
    !path.split(/[\\/]/).includes("..");
  return isInside ? [{ label: t.inProject, is: { path_within: "$project" } }] : [];
}

/** Lists the conditions on the folders that contain an absolute path, nearest first. */
function listFolderChoices(path: string): Choice[] {
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
      return { label: t.inFolder(revealHidden(folder)), is: { path_within: folder } };
    });
}

/**
 * Lists the condition on the URL's host, or nothing if `text` is not an http(s) URL or parsers
 * could disagree on its host.
 */
function listHostChoices(text: string): Choice[] {
  if (!/^https?:\/\//i.test(text) || /[\\@\s]/.test(text) || !URL.canParse(text)) return [];
  const { hostname } = new URL(text);
  return hostname ? [{ label: t.onHost(hostname), is: { host: hostname } }] : [];
}
