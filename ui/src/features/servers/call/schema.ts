/** Reads the parts of a JSON Schema from which a form can be built. */

/** A value of a form; `undefined` if the value is omitted. */
export type Json = unknown;

export type SchemaObject = Record<string, unknown>;

interface Base {
  title: string;
  description: string;
  /** The default value; `undefined` if there is none. */
  initial: Json;
}

export type FieldShape = Base &
  (
    | { kind: "string"; format: string; maxLength: number | null }
    | { kind: "number"; integer: boolean; min: number | null; max: number | null }
    | { kind: "boolean" }
    | { kind: "enum"; choices: Json[] }
    | { kind: "object"; members: Member[] }
    | { kind: "array"; items: SchemaObject }
    /** A value of any other schema, which is entered as JSON. */
    | { kind: "json" }
  );

export interface Member {
  name: string;
  schema: SchemaObject;
  required: boolean;
}

/** References within a schema may be circular. */
const MAX_REFERENCES = 20;
/** A value at this depth of objects and lists is entered as JSON. */
export const MAX_DEPTH = 6;

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the field of a form for a schema. `root` is the schema that holds the definitions. */
export function describeSchema(schema: unknown, root: unknown): FieldShape {
  const resolved = resolveSchema(schema, root);
  const base: Base = {
    title: text(resolved["title"]),
    description: text(resolved["description"]),
    initial: resolved["default"],
  };
  if (resolved["const"] !== undefined)
    return { ...base, kind: "enum", choices: [resolved["const"]], initial: resolved["const"] };
  if (Array.isArray(resolved["enum"])) return { ...base, kind: "enum", choices: resolved["enum"] };
  switch (typeOf(resolved)) {
    case "string":
      return {
        ...base,
        kind: "string",
        format: text(resolved["format"]),
        maxLength: number(resolved["maxLength"]),
      };
    case "number":
    case "integer":
      return {
        ...base,
        kind: "number",
        integer: typeOf(resolved) === "integer",
        min: number(resolved["minimum"]),
        max: number(resolved["maximum"]),
      };
    case "boolean":
      return { ...base, kind: "boolean" };
    case "array":
      return isObject(resolved["items"])
        ? { ...base, kind: "array", items: resolved["items"] }
        : { ...base, kind: "json" };
    case "object":
      return isObject(resolved["properties"]) && !hasAlternatives(resolved)
        ? { ...base, kind: "object", members: listMembers(resolved) }
        : { ...base, kind: "json" };
    default:
      return { ...base, kind: "json" };
  }
}

/** Returns the initial value of a form: the defaults, and required objects, lists and booleans. */
export function initialValue(schema: unknown, root: unknown, required: boolean, depth = 0): Json {
  const shape = describeSchema(schema, root);
  if (shape.initial !== undefined) return shape.initial;
  if (shape.kind === "object" && depth < MAX_DEPTH) {
    const values = shape.members.map(
      ({ name, schema: member, required: needed }) =>
        [name, initialValue(member, root, needed, depth + 1)] as const,
    );
    const set = values.filter(([, value]) => value !== undefined);
    return set.length || required ? Object.fromEntries(set) : undefined;
  }
  if (!required) return undefined;
  if (shape.kind === "array") return [];
  if (shape.kind === "boolean") return false;
  return undefined;
}

/** Returns the paths, such as `/filter/name`, of the required values that are missing. */
export function findMissing(schema: unknown, root: unknown, value: Json, path = ""): string[] {
  const shape = describeSchema(schema, root);
  if (shape.kind === "object" && isObject(value)) {
    return shape.members.flatMap(({ name, schema: member, required }) => {
      const inner = value[name];
      if (inner !== undefined) return findMissing(member, root, inner, `${path}/${name}`);
      return required ? [`${path}/${name}`] : [];
    });
  }
  if (shape.kind === "array" && Array.isArray(value))
    return value.flatMap((item, index) =>
      item === undefined
        ? [`${path}/${index}`]
        : findMissing(shape.items, root, item, `${path}/${index}`),
    );
  return [];
}

function listMembers(schema: SchemaObject): Member[] {
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const members = Object.entries(schema["properties"] as SchemaObject).map(([name, member]) => ({
    name,
    schema: isObject(member) ? member : {},
    required: required.includes(name),
  }));
  return members.toSorted((a, b) => Number(b.required) - Number(a.required));
}

/** Follows references, and drops the alternative `null` of an optional value. */
function resolveSchema(schema: unknown, root: unknown): SchemaObject {
  let current = isObject(schema) ? schema : {};
  for (let step = 0; step < MAX_REFERENCES; step += 1) {
    const reference = current["$ref"];
    const alternatives = [current["anyOf"], current["oneOf"]].find(Array.isArray);
    const rest = omit(current, ["$ref", "anyOf", "oneOf"]);
    if (typeof reference === "string") {
      const target = findReferenced(reference, root);
      if (!target) return {};
      current = { ...target, ...rest };
    } else if (alternatives) {
      const real = alternatives.filter((schema) => !isObject(schema) || schema["type"] !== "null");
      if (real.length !== 1 || !isObject(real[0])) return current;
      current = { ...real[0], ...rest };
    } else {
      return current;
    }
  }
  return {};
}

function omit(schema: SchemaObject, names: string[]): SchemaObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
}

function findReferenced(reference: string, root: unknown): SchemaObject | null {
  if (!reference.startsWith("#/")) return null;
  let current: unknown = root;
  for (const part of reference.slice(2).split("/")) {
    if (!isObject(current)) return null;
    current = current[part.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return isObject(current) ? current : null;
}

function hasAlternatives(schema: SchemaObject): boolean {
  return ["anyOf", "oneOf", "allOf", "if"].some((key) => schema[key] !== undefined);
}

function typeOf(schema: SchemaObject): string {
  const type = schema["type"];
  if (Array.isArray(type)) {
    const real = type.filter((name) => name !== "null");
    return real.length === 1 && typeof real[0] === "string" ? real[0] : "";
  }
  if (typeof type === "string") return type;
  return isObject(schema["properties"]) ? "object" : "";
}

const text = (value: unknown) => (typeof value === "string" ? value : "");
const number = (value: unknown) => (typeof value === "number" ? value : null);
