/**
 * The form of a server's request for input: its fields, and the values that a person has entered.
 * Only the approval card keeps the values, until it sends them to the hub. The hub checks them again.
 */

import { texts } from "../../texts";

const t = texts.approvals.form;

export type Format = "email" | "uri" | "date" | "date-time";

export interface Choice {
  value: string;
  label: string;
}

interface FieldBase {
  name: string;
  label: string;
  description: string;
  required: boolean;
}

/**
 * A field of the form. `choice` takes one of its choices, and `choices` takes several. `min` and
 * `max` limit the length of a text, the value of a number, or how many choices a person may choose.
 */
export type FormField =
  | (FieldBase & {
      kind: "text";
      format: Format | null;
      min: number | null;
      max: number | null;
      initial: string;
    })
  | (FieldBase & {
      kind: "number";
      integer: boolean;
      min: number | null;
      max: number | null;
      initial: string;
    })
  | (FieldBase & { kind: "boolean"; initial: boolean })
  | (FieldBase & { kind: "choice"; choices: Choice[]; initial: string })
  | (FieldBase & {
      kind: "choices";
      choices: Choice[];
      min: number | null;
      max: number | null;
      initial: string[];
    });

/** A request for input: a form, or a URL to visit. */
export type Elicitation =
  | { kind: "form"; message: string; fields: FormField[] }
  | { kind: "url"; message: string; url: string };

/** The value of a field. For a number, it is the text that the person typed. */
export type FieldValue = string | boolean | string[];
/** The values by the names of their fields. */
export type Values = Record<string, FieldValue>;
/** The errors by the names of their fields. */
export type Errors = Record<string, string>;

type Json = Record<string, unknown>;

/** Reads the params of a request for input. Returns `null` if they are malformed. */
export function readElicitation(params: string): Elicitation | null {
  const read = asObject(parseJson(params));
  if (!read) return null;
  const message = asText(read.message);
  if (read.mode === "url") return { kind: "url", message, url: asText(read.url) };
  const schema = asObject(read.requestedSchema);
  const properties = asObject(schema?.properties);
  if (!schema || !properties) return null;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = Object.entries(properties).map(([name, field]) =>
    readField(name, asObject(field) ?? {}, required.has(name)),
  );
  return { kind: "form", message, fields };
}

export function initialValues(fields: FormField[]): Values {
  return Object.fromEntries(fields.map((field) => [field.name, field.initial]));
}

/** Returns the values as JSON text for the hub, or the errors of the fields. */
export function toContent(
  fields: FormField[],
  values: Values,
): { content: string } | { errors: Errors } {
  const errors: Errors = {};
  const entries: [string, unknown][] = [];
  for (const field of fields) {
    const value = values[field.name] ?? field.initial;
    const error = checkField(field, value);
    if (error) errors[field.name] = error;
    else if (!isOmitted(field, value)) entries.push([field.name, toJson(field, value)]);
  }
  if (Object.keys(errors).length) return { errors };
  return { content: JSON.stringify(Object.fromEntries(entries)) };
}

function readField(name: string, schema: Json, required: boolean): FormField {
  const base = {
    name,
    label: asText(schema.title) || name,
    description: asText(schema.description),
    required,
  };
  switch (schema.type) {
    case "number":
    case "integer":
      return {
        ...base,
        kind: "number",
        integer: schema.type === "integer",
        min: asNumber(schema.minimum),
        max: asNumber(schema.maximum),
        initial: typeof schema.default === "number" ? String(schema.default) : "",
      };
    case "boolean":
      return { ...base, kind: "boolean", initial: schema.default === true };
    case "array": {
      const choices = readChoices(asObject(schema.items) ?? {}) ?? [];
      const initial = Array.isArray(schema.default) ? schema.default.map(asText) : [];
      return {
        ...base,
        kind: "choices",
        choices,
        min: asNumber(schema.minItems),
        max: asNumber(schema.maxItems),
        initial: initial.filter((value) => choices.some((choice) => choice.value === value)),
      };
    }
    default: {
      const choices = readChoices(schema);
      const initial = asText(schema.default);
      if (choices)
        return {
          ...base,
          kind: "choice",
          choices,
          initial: choices.some((choice) => choice.value === initial) ? initial : "",
        };
      return {
        ...base,
        kind: "text",
        format: isFormat(schema.format) ? schema.format : null,
        min: asNumber(schema.minLength),
        max: asNumber(schema.maxLength),
        initial,
      };
    }
  }
}

/**
 * Reads `enum` (with the labels in `enumNames`, which older servers send), or the titled constants
 * in `oneOf` or `anyOf`. Returns `null` if the schema has none of these.
 */
function readChoices(schema: Json): Choice[] | null {
  if (Array.isArray(schema.enum)) {
    const names: unknown[] = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, index) => ({
      value: asText(value),
      label: asText(names[index]) || asText(value),
    }));
  }
  const titled = Array.isArray(schema.oneOf) ? schema.oneOf : schema.anyOf;
  if (!Array.isArray(titled)) return null;
  return titled.map((entry) => {
    const choice = asObject(entry) ?? {};
    return { value: asText(choice.const), label: asText(choice.title) || asText(choice.const) };
  });
}

/** Returns the error of a value; empty if the value fits the field. */
function checkField(field: FormField, value: FieldValue): string {
  if (isOmitted(field, value)) return field.required ? t.required : "";
  switch (field.kind) {
    case "text":
      return checkText(field, String(value));
    case "number": {
      const number = Number(value);
      if (!Number.isFinite(number)) return t.number;
      if (field.integer && !Number.isInteger(number)) return t.integer;
      if (field.min !== null && number < field.min) return t.atLeast(field.min);
      if (field.max !== null && number > field.max) return t.atMost(field.max);
      return "";
    }
    case "choices": {
      const count = (value as string[]).length;
      if (field.min !== null && count < field.min) return t.choicesAtLeast(field.min);
      if (field.max !== null && count > field.max) return t.choicesAtMost(field.max);
      return "";
    }
    case "boolean":
    case "choice":
      return "";
  }
}

function checkText(
  { min, max, format }: Extract<FormField, { kind: "text" }>,
  text: string,
): string {
  const length = [...text].length;
  if (min !== null && length < min) return t.charactersAtLeast(min);
  if (max !== null && length > max) return t.charactersAtMost(max);
  switch (format) {
    case "email":
      return /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)*$/.test(text) ? "" : t.email;
    case "uri":
      return URL.canParse(text) ? "" : t.urlFormat;
    case "date":
      return /^\d{4}-\d\d-\d\d$/.test(text) ? "" : t.date;
    case "date-time":
      return Number.isNaN(Date.parse(text)) ? t.dateTime : "";
    case null:
      return "";
  }
}

/** Returns whether a value is not sent. A required field sends even an empty list of choices. */
function isOmitted(field: FormField, value: FieldValue): boolean {
  if (field.kind === "boolean") return false;
  if (field.kind === "choices") return (value as string[]).length === 0 && !field.required;
  return String(value).trim() === "";
}

function toJson(field: FormField, value: FieldValue): unknown {
  if (field.kind === "number") return Number(value);
  // The browser's input has no offset, so its time is local.
  if (field.kind === "text" && field.format === "date-time")
    return new Date(String(value)).toISOString();
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function asObject(value: unknown): Json | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Json)
    : null;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : "");
const asNumber = (value: unknown): number | null => (typeof value === "number" ? value : null);

function isFormat(value: unknown): value is Format {
  return value === "email" || value === "uri" || value === "date" || value === "date-time";
}
