/**
 * Builds schemas for the arguments of prompts and for the variables of URI templates, and expands
 * the templates.
 */

import { isObject, type SchemaObject } from "./schema";

const VARIABLES = /\{[+#./;?&]?([^}]+)\}/g;

/** Returns the schema of the arguments of a prompt. All arguments are strings. */
export function promptSchema(definition: SchemaObject): SchemaObject {
  const list = Array.isArray(definition["arguments"]) ? definition["arguments"] : [];
  const named = list.filter(isObject).filter((argument) => typeof argument["name"] === "string");
  return {
    type: "object",
    properties: Object.fromEntries(
      named.map(({ name, title, description }) => [name, { type: "string", title, description }]),
    ),
    required: named.filter(({ required }) => required === true).map(({ name }) => name),
  };
}

/** Returns the schema of the variables of a URI template. */
export function templateSchema(template: string): SchemaObject {
  const names = listVariables(template);
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
    required: names,
  };
}

/** Expands a URI template with the values. */
export function expandTemplate(template: string, values: Record<string, unknown>): string {
  return template.replace(VARIABLES, (expression: string, list: string) => {
    const operator = /^\{([+#./;?&])/.exec(expression)?.[1] ?? "";
    const keepsReserved = operator === "+" || operator === "#";
    const encode = (text: string) => (keepsReserved ? encodeURI(text) : encodeURIComponent(text));
    const parts = readNames(list).map((name) => {
      const value = values[name];
      const text = encode(typeof value === "string" ? value : "");
      return "?&;".includes(operator) && operator !== "" ? `${name}=${text}` : text;
    });
    const separator = { "?": "&", "&": "&", ";": ";", "/": "/", ".": "." }[operator] ?? ",";
    const prefix = operator === "+" ? "" : operator;
    return prefix + parts.join(separator);
  });
}

function listVariables(template: string): string[] {
  const lists = [...template.matchAll(VARIABLES)].map((match) => match[1] ?? "");
  return [...new Set(lists.flatMap(readNames))];
}

/** Returns the names in a list of variables. Each may have the suffix `*` or a length like `:3`. */
const readNames = (list: string) =>
  list.split(",").map((name) => name.replace(/(\*|:\d+)$/, "").trim());
