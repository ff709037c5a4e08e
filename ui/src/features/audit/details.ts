/** The details of an audit entry in one line, such as `server: github, fields: env, args`. */

import { texts } from "../../texts";

const DIGEST = /^[0-9a-f]{64}$/;
const SHOWN_DIGITS = 12;

export function formatDetails(body: unknown): string {
  return listDetails(body).join(", ");
}

function listDetails(body: unknown): string[] {
  if (typeof body !== "object" || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) => formatMember(name, value));
}

function formatMember(key: string, value: unknown): string[] {
  const name = key.replaceAll("_", " ");
  if (value === null) return [];
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    return value.every(isPlain)
      ? [`${name}: ${value.map(formatPlain).join(" ")}`]
      : [texts.audit.itemCount(name, value.length)];
  }
  return isPlain(value) ? [`${name}: ${formatPlain(value)}`] : listDetails(value);
}

function isPlain(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function formatPlain(value: string | number | boolean): string {
  const text = String(value);
  return DIGEST.test(text) ? `${text.slice(0, SHOWN_DIGITS)}…` : text;
}
