/** Sample values for the required arguments of a tool. */

interface Property {
  type?: unknown;
  default?: unknown;
  enum?: unknown;
  examples?: unknown;
}

const EMPTY: Record<string, unknown> = {
  string: "",
  number: 0,
  integer: 0,
  boolean: false,
  array: [],
  object: {},
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sampleValue(property: Property): unknown {
  if (property.default !== undefined) return property.default;
  for (const choices of [property.enum, property.examples])
    if (Array.isArray(choices) && choices.length > 0) return choices[0];
  return typeof property.type === "string" ? (EMPTY[property.type] ?? null) : null;
}

/** Returns the names of the arguments that a schema requires. */
function requiredArguments(schema: unknown): string[] {
  if (!isObject(schema) || !Array.isArray(schema["required"])) return [];
  return schema["required"].filter((name) => typeof name === "string");
}

/**
 * Returns an object with the required arguments. Each has its default, its first choice, its first
 * example or an empty value.
 */
export function sampleArguments(schema: unknown): Record<string, unknown> {
  const properties = isObject(schema) && isObject(schema["properties"]) ? schema["properties"] : {};
  const samples = requiredArguments(schema).map((name) => {
    const property = properties[name];
    return [name, isObject(property) ? sampleValue(property) : null] as const;
  });
  return Object.fromEntries(samples);
}

/** Returns the object that a text contains, or `null` if it is no JSON object. */
export function parseArguments(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
