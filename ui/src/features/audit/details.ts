/** The details of an audit entry in one line, such as `server: github, by another program`. */

import type { AuditEntryView } from "../../ipc";
import { texts } from "../../texts";

const DIGEST = /^[0-9a-f]{64}$/;
const SHOWN_DIGITS = 12;
const AUTHORS = new Map<unknown, string>(Object.entries(texts.audit.authors));

const searchTexts = new WeakMap<AuditEntryView, string>();

/**
 * Returns the text of an entry for a search, in lower case. Each text is made only once, because a
 * search reads the texts of all entries after each letter.
 */
export function searchTextOf(entry: AuditEntryView): string {
  let text = searchTexts.get(entry);
  if (text === undefined) {
    const { kind, body } = entry;
    text =
      `${texts.audit.kinds[kind]} ${kind} ${JSON.stringify(body)} ${formatDetails(body)}`.toLowerCase();
    searchTexts.set(entry, text);
  }
  return text;
}

export function formatDetails(body: unknown): string {
  return listDetails(body).join(", ");
}

function listDetails(body: unknown): string[] {
  if (typeof body !== "object" || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) => formatMember(name, value));
}

function formatMember(key: string, value: unknown): string[] {
  const name = key.replaceAll("_", " ");
  if (value === null || value === "") return [];
  // `more` counts the definitions that the entry does not name.
  if (key === "more" && value === 0) return [];
  if (key === "by") return [AUTHORS.get(value) ?? `${name}: ${String(value)}`];
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    if (value.every(isPlain)) return [`${name}: ${value.map(formatPlain).join(" ")}`];
    if (value.every(isChangedSetting)) return value.map(formatChangedSetting);
    if (value.every(isNamed)) return [`${name}: ${value.map((item) => item.name).join(" ")}`];
    return [texts.audit.itemCount(name, value.length)];
  }
  return isPlain(value) ? [`${name}: ${formatPlain(value)}`] : listDetails(value);
}

interface ChangedSetting {
  setting: string;
  old: unknown;
  new: unknown;
}

function isChangedSetting(value: unknown): value is ChangedSetting {
  return typeof value === "object" && value !== null && "setting" in value && "new" in value;
}

function formatChangedSetting(change: ChangedSetting): string {
  const [before, after] = [change.old, change.new].map((value) =>
    isPlain(value) && value !== "" ? String(value) : texts.audit.noValue,
  );
  return `${change.setting}: ${before} → ${after}`;
}

function isNamed(value: unknown): value is { name: string } {
  return typeof value === "object" && value !== null && "name" in value;
}

function isPlain(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function formatPlain(value: string | number | boolean): string {
  const text = String(value);
  return DIGEST.test(text) ? `${text.slice(0, SHOWN_DIGITS)}…` : text;
}
