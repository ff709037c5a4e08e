/** A rule as a form has it, and the way to and fro. */

import type { Condition, Effect, Life, ResultEffect, RuleText, RuleView, Test } from "../../ipc";
import { isExact, literalText, parseLiteral } from "../../lib/literal";

export type TestKind = "equals" | "one_of" | "path_within" | "host" | "between" | "matches";

export interface ConditionForm {
  pointer: string;
  kind: TestKind;
  /** For `one_of` one a line; for `between` the least. */
  value: string;
  /** For `between` only. */
  most: string;
}

export interface RuleForm {
  /** Empty for any. */
  client: string;
  server: string;
  tool: string;
  readOnly: boolean;
  /** Empty: that is left to other rules. */
  effect: Effect | "";
  /** Empty: it is passed on as it is. */
  result: ResultEffect | "";
  when: ConditionForm[];
  life: Life["kind"];
  minutes: string;
  calls: string;
  /** The client session, where the rule holds for one. */
  session: string;
  note: string;
}

export const TESTS: Record<TestKind, { label: string; hint: string }> = {
  equals: {
    label: "is",
    hint: "Type text without quotes. Use quotes if it looks like a number, true, false or null.",
  },
  one_of: {
    label: "is one of",
    hint: "One value a line; text as it is, numbers, true, false and null as such.",
  },
  path_within: {
    label: "is a path in",
    hint: "A folder, in full. What is anywhere in it fits, once “..” and links are resolved.",
  },
  host: {
    label: "is a URL of",
    hint: "A host such as example.com, or *.example.com for each host under it.",
  },
  between: { label: "is a number", hint: "Both ends are included; either may be left empty." },
  matches: {
    label: "fits the pattern",
    hint: "A regular expression for the whole text, from its beginning to its end.",
  },
};

const MINUTE = 60_000;

export function emptyForm(): RuleForm {
  return {
    client: "",
    server: "",
    tool: "",
    readOnly: false,
    effect: "allow",
    result: "",
    when: [],
    life: "until_revoked",
    minutes: "60",
    calls: "10",
    session: "",
    note: "",
  };
}

export function emptyCondition(): ConditionForm {
  return { pointer: "/", kind: "equals", value: "", most: "" };
}

export function formOf(rule: RuleView, now: number): RuleForm {
  const { life } = rule;
  return {
    ...emptyForm(),
    client: rule.client ?? "",
    server: rule.server ?? "",
    tool: rule.tool ?? "",
    readOnly: rule.read_only,
    effect: rule.effect ?? "",
    result: rule.result ?? "",
    when: rule.when.map(conditionForm),
    life: life.kind,
    note: rule.note,
    ...(life.kind === "until" && {
      minutes: String(Math.max(1, Math.ceil((life.at - now) / MINUTE))),
    }),
    // A rule that is written anew counts anew: what is left is what it has.
    ...(life.kind === "calls" && { calls: String(rule.left ?? life.count) }),
    ...(life.kind === "session" && { session: life.session }),
  };
}

export function ruleOf(form: RuleForm, now: number): RuleText {
  return {
    client: form.client || null,
    server: form.server || null,
    tool: (form.server && form.tool) || null,
    read_only: form.readOnly && !form.tool,
    effect: form.effect || null,
    result: form.effect === "deny" ? null : form.result || null,
    when: form.when.map(({ pointer, ...test }) => ({ pointer, is: testOf(test) })),
    life: lifeOf(form, now),
    note: form.note.trim(),
  };
}

export interface Faults {
  effect?: string;
  life?: string;
  /** By the place of the condition. */
  when: Record<number, { pointer?: string; value?: string }>;
}

export function faultsOf(form: RuleForm): Faults {
  const faults: Faults = { when: {} };
  if (form.effect === "" && form.result === "")
    faults.effect = "Choose what happens to the call, or to its result.";
  if (form.life === "until" && !isWhole(form.minutes, 527_040))
    faults.life = "A whole number of minutes, at least 1.";
  if (form.life === "calls" && !isWhole(form.calls, 4_294_967_295))
    faults.life = "A whole number of calls, at least 1.";
  form.when.forEach((condition, at) => {
    const pointer = pointerFault(condition.pointer);
    const value = valueFault(condition);
    if (pointer || value)
      faults.when[at] = { ...(pointer && { pointer }), ...(value && { value }) };
  });
  return faults;
}

export function hasFaults(faults: Faults): boolean {
  return (
    faults.effect !== undefined || faults.life !== undefined || Object.keys(faults.when).length > 0
  );
}

function conditionForm({ pointer, is }: Condition): ConditionForm {
  const form = (kind: TestKind, value: string, most = ""): ConditionForm => ({
    pointer,
    kind,
    value,
    most,
  });
  if ("equals" in is) return form("equals", textOf(is.equals));
  if ("one_of" in is)
    return form("one_of", is.one_of.every(isExact) ? is.one_of.map(literalText).join("\n") : "");
  if ("path_within" in is) return form("path_within", is.path_within);
  if ("host" in is) return form("host", is.host);
  if ("matches" in is) return form("matches", is.matches);
  return form("between", boundText(is.between.min), boundText(is.between.max));
}

/** Empty for what has lost digits on its way here: it is to be written anew. */
function textOf(value: unknown): string {
  return isExact(value) ? literalText(value) : "";
}

function boundText(value: unknown): string {
  return value === undefined || value === null ? "" : textOf(value);
}

function testOf({ kind, value, most }: Omit<ConditionForm, "pointer">): Test {
  switch (kind) {
    case "equals":
      return { equals: parseLiteral(value).value };
    case "one_of":
      return { one_of: linesOf(value).map((line) => parseLiteral(line).value) };
    case "path_within":
      return { path_within: value.trim() };
    case "host":
      return { host: value.trim() };
    case "matches":
      return { matches: value };
    case "between":
      return {
        between: {
          ...(value.trim() && { min: parseLiteral(value).value }),
          ...(most.trim() && { max: parseLiteral(most).value }),
        },
      };
  }
}

function lifeOf({ life, minutes, calls, session }: RuleForm, now: number): Life {
  switch (life) {
    case "until_revoked":
      return { kind: life };
    case "until":
      return { kind: life, at: now + Number(minutes) * MINUTE };
    case "calls":
      return { kind: life, count: Number(calls) };
    case "session":
      return { kind: life, session };
  }
}

function pointerFault(pointer: string): string {
  if (pointer === "/") return "Name the argument after the /, such as /path.";
  if (pointer !== "" && !pointer.startsWith("/")) return `It begins with /, such as /${pointer}.`;
  return /~(?![01])/.test(pointer) ? "Write ~ in a key as ~0, and / as ~1." : "";
}

function valueFault({ kind, value, most }: ConditionForm): string {
  switch (kind) {
    case "equals":
      return parseLiteral(value).problem;
    case "one_of":
      return linesOf(value).length === 0
        ? "Write at least one value."
        : (linesOf(value)
            .map((line) => parseLiteral(line).problem)
            .find(Boolean) ?? "");
    case "path_within":
      return /^(\/|~|[A-Za-z]:[\\/])/.test(value.trim())
        ? ""
        : "Give the folder in full, such as /home/ada/Projects.";
    case "host":
      return /^(\*\.)?[^\s/:@*]+$|^\[[0-9a-f:.]+\]$/i.test(value.trim())
        ? ""
        : "Only the host: no https://, no port, no path.";
    case "matches":
      return value === "" ? "Write a pattern; .* fits any text." : "";
    case "between":
      return betweenFault(value.trim(), most.trim());
  }
}

function betweenFault(least: string, most: string): string {
  if (least === "" && most === "") return "Give at least one end.";
  for (const end of [least, most].filter(Boolean)) {
    const { value, problem } = parseLiteral(end);
    if (problem) return problem;
    if (typeof value !== "number") return `“${end}” is no number.`;
  }
  return least !== "" && most !== "" && Number(least) > Number(most)
    ? "The least is more than the most."
    : "";
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

function isWhole(text: string, most: number): boolean {
  const number = Number(text);
  return text.trim() !== "" && Number.isInteger(number) && number >= 1 && number <= most;
}
