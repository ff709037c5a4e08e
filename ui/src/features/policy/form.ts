/** Converts a rule to the fields of its form and back, and validates the fields. */

import type {
  Condition,
  Effect,
  Lifetime,
  ResultEffect,
  RuleSpec,
  RuleView,
  Predicate,
  RequestKind,
} from "../../ipc";
import { formatLiteral, isExact, parseLiteral } from "../../lib/literal";
import { coveredKind } from "../../state/labels";
import { texts } from "../../texts";

export type PredicateKind = "equals" | "one_of" | "path_within" | "host" | "between" | "matches";

export interface ConditionForm {
  pointer: string;
  kind: PredicateKind;
  /** For `one_of` one value per line; for `between` the minimum. */
  value: string;
  /** Only for `between`. */
  maximum: string;
}

/** The requests that a rule covers. Only a deny can cover everything. */
export type Covers = RequestKind | "everything";

/** An effect. `none` leaves the call to other rules. The text is empty before a person chooses. */
export type EffectChoice = Effect | "none" | "";

export interface RuleForm {
  /**
   * Empty for any client. Likewise, empty `user`, `server` and `tool` stand for any user, server
   * and tool.
   */
  client: string;
  user: string;
  server: string;
  covers: Covers;
  /** Ignored, like `readOnlyTools`, unless the rule covers tools. */
  tool: string;
  readOnlyTools: boolean;
  effect: EffectChoice;
  /** Empty to pass the result on unchanged. */
  result: ResultEffect | "";
  /** Ignored if the rule covers everything. */
  conditions: ConditionForm[];
  lifetime: Lifetime["kind"];
  /** How many minutes the rule applies, for the lifetime `until`. */
  minutes: string;
  /** How many calls the rule applies to, for the lifetime `calls`. */
  calls: string;
  /** The client session if the rule applies to only one; otherwise empty. */
  session: string;
  note: string;
  disabled: boolean;
}

const MINUTE_MS = 60_000;
/** The minutes of a leap year. */
const MAX_MINUTES = 527_040;
/** The hub counts calls in 32 bits. */
const MAX_CALLS = 4_294_967_295;

export function createForm(): RuleForm {
  return {
    client: "",
    user: "",
    server: "",
    covers: "tools",
    tool: "",
    readOnlyTools: false,
    effect: "",
    result: "",
    conditions: [],
    lifetime: "until_deleted",
    minutes: "60",
    calls: "10",
    session: "",
    note: "",
    disabled: false,
  };
}

export function createCondition(covers: Covers): ConditionForm {
  const pointer = covers === "prompts" ? "/name" : covers === "resources" ? "/uri" : "/";
  return { pointer, kind: "equals", value: "", maximum: "" };
}

/** Returns the noun for the requests that the rule decides. */
export function formNoun({ covers }: RuleForm): "call" | "request" {
  return covers === "tools" ? "call" : "request";
}

/** Returns the fields after a change of the effect. Only a deny can still cover everything. */
export function withEffect(
  form: RuleForm,
  effect: EffectChoice,
): Pick<RuleForm, "effect" | "covers"> {
  const mustNarrow = form.covers === "everything" && effect !== "deny";
  return { effect, covers: mustNarrow ? "tools" : form.covers };
}

/** Returns the form of a rule. The minutes of a rule that expires count from `now`. */
export function toForm(rule: RuleView, now: number): RuleForm {
  const { lifetime } = rule;
  return {
    ...createForm(),
    client: rule.client ?? "",
    user: rule.user ?? "",
    server: rule.server ?? "",
    covers: coveredKind(rule),
    tool: rule.tool ?? "",
    readOnlyTools: rule.read_only,
    effect: rule.effect ?? "none",
    result: rule.result ?? "",
    conditions: rule.conditions.map(toConditionForm),
    lifetime: lifetime.kind,
    note: rule.note,
    disabled: rule.disabled,
    ...(lifetime.kind === "until" && {
      minutes: String(Math.max(1, Math.ceil((lifetime.at - now) / MINUTE_MS))),
    }),
    // Saving a rule restarts its count of calls, so the form shows how many calls are left.
    ...(lifetime.kind === "calls" && { calls: String(rule.remaining ?? lifetime.count) }),
    ...(lifetime.kind === "session" && { session: lifetime.session }),
  };
}

/** Returns the rule to save. The form must be valid. */
export function toRule(form: RuleForm, now: number): RuleSpec {
  const { covers } = form;
  const tool = (covers === "tools" && form.server && form.tool) || null;
  const isReadOnly = covers === "tools" && form.readOnlyTools && tool === null;
  const conditions = covers === "everything" ? [] : form.conditions;
  const rule: RuleSpec = {
    client: form.client || null,
    user: form.user || null,
    server: form.server || null,
    tool,
    kind: covers === "tools" || covers === "everything" ? null : covers,
    read_only: isReadOnly,
    effect: form.effect === "" || form.effect === "none" ? null : form.effect,
    result: form.effect === "deny" ? null : form.result || null,
    conditions: conditions.map(({ pointer, ...predicate }) => ({
      pointer,
      is: toPredicate(predicate),
    })),
    lifetime: toLifetime(form, now),
    note: form.note.trim(),
    ...(form.disabled && { disabled: true }),
  };
  // Without its kind, a plain deny of all tools would deny the other kinds too.
  return coveredKind(rule) === covers ? rule : { ...rule, kind: "tools" };
}

export interface RuleErrors {
  effect?: string;
  lifetime?: string;
  /** The errors of each condition, by its index. */
  conditions: Record<number, { pointer?: string; value?: string }>;
}

/** Returns a sentence about each invalid field. */
export function validateForm(form: RuleForm): RuleErrors {
  const t = texts.policy.dialog;
  const errors: RuleErrors = { conditions: {} };
  const noun = formNoun(form);
  if (form.effect === "" || (form.effect === "none" && form.result === ""))
    errors.effect = t.effect.missing(noun);
  if (form.lifetime === "until" && !isWholeNumber(form.minutes, MAX_MINUTES))
    errors.lifetime = t.lifetime.minutesError;
  if (form.lifetime === "calls" && !isWholeNumber(form.calls, MAX_CALLS))
    errors.lifetime = t.lifetime.callsError(noun);
  if (form.covers === "everything") return errors;
  form.conditions.forEach((condition, index) => {
    const pointer = validatePointer(condition.pointer);
    const value = validateValue(condition);
    if (pointer || value)
      errors.conditions[index] = { ...(pointer && { pointer }), ...(value && { value }) };
  });
  return errors;
}

export function hasErrors(errors: RuleErrors): boolean {
  return (
    errors.effect !== undefined ||
    errors.lifetime !== undefined ||
    Object.keys(errors.conditions).length > 0
  );
}

function toConditionForm({ pointer, is }: Condition): ConditionForm {
  const form = (kind: PredicateKind, value: string, maximum = ""): ConditionForm => ({
    pointer,
    kind,
    value,
    maximum,
  });
  if ("equals" in is) return form("equals", formatExact(is.equals));
  if ("one_of" in is)
    return form("one_of", is.one_of.every(isExact) ? is.one_of.map(formatLiteral).join("\n") : "");
  if ("path_within" in is) return form("path_within", is.path_within);
  if ("host" in is) return form("host", is.host);
  if ("matches" in is) return form("matches", is.matches);
  return form("between", formatBound(is.between.min), formatBound(is.between.max));
}

/**
 * Returns the value as text, or an empty text for a number that `JSON.parse` rounded, so that the
 * person has to enter the number again.
 */
function formatExact(value: unknown): string {
  return isExact(value) ? formatLiteral(value) : "";
}

function formatBound(value: unknown): string {
  return value === undefined || value === null ? "" : formatExact(value);
}

function toPredicate({ kind, value, maximum }: Omit<ConditionForm, "pointer">): Predicate {
  switch (kind) {
    case "equals":
      return { equals: parseLiteral(value).value };
    case "one_of":
      return { one_of: splitLines(value).map((line) => parseLiteral(line).value) };
    case "path_within":
      return { path_within: value.trim() };
    case "host":
      return { host: value.trim() };
    case "matches":
      return { matches: value };
    case "between": {
      const minimum = value;
      return {
        between: {
          ...(minimum.trim() && { min: parseLiteral(minimum).value }),
          ...(maximum.trim() && { max: parseLiteral(maximum).value }),
        },
      };
    }
  }
}

function toLifetime({ lifetime, minutes, calls, session }: RuleForm, now: number): Lifetime {
  switch (lifetime) {
    case "until_deleted":
      return { kind: lifetime };
    case "until":
      return { kind: lifetime, at: now + Number(minutes) * MINUTE_MS };
    case "calls":
      return { kind: lifetime, count: Number(calls) };
    case "session":
      return { kind: lifetime, session };
  }
}

function validatePointer(pointer: string): string {
  const t = texts.policy.condition;
  if (pointer === "/") return t.argumentMissing;
  if (pointer !== "" && !pointer.startsWith("/")) return t.argumentStart(pointer);
  return /~(?![01])/.test(pointer) ? t.argumentEscape : "";
}

function validateValue({ kind, value, maximum }: ConditionForm): string {
  const t = texts.policy.condition;
  switch (kind) {
    case "equals":
      return parseLiteral(value).problem;
    case "one_of":
      return splitLines(value).length === 0
        ? t.noValues
        : (splitLines(value)
            .map((line) => parseLiteral(line).problem)
            .find(Boolean) ?? "");
    case "path_within":
      return /^(\/|~|[A-Za-z]:[\\/]|\$project($|[\\/]))/.test(value.trim()) ? "" : t.notFullPath;
    case "host":
      return /^(\*\.)?[^\s/:@*]+$|^\[[0-9a-f:.]+\]$/i.test(value.trim()) ? "" : t.notHost;
    case "matches":
      return value === "" ? t.noPattern : "";
    case "between":
      return validateBounds(value.trim(), maximum.trim());
  }
}

function validateBounds(minimum: string, maximum: string): string {
  const t = texts.policy.condition;
  if (minimum === "" && maximum === "") return t.noBounds;
  for (const bound of [minimum, maximum].filter(Boolean)) {
    const { value, problem } = parseLiteral(bound);
    if (problem) return problem;
    if (typeof value !== "number") return t.notNumber(bound);
  }
  return minimum !== "" && maximum !== "" && Number(minimum) > Number(maximum)
    ? t.boundsReversed
    : "";
}

function splitLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

function isWholeNumber(text: string, maximum: number): boolean {
  const number = Number(text);
  return text.trim() !== "" && Number.isInteger(number) && number >= 1 && number <= maximum;
}
