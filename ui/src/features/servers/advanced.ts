/**
 * The optional fields of a server's spec as fields of a form. Times are in seconds; an empty field
 * means the default.
 */

import type {
  ContentDefence,
  DefinitionPolicy,
  Lifecycle,
  ServerSpec,
  Timeouts,
  Validate,
  Visibility,
} from "../../ipc";
import { texts } from "../../texts";
import {
  toSandbox,
  toSandboxForm,
  validateSandbox,
  type SandboxErrors,
  type SandboxForm,
} from "./sandbox";

export const DEFAULT_SECONDS = {
  initialize: 60,
  call: 30,
  total: 600,
  idle: 1800,
  ping: 60,
  stop: 10,
} as const;
export const DEFAULT_RETRIES = 3;
const MAX_RETRIES = 100;
/** The protocol revisions to choose from, newest first. */
export const REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/** The hub stores milliseconds in 32 bits. */
const MAX_SECONDS = 4_294_967;

export type TimeoutName = keyof typeof DEFAULT_SECONDS;
export const TIMEOUT_NAMES = Object.keys(DEFAULT_SECONDS) as TimeoutName[];
/** Timeouts that may be zero. */
const MAY_BE_ZERO: TimeoutName[] = ["idle", "ping", "stop"];

/** The timeout of one tool. */
export interface ToolTimeout {
  /** Identifies the line on screen only. */
  id: number;
  name: string;
  seconds: string;
}

export interface Advanced {
  lifecycle: Lifecycle;
  /** Whether the program of a local server may be replaced without acceptance. */
  programChanges: boolean;
  sandbox: SandboxForm;
  visibility: Visibility;
  definitions: DefinitionPolicy;
  /** The protocol revision; empty if Drawbridge negotiates it. */
  revision: string;
  /** How strictly arguments must match the schema. */
  validate: Validate;
  contentDefence: ContentDefence;
  /** The prefix of tool names: the server's id, `prefix`, or none. */
  naming: "id" | "own" | "bare";
  prefix: string;
  /** Whether clients may see and call only the `allowed` tools. */
  limited: boolean;
  allowed: string[];
  fallback: string[];
  timeouts: Record<TimeoutName, string>;
  toolTimeouts: ToolTimeout[];
  retries: string;
  cacheTtl: string;
  cacheResults: string;
}

export type AdvancedErrors = Partial<
  Record<TimeoutName | "prefix" | "toolTimeouts" | "retries" | "cacheTtl" | "cacheResults", string>
> &
  SandboxErrors;

let lastId = 0;

export function newToolTimeout(part: Partial<ToolTimeout> = {}): ToolTimeout {
  lastId += 1;
  return { id: lastId, name: "", seconds: "", ...part };
}

export function toAdvanced(spec: Partial<ServerSpec>): Advanced {
  const readTimeout = (name: TimeoutName) =>
    formatSeconds(spec.timeouts?.[`${name}_ms`], DEFAULT_SECONDS[name]);
  return {
    lifecycle: spec.lifecycle ?? "singleton",
    programChanges: spec.program_changes ?? false,
    sandbox: toSandboxForm(spec.sandbox),
    visibility: spec.visibility ?? "visible",
    definitions: spec.definitions ?? "ask",
    revision: spec.protocol_version ?? "",
    validate: spec.validate ?? "coercible",
    contentDefence: spec.content_defence ?? "off",
    naming:
      spec.prefix === undefined || spec.prefix === null
        ? "id"
        : spec.prefix === ""
          ? "bare"
          : "own",
    prefix: spec.prefix ?? "",
    limited: Array.isArray(spec.allowed_tools),
    allowed: spec.allowed_tools ?? [],
    fallback: spec.fallback ?? [],
    timeouts: Object.fromEntries(TIMEOUT_NAMES.map((name) => [name, readTimeout(name)])) as Record<
      TimeoutName,
      string
    >,
    toolTimeouts: Object.entries(spec.timeouts?.tools ?? {}).map(([name, ms]) =>
      newToolTimeout({ name, seconds: String(ms / 1000) }),
    ),
    retries:
      spec.retries === undefined || spec.retries === DEFAULT_RETRIES ? "" : String(spec.retries),
    cacheTtl:
      spec.cache_ttl_ms === undefined || spec.cache_ttl_ms === null
        ? ""
        : String(spec.cache_ttl_ms / 1000),
    cacheResults: spec.cache_results_ms ? String(spec.cache_results_ms / 1000) : "",
  };
}

/** Returns milliseconds as seconds; empty for the default. */
function formatSeconds(ms: number | undefined, defaultSeconds: number): string {
  return ms === undefined || ms === defaultSeconds * 1000 ? "" : String(ms / 1000);
}

/** Returns one sentence for each invalid field. */
export function validateAdvanced(form: Advanced): AdvancedErrors {
  const errors: AdvancedErrors = validateSandbox(form.sandbox);
  const report = (field: keyof AdvancedErrors, error: string) => {
    if (error) errors[field] = error;
  };
  if (form.naming === "own") report("prefix", validatePrefix(form.prefix.trim()));
  for (const name of TIMEOUT_NAMES)
    report(name, validateSeconds(form.timeouts[name], MAY_BE_ZERO.includes(name)));
  report("toolTimeouts", validateToolTimeouts(form.toolTimeouts));
  report("retries", validateRetries(form.retries));
  report("cacheTtl", validateSeconds(form.cacheTtl, true));
  report("cacheResults", validateSeconds(form.cacheResults, true));
  return errors;
}

/**
 * Returns the fields of the spec, with the timeouts of `base` that the form does not have. The form
 * must be valid.
 */
export function toAdvancedSpec(
  form: Advanced,
  base: Partial<ServerSpec>,
  isLocal: boolean,
): Partial<ServerSpec> {
  const spec: Partial<ServerSpec> = {
    lifecycle: isLocal ? form.lifecycle : "singleton",
    program_changes: isLocal && form.programChanges,
    sandbox: isLocal ? toSandbox(form.sandbox) : null,
    visibility: form.visibility,
    definitions: form.definitions,
    protocol_version: form.revision === "" ? null : form.revision,
    validate: form.validate,
    content_defence: form.contentDefence,
    prefix: form.naming === "id" ? null : form.naming === "bare" ? "" : form.prefix.trim(),
    allowed_tools: form.limited ? [...form.allowed] : null,
    fallback: [...form.fallback],
    retries: form.retries.trim() === "" ? DEFAULT_RETRIES : Number(form.retries),
    cache_ttl_ms: form.cacheTtl.trim() === "" ? null : parseMilliseconds(form.cacheTtl),
    cache_results_ms: parseMilliseconds(form.cacheResults),
  };
  return { ...spec, timeouts: toTimeouts(form, base) };
}

function toTimeouts(form: Advanced, base: Partial<ServerSpec>): Timeouts {
  const readMs = (name: TimeoutName) =>
    form.timeouts[name].trim() === ""
      ? DEFAULT_SECONDS[name] * 1000
      : parseMilliseconds(form.timeouts[name]);
  const tools = form.toolTimeouts.filter((tool) => tool.name.trim() !== "");
  return {
    ...base.timeouts,
    initialize_ms: readMs("initialize"),
    call_ms: readMs("call"),
    total_ms: readMs("total"),
    idle_ms: readMs("idle"),
    ping_ms: readMs("ping"),
    stop_ms: readMs("stop"),
    tools: Object.fromEntries(
      tools.map((tool) => [tool.name.trim(), parseMilliseconds(tool.seconds)]),
    ),
  };
}

/** Returns how many fields differ from their defaults. */
export function countChanged(form: Advanced): number {
  const changes = [
    form.lifecycle !== "singleton",
    form.programChanges,
    form.sandbox.preset !== "off",
    form.visibility !== "visible",
    form.definitions !== "ask",
    form.revision !== "",
    form.validate !== "coercible",
    form.contentDefence !== "off",
    form.naming !== "id",
    form.limited,
    form.fallback.length > 0,
    ...TIMEOUT_NAMES.map((name) => form.timeouts[name].trim() !== ""),
    form.toolTimeouts.length > 0,
    form.retries.trim() !== "",
    form.cacheTtl.trim() !== "",
    form.cacheResults.trim() !== "",
  ];
  return changes.filter(Boolean).length;
}

function parseMilliseconds(text: string): number {
  return Math.round(Number(text.trim().replace(",", ".")) * 1000);
}

function validateSeconds(text: string, mayBeZero: boolean): string {
  const t = texts.servers.form.advanced;
  if (text.trim() === "") return "";
  const ms = parseMilliseconds(text);
  if (!/^\d*[.,]?\d+$/.test(text.trim()) || Number.isNaN(ms)) return t.notSeconds;
  if (ms === 0 && !mayBeZero) return t.secondsZero;
  return ms > MAX_SECONDS * 1000 ? t.secondsTooMany(MAX_SECONDS) : "";
}

function validateRetries(text: string): string {
  if (text.trim() === "") return "";
  return /^\d+$/.test(text.trim()) && Number(text) <= MAX_RETRIES
    ? ""
    : texts.servers.form.advanced.notCount(MAX_RETRIES);
}

function validatePrefix(prefix: string): string {
  const t = texts.servers.form.advanced.toolNames;
  if (prefix === "") return t.prefixMissing;
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(prefix)) return t.prefixCharacters;
  return prefix.includes("__") || prefix.startsWith("_") || prefix.endsWith("_")
    ? t.prefixUnderscores
    : "";
}

function validateToolTimeouts(all: ToolTimeout[]): string {
  const t = texts.servers.form.advanced.toolTimeouts;
  const names = all.map((tool) => tool.name.trim());
  if (names.includes("")) return t.nameMissing;
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) return t.duplicate(duplicate);
  const invalid = all.find(
    ({ seconds }) => seconds.trim() === "" || validateSeconds(seconds, false) !== "",
  );
  return invalid ? t.secondsMissing(invalid.name.trim()) : "";
}
