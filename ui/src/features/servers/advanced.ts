/** What a server's spec says beyond how it is started, as fields of a form. Times are in seconds; empty for the usual. */

import type { Definitions, Lifecycle, ServerSpec, Timeouts, Validate, Visibility } from "../../ipc";

export const USUAL = {
  initialize: 60,
  call: 30,
  total: 600,
  idle: 1800,
  ping: 60,
  stop: 10,
} as const;
export const USUAL_RETRIES = 3;
const MOST_RETRIES = 100;
/** The revisions of the protocol that a server can be addressed in, newest first. */
export const REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/** What fits into 32 bits as milliseconds. */
const MOST_SECONDS = 4_294_967;

export type TimeoutName = keyof typeof USUAL;
const NAMES = Object.keys(USUAL) as TimeoutName[];
/** These may be nothing at all. */
const MAY_BE_ZERO: TimeoutName[] = ["idle", "ping", "stop"];

export interface ToolTime {
  /** Only to tell them apart on screen. */
  id: number;
  name: string;
  seconds: string;
}

export interface Advanced {
  lifecycle: Lifecycle;
  visibility: Visibility;
  definitions: Definitions;
  /** The revision of the protocol; empty if Drawbridge finds it out. */
  revision: string;
  /** How closely arguments have to fit. */
  validate: Validate;
  /** What stands before the names of its tools: its id, a prefix of its own, or nothing. */
  naming: "id" | "own" | "bare";
  prefix: string;
  /** Only some of its tools may be seen and called. */
  limited: boolean;
  allowed: string[];
  fallback: string[];
  times: Record<TimeoutName, string>;
  toolTimes: ToolTime[];
  retries: string;
  cacheTtl: string;
  cacheResults: string;
}

export type AdvancedFaults = Partial<
  Record<TimeoutName | "prefix" | "toolTimes" | "retries" | "cacheTtl" | "cacheResults", string>
>;

let made = 0;

export function newToolTime(part: Partial<ToolTime> = {}): ToolTime {
  made += 1;
  return { id: made, name: "", seconds: "", ...part };
}

export function advancedOf(spec: Partial<ServerSpec>): Advanced {
  const times = spec.timeouts;
  const timeOf = (name: TimeoutName) => unusual(times?.[`${name}_ms`], USUAL[name]);
  return {
    lifecycle: spec.lifecycle ?? "singleton",
    visibility: spec.visibility ?? "visible",
    definitions: spec.definitions ?? "ask",
    revision: spec.protocol_version ?? "",
    validate: spec.validate ?? "coercible",
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
    times: Object.fromEntries(NAMES.map((name) => [name, timeOf(name)])) as Record<
      TimeoutName,
      string
    >,
    toolTimes: Object.entries(times?.tools ?? {}).map(([name, ms]) =>
      newToolTime({ name, seconds: String(ms / 1000) }),
    ),
    retries:
      spec.retries === undefined || spec.retries === USUAL_RETRIES ? "" : String(spec.retries),
    cacheTtl:
      spec.cache_ttl_ms === undefined || spec.cache_ttl_ms === null
        ? ""
        : String(spec.cache_ttl_ms / 1000),
    cacheResults: spec.cache_results_ms ? String(spec.cache_results_ms / 1000) : "",
  };
}

function unusual(ms: number | undefined, usual: number): string {
  return ms === undefined || ms === usual * 1000 ? "" : String(ms / 1000);
}

export function advancedFaults(form: Advanced): AdvancedFaults {
  const faults: AdvancedFaults = {};
  const note = (field: keyof AdvancedFaults, fault: string) => {
    if (fault) faults[field] = fault;
  };
  if (form.naming === "own") note("prefix", prefixFault(form.prefix.trim()));
  for (const name of NAMES) note(name, secondsFault(form.times[name], MAY_BE_ZERO.includes(name)));
  note("toolTimes", toolTimesFault(form.toolTimes));
  note("retries", countFault(form.retries));
  note("cacheTtl", secondsFault(form.cacheTtl, true));
  note("cacheResults", secondsFault(form.cacheResults, true));
  return faults;
}

/** The fields of the spec; what `base` holds beyond the form stays. Call it on a form without faults. */
export function advancedSpec(
  form: Advanced,
  base: Partial<ServerSpec>,
  local: boolean,
): Partial<ServerSpec> {
  const spec: Partial<ServerSpec> = {
    lifecycle: local ? form.lifecycle : "singleton",
    visibility: form.visibility,
    definitions: form.definitions,
    protocol_version: form.revision === "" ? null : form.revision,
    validate: form.validate,
    prefix: form.naming === "id" ? null : form.naming === "bare" ? "" : form.prefix.trim(),
    allowed_tools: form.limited ? [...form.allowed] : null,
    fallback: [...form.fallback],
    retries: form.retries.trim() === "" ? USUAL_RETRIES : Number(form.retries),
    cache_ttl_ms: form.cacheTtl.trim() === "" ? null : milliseconds(form.cacheTtl),
    cache_results_ms: milliseconds(form.cacheResults),
  };
  return { ...spec, timeouts: timeoutsOf(form, base) };
}

function timeoutsOf(form: Advanced, base: Partial<ServerSpec>): Timeouts {
  const of = (name: TimeoutName) =>
    form.times[name].trim() === "" ? USUAL[name] * 1000 : milliseconds(form.times[name]);
  const tools = form.toolTimes.filter((one) => one.name.trim() !== "");
  return {
    ...base.timeouts,
    initialize_ms: of("initialize"),
    call_ms: of("call"),
    total_ms: of("total"),
    idle_ms: of("idle"),
    ping_ms: of("ping"),
    stop_ms: of("stop"),
    tools: Object.fromEntries(tools.map((one) => [one.name.trim(), milliseconds(one.seconds)])),
  };
}

/** How many of these fields are not as usual. */
export function unusualCount(form: Advanced): number {
  const set = [
    form.lifecycle !== "singleton",
    form.visibility !== "visible",
    form.definitions !== "ask",
    form.revision !== "",
    form.validate !== "coercible",
    form.naming !== "id",
    form.limited,
    form.fallback.length > 0,
    ...NAMES.map((name) => form.times[name].trim() !== ""),
    form.toolTimes.length > 0,
    form.retries.trim() !== "",
    form.cacheTtl.trim() !== "",
    form.cacheResults.trim() !== "",
  ];
  return set.filter(Boolean).length;
}

function milliseconds(text: string): number {
  return Math.round(Number(text.trim().replace(",", ".")) * 1000);
}

function secondsFault(text: string, mayBeZero: boolean): string {
  if (text.trim() === "") return "";
  const ms = milliseconds(text);
  if (!/^\d*[.,]?\d+$/.test(text.trim()) || Number.isNaN(ms))
    return "Give a number of seconds, such as 30 or 0.5.";
  if (ms === 0 && !mayBeZero) return "It has to be more than nothing.";
  return ms > MOST_SECONDS * 1000
    ? "That is more than Drawbridge can count: give at most 4,294,967 seconds."
    : "";
}

function countFault(text: string): string {
  if (text.trim() === "") return "";
  return /^\d+$/.test(text.trim()) && Number(text) <= MOST_RETRIES
    ? ""
    : `Give a whole number from 0 to ${String(MOST_RETRIES)}.`;
}

function prefixFault(prefix: string): string {
  if (prefix === "") return "Give a prefix, or choose bare names.";
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(prefix)) return "At most 32 letters, digits, - and _.";
  return prefix.includes("__") || prefix.startsWith("_") || prefix.endsWith("_")
    ? "A _ stands single, and neither first nor last."
    : "";
}

function toolTimesFault(all: ToolTime[]): string {
  const names = all.map((one) => one.name.trim());
  if (all.some((one) => one.name.trim() === "")) return "Name the tool, or remove the line.";
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `The tool ${twice} stands twice.`;
  const bad = all.find(
    (one) => one.seconds.trim() === "" || secondsFault(one.seconds, false) !== "",
  );
  return bad ? `Give ${bad.name.trim()} a number of seconds above 0.` : "";
}
